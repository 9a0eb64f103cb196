"""Whether a target without a named source is a path, and what lies there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from cudacompat.errors import TargetError

PathKind = Literal["docker-archive", "oci-archive", "oci-dir", "dir", "sif"]

_PATH_STARTS = ("/", "./", "../", "~")
_PATH_ENDS = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".sif", ".sqsh")


def kind_of_place(place: str) -> PathKind | None:
    """The kind of image at ``place``, a path with or without an image's name behind it.

    None when it is an image's name rather than a path. Raises TargetError for what can only be a path and
    holds no image.
    """
    if not os.path.lexists(place):
        return _kind_of_named(place)
    from cudacompat.sources.recognition import recognise

    kind = recognise(place)
    # A folder that holds no image may share its name with one: "app".
    if kind is None and (_is_written_as_path(place) or not Path(place).is_dir()):
        if not os.access(place, os.R_OK):
            raise TargetError(f"{place} cannot be read: no permission, or a link that leads nowhere.")
        raise TargetError(
            f"{place} is no image: neither an archive of docker save, nor an OCI layout, nor a SIF, nor a root "
            "file system, or it is broken at its beginning."
        )
    return kind


def _kind_of_named(place: str) -> PathKind | None:
    """The same for "layout:1.0": an archive or layout that exists, and the image meant in it."""
    from cudacompat.sources.recognition import recognise

    cut = place.rfind(":")
    while cut > 0:
        if os.path.lexists(place[:cut]):
            kind = recognise(place[:cut])
            if kind is not None and kind not in ("dir", "sif"):
                return kind
        cut = place.rfind(":", 0, cut)
    if _is_written_as_path(place):
        raise TargetError(f"{place} does not exist.")
    return None


def _is_written_as_path(place: str) -> bool:
    return place.startswith(_PATH_STARTS) or place.endswith(_PATH_ENDS)
