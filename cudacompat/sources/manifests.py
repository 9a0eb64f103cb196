"""Image manifests and indexes, OCI's and Docker's: what they point to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cudacompat.errors import TargetError
from cudacompat.layers.digests import algorithm_of
from cudacompat.layers.documents import items, members, text

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
INDEX_TYPES = frozenset((OCI_INDEX, DOCKER_INDEX))
MANIFEST_TYPES = frozenset((OCI_MANIFEST, DOCKER_MANIFEST))

_CONFIG_TYPES = frozenset(
    (
        "",
        "application/vnd.oci.image.config.v1+json",
        "application/vnd.docker.container.image.v1+json",
        # Written by some builders around the time the type was settled.
        "application/octet-stream",
    )
)
_MAX_LAYERS = 1000


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A pointer to a blob. ``size`` is in bytes, None when unstated; ``foreign`` blobs lie elsewhere."""

    digest: str
    media_type: str
    size: int | None

    @property
    def foreign(self) -> bool:
        """Whether the blob is one that its registry may not hold (Windows base layers)."""
        return ".foreign." in self.media_type or ".nondistributable." in self.media_type


@dataclass(frozen=True, slots=True)
class Manifest:
    """One image: its config and its layers, lowest first."""

    config: Descriptor
    layers: tuple[Descriptor, ...]


def is_index(document: Mapping[str, object], media_type: str = "") -> bool:
    """Whether a document is an index. ``media_type`` is what its transport said; its own word counts more."""
    stated = document.get("mediaType") or media_type
    if stated in INDEX_TYPES:
        return True
    return stated not in MANIFEST_TYPES and "manifests" in document and "layers" not in document


def parse_descriptor(value: object, where: str) -> Descriptor:
    """A descriptor with a digest that can be checked. Raises TargetError."""
    fields = members(value, where)
    digest = text(fields.get("digest"), f"{where}: digest")
    algorithm_of(digest, where)
    size = fields.get("size")
    if isinstance(size, bool) or not (size is None or isinstance(size, int)) or (size is not None and size < 0):
        raise TargetError(f"{where} states a size that is none.")
    return Descriptor(digest, text(fields.get("mediaType"), f"{where}: mediaType"), size)


def parse_manifest(document: Mapping[str, object], where: str) -> Manifest:
    """The manifest of an image. Raises TargetError for artifacts that are no images and for old schemas."""
    if document.get("schemaVersion") == 1:
        raise TargetError(f"{where} is a Docker schema 1 manifest; push the image again with a current tool.")
    stated = text(document.get("mediaType"), f"{where}: mediaType")
    if (stated and stated not in MANIFEST_TYPES) or "config" not in document:
        raise TargetError(f"{where} is of the unknown type {stated or '(none stated)'}; no image manifest.")
    config = parse_descriptor(document.get("config"), f"{where}: config")
    if config.media_type not in _CONFIG_TYPES:
        raise TargetError(f"{where} is an artifact of type {config.media_type}, not a container image.")
    layers = items(document.get("layers"), f"{where}: layers")
    if len(layers) > _MAX_LAYERS:
        raise TargetError(f"{where} lists {len(layers)} layers; no image has so many.")
    return Manifest(config, tuple(parse_descriptor(layer, f"{where}: layer {n}") for n, layer in enumerate(layers)))
