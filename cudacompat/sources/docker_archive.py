"""Archives of ``docker save``, in the form with layer.tar files and the form with blobs, compressed or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cudacompat.errors import TargetError
from cudacompat.layers.config import parse_config
from cudacompat.layers.digests import check_digest
from cudacompat.layers.documents import items, members, parse_json, text, texts
from cudacompat.layers.interface import OpenImage
from cudacompat.model import ImageConfig, Target
from cudacompat.sources.platforms import check_platform, choose
from cudacompat.sources.stored import StoredImage, StoredLayer, split_reference
from cudacompat.sources.stores import Store, open_store

SOURCE = "docker-archive"

_BLOB = re.compile(r"blobs/(sha256)/([0-9a-f]{64})")
_CONFIG_NAME = re.compile(r"(?:.*/)?([0-9a-f]{64})(?:\.json)?")
_MAX_LAYERS = 1000


@dataclass(frozen=True, slots=True)
class _Image:
    """An entry of manifest.json."""

    config: str
    tags: tuple[str, ...]
    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Offered:
    """The platforms there were to choose from, when there were several."""

    platforms: tuple[str, ...] = ()
    note: str | None = None


def open(path: str, platform: str | None = None, named: str | None = None) -> OpenImage:
    """The image of an archive; behind the path may stand which: "app.tar:name:tag", "app.tar:@0".

    ``named`` is the target as the user wrote it. Raises TargetError when the archive is none, is broken,
    or holds several images and none was named.
    """
    file, reference = split_reference(path)
    store = open_store(file)
    try:
        images = _read_manifest(store)
        image, offered = _choose(store, images, reference, platform)
        return _open(store, image, Target("image", named or f"{SOURCE}:{path}", SOURCE), offered, platform)
    except BaseException:
        store.close()
        raise


def _read_manifest(store: Store) -> list[_Image]:
    if store.locate("/manifest.json") is None:
        if store.locate("/repositories") is not None:
            raise TargetError(f"{store.where} was saved by a Docker older than 1.10; save it again.")
        raise TargetError(f"{store.where} is no archive of docker save: it has no manifest.json.")
    where = f"manifest.json in {store.where}"
    images = []
    for number, item in enumerate(items(parse_json(store.document("/manifest.json"), where), where)):
        entry = members(item, f"{where}: image {number}")
        layers = texts(entry.get("Layers"), f"{where}: Layers")
        if len(layers) > _MAX_LAYERS:
            raise TargetError(f"{where} lists {len(layers)} layers; no image has so many.")
        tags = texts(entry.get("RepoTags"), f"{where}: RepoTags")
        images.append(_Image(text(entry.get("Config"), f"{where}: Config"), tags, layers))
    if not images:
        raise TargetError(f"{where} lists no image.")
    return images


def _choose(
    store: Store, images: Sequence[_Image], reference: str | None, platform: str | None
) -> tuple[_Image, _Offered]:
    """The image meant, and the platforms that were to choose from."""
    found = _named(images, reference)
    if not found:
        raise TargetError(f"{store.where} has no image {reference}; it holds {_listed(images)}.")
    if len({image.config for image in found}) == 1:
        return found[0], _Offered()
    if len({image.tags for image in found}) > 1 or not found[0].tags:
        raise TargetError(
            f"{store.where} holds several images: {_listed(found)}. "
            f"Name one behind the path, like {store.where}:{_name(0, found[0])}."
        )
    # One tag, several images: one for each platform.
    offers = [
        {"platform": _platform_fields(_read_config(store, image)), "number": number}
        for number, image in enumerate(found)
    ]
    choice = choose(offers, platform, store.where)
    number = offers.index({**choice.descriptor})
    return found[number], _Offered(choice.available, choice.note)


def _named(images: Sequence[_Image], reference: str | None) -> list[_Image]:
    if reference is None:
        return list(images)
    if re.fullmatch(r"@[0-9]{1,6}", reference):
        return list(images[int(reference[1:]) :][:1])
    full = reference if ":" in reference.rpartition("/")[2] else f"{reference}:latest"
    return [image for image in images if any(f"/{tag}".endswith(f"/{full}") for tag in image.tags)]


def _listed(images: Sequence[_Image]) -> str:
    return ", ".join(_name(number, image) for number, image in enumerate(images[:20]))


def _name(number: int, image: _Image) -> str:
    return image.tags[0] if image.tags else f"@{number}"


def _platform_fields(config: ImageConfig) -> dict[str, str]:
    return dict(zip(("os", "architecture", "variant"), config.platform.split("/"), strict=False))


def _read_config(store: Store, image: _Image) -> ImageConfig:
    where = f"The config of {store.where}"
    raw = store.document(f"/{image.config}")
    if name := _CONFIG_NAME.fullmatch(image.config):
        check_digest(raw, f"sha256:{name.group(1)}", where)
    return parse_config(raw, where)


def _open(store: Store, image: _Image, target: Target, offered: _Offered, platform: str | None) -> OpenImage:
    config = _read_config(store, image)
    check_platform(config, platform, store.where)
    if len(config.diff_ids) != len(image.layers):
        raise TargetError(
            f"{store.where} is broken: its config counts {len(config.diff_ids)} layers, "
            f"its manifest.json {len(image.layers)}."
        )
    layers = [_layer(name, diff_id) for name, diff_id in zip(image.layers, config.diff_ids, strict=True)]
    for layer in layers:
        if store.locate(layer.name) is None:
            raise TargetError(f"{store.where} is broken: its layer {layer.name} is missing.")
    name = _CONFIG_NAME.fullmatch(image.config)
    target = replace(target, digest=f"sha256:{name.group(1)}" if name else None, platform=config.platform)
    notes = () if offered.note is None else (offered.note,)
    return StoredImage(store, target, config, layers, available_platforms=offered.platforms, notes=notes)


def _layer(name: str, diff_id: str) -> StoredLayer:
    if blob := _BLOB.fullmatch(name):
        digest = f"{blob.group(1)}:{blob.group(2)}"
        return StoredLayer(f"/{name}", digest, content_digest=digest, diff_id=diff_id)
    return StoredLayer(f"/{name}", diff_id, diff_id=diff_id)
