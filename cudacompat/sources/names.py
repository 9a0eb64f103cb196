"""The names inside an image archive, and the links between them."""

from __future__ import annotations

from collections.abc import Container

from cudacompat.layers.interface import Entry
from cudacompat.layers.tar_header import normalise

_MAX_LINKS = 10


class Links:
    """Symlinks and hard links of an archive's members."""

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}

    def note(self, entry: Entry) -> None:
        """Take note of a member: a later one of the same name replaces an earlier one."""
        self._targets.pop(entry.path, None)
        if entry.target is not None:
            folder = "" if entry.kind == "hardlink" else entry.path.rpartition("/")[0] + "/"
            self._targets[entry.path] = _normal(f"{folder}{entry.target}")

    def locate(self, name: str, members: Container[str]) -> str | None:
        """The one of ``members`` that ``name`` leads to; None when there is none."""
        name = _normal(name)
        for _ in range(_MAX_LINKS):
            if name not in self._targets:
                return name if name in members else None
            name = self._targets[name]
        return None


def _normal(name: str) -> str:
    return normalise(name.encode("utf-8", "surrogateescape"))
