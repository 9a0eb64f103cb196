"""Where image bytes come from. ``open_image`` is the one way in; each source is a file of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from cudacompat.errors import TargetError
from cudacompat.layers.interface import OpenImage
from cudacompat.sources.contract import NoEngineError, NoImageError, Options, Progress, UnavailableError
from cudacompat.sources.paths import PathKind, kind_of_place
from cudacompat.sources.platforms import normalise
from cudacompat.sources.targets import SourceName, take_apart
from cudacompat.sources.trust import Trust

__all__ = ["Progress", "open_image"]

_IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")


def open_image(
    target: str,
    *,
    platform: str | None = None,
    insecure_hosts: Collection[str] = (),
    mirrors: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> OpenImage:
    """The image that ``target`` names, its config read; close it after use.

    ``target`` is "name:tag" (the local engines first, then the registry), a path (recognised by content),
    or either with its source named: "docker:", "podman:", "registry:", "docker-archive:", "oci-archive:",
    "oci-dir:", "dir:", "sif:" and the spellings of skopeo and docker scout.
    ``platform`` is os/architecture[/variant]; None means linux/amd64 where there is a choice.
    ``insecure_hosts`` are registries ("host" or "host:port") that may be spoken to without TLS or with a
    certificate that nobody vouches for. ``mirrors`` map a registry's host ("docker.io") to one that is
    asked first. ``progress`` is called with a short phrase before each step that may take long.

    Raises UsageError for what is no target, reference or platform, TargetError when the image cannot be
    read: each with one sentence or two that can be shown as they are.
    """
    options = Options(None if platform is None else normalise(platform), Trust.of(insecure_hosts))
    if mirrors:
        options = replace(options, mirrors=mirrors)
    if progress is not None:
        options = replace(options, progress=progress)
    spelled = take_apart(target)
    if spelled.source is not None:
        return _SOURCES[spelled.source](spelled.place, target, options)
    return _open_path(target, target, options) or _open_any(target, target, options)


def _open_docker(place: str, named: str, options: Options) -> OpenImage:
    from cudacompat.sources.engine import open_docker

    return open_docker(place, named, options)


def _open_podman(place: str, named: str, options: Options) -> OpenImage:
    from cudacompat.sources.engine import open_podman

    return open_podman(place, named, options)


def _open_registry(place: str, named: str, options: Options) -> OpenImage:
    from cudacompat.sources import registry

    return registry.open(place, named, options)


def _open_docker_archive(place: str, named: str, options: Options) -> OpenImage:
    from cudacompat.sources import docker_archive

    return docker_archive.open(place, options.platform, named)


def _open_oci(place: str, named: str, options: Options) -> OpenImage:
    from cudacompat.sources import oci_layout

    return oci_layout.open(place, options.platform, named)


def _open_dir(place: str, named: str, options: Options) -> OpenImage:
    from cudacompat.sources import rootfs

    return rootfs.open(place, options.platform, named)


def _open_sif(place: str, named: str, options: Options) -> OpenImage:
    from cudacompat.sources import sif

    return sif.open(place, options.platform, named)


def _open_archive(place: str, named: str, options: Options) -> OpenImage:
    found = _open_path(place, named, options)
    if found is None:
        raise TargetError(f"{place} is no archive of an image, or does not exist.")
    return found


def _open_path(place: str, named: str, options: Options) -> OpenImage | None:
    """The image at a path, None when ``place`` is no path of an image and may be an image's name."""
    kind = kind_of_place(place)
    return None if kind is None else _PATHS[kind](place, named, options)


def _open_any(place: str, named: str, options: Options) -> OpenImage:
    """An image by name alone: from the engines, then from its registry."""
    reasons: list[str] = []
    notes: list[str] = []
    for engine in (_open_docker, _open_podman):
        try:
            return engine(place, named, options)
        except UnavailableError as error:
            if not (isinstance(error, NoEngineError) and engine is _open_podman):
                reasons.append(str(error))
            if not isinstance(error, (NoEngineError, NoImageError)):
                notes.append(f"{error} The image was read from its registry.")
    if _IMAGE_ID.fullmatch(place):
        raise TargetError(f"There is no image {place} here. {' '.join(reasons)}")
    try:
        image = _open_registry(place, named, options)
    except UnavailableError as error:
        raise TargetError(f"{place} was not found. {' '.join(reasons)} {error}") from error
    image.notes = (*notes, *image.notes)
    return image


_Open = Callable[[str, str, Options], OpenImage]
_SOURCES: Mapping[SourceName, _Open] = {
    "any": _open_any,
    "archive": _open_archive,
    "dir": _open_dir,
    "docker": _open_docker,
    "docker-archive": _open_docker_archive,
    "oci": _open_oci,
    "podman": _open_podman,
    "registry": _open_registry,
    "sif": _open_sif,
}
_PATHS: Mapping[PathKind, _Open] = {
    "docker-archive": _open_docker_archive,
    "oci-archive": _open_oci,
    "oci-dir": _open_oci,
    "dir": _open_dir,
    "sif": _open_sif,
}
