"""Registries: one image over the distribution API (v2), its layers fetched only when they are read."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, cast

from cudacompat.errors import TargetError
from cudacompat.layers.config import parse_config
from cudacompat.layers.digests import check_digest, digest_of
from cudacompat.layers.documents import items, parse_object
from cudacompat.layers.interface import LayerBlob, OpenImage
from cudacompat.model import ImageConfig, Target
from cudacompat.sources.contract import Options, Progress
from cudacompat.sources.endpoint import Endpoint, endpoints
from cudacompat.sources.manifests import Descriptor, Manifest, is_index, parse_descriptor, parse_manifest
from cudacompat.sources.platforms import check_platform, choose
from cudacompat.sources.reference import Reference, parse_reference
from cudacompat.sources.transport import body_errors, read_body

if TYPE_CHECKING:
    import requests

SOURCE = "registry"

_MAX_DEPTH = 5
_CONFIG_LIMIT = 8 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """A manifest, its digest, and what the indexes on the way offered."""

    manifest: Manifest
    digest: str
    platforms: tuple[str, ...]
    notes: tuple[str, ...]


def open(place: str, named: str, options: Options) -> OpenImage:
    """The image that ``place``, a reference, names; ``named`` is the target as the user wrote it.

    Needs one request for each manifest or index and one for the config. Raises UsageError for what is no
    reference, UnavailableError when the registry does not answer, has no such image or shows it to
    nobody without a login, TargetError when what it sends is broken or no image.
    """
    reference = parse_reference(place)
    notes: tuple[str, ...] = ()
    *mirrors, registry = endpoints(reference, options)
    for mirror in mirrors:
        try:
            return _open(mirror, reference, named, options, notes)
        except TargetError as error:
            mirror.close()
            notes += (f"The mirror {mirror.host} was of no use: {error}",)
    try:
        return _open(registry, reference, named, options, notes)
    except BaseException:
        registry.close()
        raise


def _open(
    endpoint: Endpoint, reference: Reference, named: str, options: Options, notes: tuple[str, ...]
) -> RegistryImage:
    options.progress(f"asking {endpoint.host} for {reference}")
    found = _find(endpoint, reference, options.platform)
    found = replace(found, notes=notes + found.notes)
    config = parse_config(_read_config(endpoint, found.manifest.config, reference), f"The config of {reference}")
    check_platform(config, options.platform, str(reference))
    target = Target("image", named, SOURCE, found.digest, config.platform)
    return RegistryImage(endpoint, target, config, found, options.progress)


def _find(endpoint: Endpoint, reference: Reference, platform: str | None) -> Found:
    """The manifest meant, by platform through nested indexes."""
    wanted, expected, media_type = reference.wanted, reference.digest, ""
    where = f"The manifest of {reference}"
    platforms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    for _ in range(_MAX_DEPTH):
        raw, sent_type = endpoint.manifest(wanted)
        digest = expected or digest_of(raw)
        check_digest(raw, digest, where)
        document = parse_object(raw, where)
        if not is_index(document, media_type or sent_type):
            # Older Docker manifests state their type in the header alone.
            manifest = parse_manifest({"mediaType": media_type or sent_type, **document}, where)
            return Found(manifest, digest, platforms, notes)
        choice = choose(items(document.get("manifests"), where), platform, str(reference))
        platforms = choice.available or platforms
        notes += () if choice.note is None else (choice.note,)
        descriptor = parse_descriptor(choice.descriptor, where)
        wanted = expected = descriptor.digest
        media_type, where = descriptor.media_type, f"The manifest {wanted} of {reference}"
    raise TargetError(f"{reference} nests indexes more than {_MAX_DEPTH} deep.")


def _read_config(endpoint: Endpoint, descriptor: Descriptor, reference: Reference) -> bytes:
    where = f"The config of {reference}"
    return check_digest(read_body(endpoint.blob(descriptor.digest), _CONFIG_LIMIT, where), descriptor.digest, where)


class RegistryImage(OpenImage):
    """An image of a registry. Foreign layers are in ``layer_order`` and ``notes`` but never delivered."""

    def __init__(
        self, endpoint: Endpoint, target: Target, config: ImageConfig, found: Found, progress: Progress
    ) -> None:
        self.target = target
        self.config = config
        self.available_platforms = found.platforms or (config.platform,)
        self._endpoint = endpoint
        self._layers = found.manifest.layers
        self._progress = progress
        foreign = (f"Layer {layer.digest} is foreign: it was not read." for layer in self._layers if layer.foreign)
        self.notes = (*found.notes, *foreign)

    def layers(self) -> Iterator[LayerBlob]:
        """Every layer once, lowest first. Its request is sent when its stream is first read."""
        diff_ids = self._diff_ids()
        ours = {layer.digest: layer for layer in self._layers if not layer.foreign}
        for number, (digest, layer) in enumerate(ours.items(), 1):
            phrase = f"layer {number} of {len(ours)}, {(layer.size or 0) / 1e6:.1f} MB"
            stream = _BlobStream(self._endpoint, layer, phrase, self._progress)
            try:
                diff_id = diff_ids.get(digest)
                yield LayerBlob(
                    digest, layer.media_type, layer.size, cast(BinaryIO, stream), digest, diff_id, on_demand=True
                )
            finally:
                stream.close()

    def layer_order(self) -> tuple[str, ...]:
        """The digests of all layers, lowest first."""
        return tuple(layer.digest for layer in self._layers)

    def close(self) -> None:
        """Close all connections."""
        self._endpoint.close()

    def _diff_ids(self) -> Mapping[str, str]:
        if len(self.config.diff_ids) != len(self._layers):
            return {}
        return {layer.digest: diff for layer, diff in zip(self._layers, self.config.diff_ids, strict=True)}


class _BlobStream(io.RawIOBase):
    """A blob's bytes, asked for at the first read and never more of them than its descriptor states."""

    def __init__(self, endpoint: Endpoint, layer: Descriptor, phrase: str, progress: Progress) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._layer = layer
        self._where = f"Layer {layer.digest} from {endpoint.host}"
        self._phrase = phrase
        self._progress = progress
        self._response: requests.Response | None = None
        self._count = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes, at most ``size``; all that is left when negative."""
        if self._response is None:
            self._progress(self._phrase)
            self._response = self._endpoint.blob(self._layer.digest)
        with body_errors(self._where):
            data: bytes = self._response.raw.read(None if size is None or size < 0 else size)
        self._count += len(data)
        if self._layer.size is not None and self._count > self._layer.size:
            raise TargetError(f"{self._where} is longer than the {self._layer.size} bytes that its manifest states.")
        return data

    def close(self) -> None:
        """Drop the connection if the blob was not read to its end."""
        if self._response is not None:
            self._response.close()
        super().close()
