"""Text of the system that the merged view needs whole."""

from __future__ import annotations

from collections.abc import Iterable

from cudacompat.evidence.interface import Observation, Value


class LdSoConf:
    """/etc/ld.so.conf and its folder; includes are resolved once all layers are known."""

    name = "ld.so.conf"
    pattern = r"/etc/ld\.so\.conf(?:\.d/[^/]+\.conf)?"
    max_size = 1 << 16

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """The file's text."""
        yield Value("ld.so.conf", data.decode("utf-8", "replace"))


class LdSoCache:
    """The loader's cache. Only that there is one matters: NVIDIA's older compat hook asks for it."""

    name = "ld.so.cache"
    pattern = r".*/ld\.so\.cache"
    max_size = 0

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """That the file is there."""
        yield Value("ld.so.cache", "")


class OsRelease:
    """/etc/os-release or the file that it usually links to."""

    name = "os-release"
    pattern = r"/(?:etc|usr/lib)/os-release"
    max_size = 1 << 16

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """The file's text."""
        yield Value("os-release", data.decode("utf-8", "replace"))
