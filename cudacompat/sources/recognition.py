"""What kind of image lies at a path, by its content."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from cudacompat.errors import TargetError
from cudacompat.layers.codecs import MAGIC_LENGTH
from cudacompat.layers.codecs import recognise as recognise_codec
from cudacompat.layers.compression import RawBytes, unpacked
from cudacompat.layers.tape import FileTape, StreamTape, Tape
from cudacompat.layers.tar_members import TarWalk
from cudacompat.layers.window import Window
from cudacompat.sources import sif
from cudacompat.sources.stores import ARCHIVE_LIMITS, open_regular

PathKind = Literal["docker-archive", "oci-archive", "oci-dir", "dir", "sif"]

# Folders of which a root file system has at least one.
_ROOT_FOLDERS = ("bin", "etc", "lib", "opt", "sbin", "usr", "var")
_OLD_LAYER = re.compile(r"/[0-9a-f]{64}(/layer\.tar|/VERSION|\.tar|\.json)")
_LAYOUT = frozenset(("/oci-layout", "/index.json"))


def recognise(path: str) -> PathKind | None:
    """The kind of image at ``path``: a docker save archive, an OCI layout (tar or folder), a root file system, a SIF.

    None for anything else, also for what cannot be read. An archive of the newer docker save is an OCI
    layout as well and counts as docker-archive; a plain squashfs counts as sif.
    """
    try:
        if Path(path).is_dir():
            return _folder(Path(path))
        descriptor = open_regular(path)
    except OSError:
        return None
    try:
        file = Window(descriptor, 0, os.fstat(descriptor).st_size)
        return "sif" if sif.recognise(file.read_at(0, 128)) else _archive(_names(file, path))
    except TargetError:
        return None
    finally:
        os.close(descriptor)


def _folder(path: Path) -> PathKind | None:
    if (path / "index.json").is_file() and (path / "blobs").is_dir():
        return "oci-dir"
    return "dir" if any((path / name).is_dir() for name in _ROOT_FOLDERS) else None


def _archive(names: Iterable[str]) -> PathKind | None:
    found: PathKind | None = None
    for name in names:
        if name == "/manifest.json" or _OLD_LAYER.fullmatch(name):
            return "docker-archive"
        if name in _LAYOUT:
            found = "oci-archive"
    return found


def _names(file: Window, where: str) -> Iterable[str]:
    tape: Tape = FileTape(file, where)
    if recognise_codec(file.read_at(0, MAGIC_LENGTH)) is not None:
        tape = StreamTape(unpacked(RawBytes(file, where), where, ARCHIVE_LIMITS), where)
    return (entry.path for entry, _ in TarWalk(tape, ARCHIVE_LIMITS).members())
