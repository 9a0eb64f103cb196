"""Images in memory, and what the evidence room makes of them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cudacompat.evidence.collect import Depth, collect
from cudacompat.evidence.detectors import Wanted
from cudacompat.evidence.interface import Note, Observation
from cudacompat.layers.config import parse_config
from cudacompat.layers.interface import LayerBlob, OpenImage
from cudacompat.model import Component, ImageConfig, ImageFacts, Target
from tests.support.images import build, digest

LAYER = "sha256:layer"
SITE = "/usr/lib/python3/site-packages"
_WANTED = Wanted()


class MemoryImage(OpenImage):
    """An image whose layers are tars in memory, lowest first."""

    def __init__(self, config: ImageConfig, tars: Sequence[bytes]) -> None:
        self.target = Target("image", "test:latest", "test", None, config.platform)
        self.config = config
        self.available_platforms = (config.platform,)
        self._tars = {digest(tar): tar for tar in tars}
        self._order = tuple(digest(tar) for tar in tars)

    def layers(self) -> Iterator[LayerBlob]:
        """Each layer once."""
        for key, tar in self._tars.items():
            yield LayerBlob(key, "", len(tar), io.BytesIO(tar), None, key)

    def layer_order(self) -> tuple[str, ...]:
        """Digests, lowest first."""
        return self._order


def described(*layers: Mapping[str, Any], depth: Depth = "full", **config: Any) -> ImageFacts:
    """The facts of an image whose layers are as ``tests.support.images`` describes them."""
    built = build({"layers": list(layers), **config}, "none")
    return collect(MemoryImage(parse_config(built.config, "the config"), built.tars), depth=depth)


def files(*contents: Mapping[str, object], depth: Depth = "full", **config: Any) -> ImageFacts:
    """The facts of an image with a layer for each mapping of paths to contents, lowest first."""
    return described(*({"files": content} for content in contents), depth=depth, **config)


def observed(path: str, data: bytes | str) -> list[Observation]:
    """What the detector that wants ``path`` sees in ``data``; fails when none wants it."""
    detector = _WANTED.detector(path)
    assert detector is not None, f"nobody reads {path}"
    raw = data.encode() if isinstance(data, str) else data
    return list(detector.read(path, raw, LAYER))


def parts(path: str, data: bytes | str) -> list[Component]:
    """The components among what the detector sees."""
    return [found for found in observed(path, data) if isinstance(found, Component)]


def notes(path: str, data: bytes | str) -> list[str]:
    """The notes among what the detector sees."""
    return [found.text for found in observed(path, data) if isinstance(found, Note)]


def brief(components: Sequence[Component]) -> list[tuple[str, str | None, str | None]]:
    """Name, version and CUDA version of each."""
    return [(part.name, part.version, part.cuda) for part in components]


def stanza(package: str, version: str, status: str | None = "install ok installed") -> str:
    """A package's paragraph in Debian's database."""
    lines = [f"Package: {package}"]
    lines += [f"Status: {status}"] if status is not None else []
    lines += ["Priority: optional", "Section: multiverse/devel", "Maintainer: cudatools <cudatools@nvidia.com>"]
    lines += ["Architecture: amd64", "Source: cuda", f"Version: {version}", "Depends: libc6 (>= 2.17)"]
    return "\n".join([*lines, f"Description: {package}", " A longer text.", " Package: this-is-not-one", "", ""])
