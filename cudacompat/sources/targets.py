"""Targets as people write them: which source is meant, and what it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cudacompat.errors import UsageError

SourceName = Literal[
    "any",  # an engine, then the registry
    "archive",  # a docker archive or an OCI archive, by content
    "dir",
    "docker",
    "docker-archive",
    "oci",
    "podman",
    "registry",
    "sif",
]

# Longer spellings first where one begins like another. Those with "://" are skopeo's and docker scout's.
_SPELLINGS: tuple[tuple[str, SourceName], ...] = (
    ("docker://", "registry"),
    ("docker-daemon:", "docker"),
    ("docker-archive:", "docker-archive"),
    ("docker:", "docker"),
    ("local://", "docker"),
    ("podman:", "podman"),
    ("registry:", "registry"),
    ("image://", "any"),
    ("archive://", "archive"),
    ("oci-archive:", "oci"),
    ("oci-dir:", "oci"),
    ("oci:", "oci"),
    ("dir:", "dir"),
    ("fs://", "dir"),
    ("sif:", "sif"),
    ("singularity:", "sif"),
)


@dataclass(frozen=True, slots=True)
class Spelled:
    """A target taken apart: the source (None when none is named) and what stands behind it."""

    source: SourceName | None
    place: str


def take_apart(target: str) -> Spelled:
    """The source that ``target`` names. Raises UsageError when it is empty or names a source there is not."""
    if not target.strip():
        raise UsageError("The target is empty; name an image like app:1.0 or an archive.")
    if any(ord(character) < 32 for character in target):
        raise UsageError("The target has control characters in it.")
    for prefix, source in _SPELLINGS:
        if target.startswith(prefix):
            # "registry://host/app" means the same as "registry:host/app"; a path keeps its own slash.
            place = target[len(prefix) :].removeprefix("//") if prefix.endswith(":") else target[len(prefix) :]
            if not place:
                raise UsageError(f"{target!r} names no image behind {prefix!r}.")
            return Spelled(source, place)
    scheme, separator, _ = target.partition("://")
    if separator:
        known = ", ".join(prefix for prefix, _ in _SPELLINGS)
        raise UsageError(f"{scheme[:50]!r} is no source of images; known are {known}.")
    return Spelled(None, target)
