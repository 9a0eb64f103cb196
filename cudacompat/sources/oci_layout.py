"""OCI image layouts, as a folder or as a tar: index.json and blobs by digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cudacompat.errors import TargetError
from cudacompat.layers.config import parse_config
from cudacompat.layers.digests import algorithm_of, check_digest
from cudacompat.layers.documents import items, members, parse_object, text
from cudacompat.layers.interface import OpenImage
from cudacompat.model import Target
from cudacompat.sources.manifests import Descriptor, Manifest, is_index, parse_descriptor, parse_manifest
from cudacompat.sources.platforms import check_platform, choose, is_attestation
from cudacompat.sources.stored import StoredImage, StoredLayer, split_reference
from cudacompat.sources.stores import FolderStore, Store, open_store

_MAX_DEPTH = 5
# The first is OCI's; tools that know full image names write the second as well.
_NAME_ANNOTATIONS = ("org.opencontainers.image.ref.name", "io.containerd.image.name")


@dataclass(frozen=True, slots=True)
class _Found:
    """A manifest and the way to it."""

    descriptor: Descriptor
    document: Mapping[str, object]
    platforms: tuple[str, ...]
    notes: tuple[str, ...]


def open(path: str, platform: str | None = None, named: str | None = None) -> OpenImage:
    """The image of a layout; behind the path may stand its tag or digest: "layout:1.0".

    ``named`` is the target as the user wrote it. Raises TargetError when the layout is none, is broken,
    or holds several images and none was named.
    """
    file, reference = split_reference(path)
    store = open_store(file)
    source = "oci-dir" if isinstance(store, FolderStore) else "oci-archive"
    try:
        found = _find(store, reference, platform)
        manifest = parse_manifest(found.document, f"The manifest {found.descriptor.digest} of {store.where}")
        target = Target("image", named or f"{source}:{path}", source, found.descriptor.digest)
        return _open(store, manifest, target, found, platform)
    except BaseException:
        store.close()
        raise


def _open(store: Store, manifest: Manifest, target: Target, found: _Found, platform: str | None) -> OpenImage:
    config = parse_config(_read(store, manifest.config), f"The config of {store.where}")
    check_platform(config, platform, store.where)
    layers = []
    notes = list(found.notes)
    diff_ids = config.diff_ids if len(config.diff_ids) == len(manifest.layers) else [None] * len(manifest.layers)
    for layer, diff_id in zip(manifest.layers, diff_ids, strict=True):
        name = blob_name(layer.digest, store.where)
        if store.locate(name) is None:
            if not layer.foreign:
                raise TargetError(f"{store.where} is broken: its layer {layer.digest} is missing.")
            notes.append(f"Layer {layer.digest} is foreign and not in {store.where}; it was not read.")
        layers.append(StoredLayer(name, layer.digest, layer.media_type, layer.size, layer.digest, diff_id))
    target = replace(target, platform=config.platform)
    return StoredImage(store, target, config, layers, available_platforms=found.platforms, notes=tuple(notes))


def blob_name(digest: str, where: str) -> str:
    """Where a layout keeps a blob. Raises TargetError for a digest that is none."""
    algorithm = algorithm_of(digest, where)
    return f"/blobs/{algorithm}/{digest.partition(':')[2]}"


def _read(store: Store, descriptor: Descriptor) -> bytes:
    raw = store.document(blob_name(descriptor.digest, store.where))
    return check_digest(raw, descriptor.digest, f"A blob of {store.where}")


def _find(store: Store, reference: str | None, platform: str | None) -> _Found:
    """The manifest meant: named in index.json, then by platform, through nested indexes."""
    where = f"index.json in {store.where}"
    document = parse_object(store.document("/index.json"), where)
    entries = [members(item, where) for item in items(document.get("manifests"), f"{where}: manifests")]
    document = {**document, "manifests": _named(entries, reference, store.where)}
    platforms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    for _ in range(_MAX_DEPTH):
        choice = choose(items(document.get("manifests"), where), platform, where)
        platforms = choice.available or platforms
        notes += () if choice.note is None else (choice.note,)
        descriptor = parse_descriptor(choice.descriptor, where)
        where = f"The blob {descriptor.digest} of {store.where}"
        document = parse_object(_read(store, descriptor), where)
        if not is_index(document, descriptor.media_type):
            return _Found(descriptor, document, platforms, notes)
    raise TargetError(f"{store.where} nests indexes more than {_MAX_DEPTH} deep.")


def _named(entries: list[Mapping[str, object]], reference: str | None, where: str) -> list[Mapping[str, object]]:
    """The entries of index.json that carry the name; without a name, those of the only image there is."""
    if reference is not None:
        found = [entry for entry in entries if reference.lstrip("@") in _names(entry, where)]
        if not found:
            raise TargetError(f"{where} has no image {reference}; it holds {_listed(entries, where)}.")
        return found
    images = [entry for entry in entries if not is_attestation(entry, where)]
    tagged = [entry for entry in images if len(_names(entry, where)) > 1]
    found = tagged or images
    if len({_names(entry, where)[0] for entry in tagged}) > 1 or (not tagged and _rivals(images)):
        raise TargetError(
            f"{where} holds several images: {_listed(found, where)}. "
            f"Name one behind the path, like {where}:{_names(found[0], where)[0]}."
        )
    return found


def _rivals(images: list[Mapping[str, object]]) -> bool:
    """Whether two images without a name are for one platform, so that nothing tells them apart."""
    digests: dict[str, set[str]] = {}
    for entry in images:
        digests.setdefault(repr(entry.get("platform")), set()).add(_digest(entry))
    return any(len(group) > 1 for group in digests.values())


def _names(entry: Mapping[str, object], where: str) -> tuple[str, ...]:
    """What an entry can be called: its tags and its digest."""
    annotations = members(entry.get("annotations"), f"{where}: annotations")
    tags = [text(annotations.get(key), f"{where}: {key}") for key in _NAME_ANNOTATIONS]
    return (*(tag for tag in tags if tag), _digest(entry))


def _digest(entry: Mapping[str, object]) -> str:
    return text(entry.get("digest"), "an index entry: digest")


def _listed(entries: list[Mapping[str, object]], where: str) -> str:
    return ", ".join(dict.fromkeys(_names(entry, where)[0] for entry in entries[:20])) or "none"
