"""SIF, the image files of Singularity and Apptainer, and plain squashfs files, such as enroot's.

A SIF file is a header, a table of descriptors and data objects, one of which holds the root file system. The layout
is that of the reference implementation (github.com/sylabs/sif, pkg/sif). It is read in place; nothing is unpacked
to disk.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from cudacompat.errors import TargetError
from cudacompat.layers.interface import Content, Entry, LayerBlob, OpenImage
from cudacompat.layers.squashfs import MAGIC as SQUASHFS_MAGIC
from cudacompat.layers.squashfs import Squashfs
from cudacompat.layers.window import Window
from cudacompat.model import ImageConfig, Target
from cudacompat.sources.platforms import DEFAULT_PLATFORM, check_platform, normalise
from cudacompat.sources.rootfs import LAYER, MOUNTED_OVER, PROGRAM_FOLDERS, architecture_of
from cudacompat.sources.singularity import FOLDER, Settings, enroot_settings, singularity_settings
from cudacompat.sources.stores import open_regular

SIF, SQUASHFS = "sif", "squashfs"

_LAUNCH = b"#!/usr/bin/env run-singularity\n"
_HEADER = struct.Struct("<32s10s3s3s16s8q")
_DESCRIPTOR = struct.Struct("<i?IIIqqqqqqq128s384s")
_PARTITION = struct.Struct("<ii3s")
_MAGIC = b"SIF_MAGIC\0"
_MOST_OBJECTS = 4096
_PARTITION_TYPE, _OCI_TYPES = 0x4004, (0x400A, 0x400B)
_PRIMARY, _OVERLAY = 2, 4
_SQUASH, _ENCRYPTED = 1, 5
_FILE_SYSTEMS = {2: "ext3", 3: "an archive", 4: "raw data"}
_ARCHITECTURES = {
    b"01": "386",
    b"02": "amd64",
    b"03": "arm",
    b"04": "arm64",
    b"05": "ppc64",
    b"06": "ppc64le",
    b"07": "mips",
    b"08": "mipsle",
    b"09": "mips64",
    b"10": "mips64le",
    b"11": "s390x",
    b"12": "riscv64",
}
_SETTINGS_LIMIT = 1 << 20
_MOST_SCRIPTS = 100
_LOOK_AT = 200


@dataclass(frozen=True, slots=True)
class _Object:
    """A data object of a SIF file, with its bytes' place and what its descriptor says beyond that."""

    type: int
    offset: int
    size: int
    extra: bytes

    @property
    def partition(self) -> tuple[int, int, bytes]:
        """The kind of its file system, the kind of partition, and its architecture."""
        system, kind, architecture = _PARTITION.unpack_from(self.extra)
        return system, kind, architecture.rstrip(b"\0")


@dataclass(frozen=True, slots=True)
class _Found:
    """The root file system in a file."""

    source: str
    window: Window
    architecture: str | None = None
    notes: tuple[str, ...] = ()


def recognise(head: bytes) -> bool:
    """Whether a file that begins with ``head``, 128 bytes of it, is a SIF or a squashfs."""
    return head[32:42] == _MAGIC or _squashfs_start(head) is not None


def open(path: str, platform: str | None = None, named: str | None = None) -> OpenImage:
    """The image in the file at ``path``. Environment and labels are those that its maker left in it.

    ``named`` is the target as the user wrote it. Raises TargetError when it is none, is broken, encrypted, or of
    another platform than ``platform``.
    """
    try:
        descriptor = open_regular(path)
    except OSError as error:
        raise TargetError(f"{path} could not be opened: {error.strerror or error}.") from error
    try:
        found = _find(Window(descriptor, 0, os.fstat(descriptor).st_size), path)
        system = Squashfs(found.window, path)
        settings, made_by = _settings(system)
        config, notes = _config(system, found.architecture, settings, platform, path)
        source = SIF if made_by == SIF else found.source
        target = Target("image", named or f"{SIF}:{path}", source, None, config.platform)
        return SquashfsImage(descriptor, system, target, config, (*found.notes, *notes))
    except BaseException:
        os.close(descriptor)
        raise


class SquashfsImage(OpenImage):
    """A squashfs as an image of one layer."""

    def __init__(
        self, descriptor: int, system: Squashfs, target: Target, config: ImageConfig, notes: tuple[str, ...]
    ) -> None:
        self.target = target
        self.config = config
        self.available_platforms = (config.platform,)
        self.notes = notes
        self._descriptor: int | None = descriptor
        self._system = system

    def layers(self) -> Iterator[LayerBlob]:
        """The one layer there is."""
        yield LayerBlob(LAYER, "", None, BytesIO(), entries=self._entries())

    def layer_order(self) -> tuple[str, ...]:
        """The one layer there is."""
        return (LAYER,)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _entries(self) -> Iterator[tuple[Entry, Content]]:
        if self._descriptor is None:
            raise ValueError("this image has been closed")
        yield from self._system.entries(leave_out=MOUNTED_OVER)


def _squashfs_start(head: bytes) -> int | None:
    """Where a squashfs begins: at once, or behind the line by which Singularity 2 made its files programs."""
    start = len(_LAUNCH) if head.startswith(_LAUNCH) else 0
    return start if head.startswith(SQUASHFS_MAGIC, start) else None


def _find(file: Window, path: str) -> _Found:
    head = file.read_at(0, _HEADER.size)
    if len(head) == _HEADER.size and head[32:42] == _MAGIC:
        return _find_in_sif(file, head, path)
    start = _squashfs_start(head)
    if start is None:
        raise TargetError(f"{path} is neither a SIF image nor a squashfs, or it is broken at its beginning.")
    return _Found(SQUASHFS, file.part(start, file.size - start))


def _find_in_sif(file: Window, head: bytes, path: str) -> _Found:
    objects = _objects(file, head, path)
    partitions = [item for item in objects if item.type == _PARTITION_TYPE]
    primary = next((item for item in partitions if item.partition[1] == _PRIMARY), None)
    if primary is None:
        if any(item.type in _OCI_TYPES for item in objects):
            raise TargetError(
                f"{path} is an OCI-SIF, which is not read: name the image that it was built from, or write it as an "
                "OCI layout and name the folder."
            )
        raise TargetError(f"{path} is a SIF file without a primary root file system.")
    system, _, architecture = primary.partition
    if system == _ENCRYPTED:
        raise TargetError(f"{path} is encrypted: name the image that it was built from.")
    if system != _SQUASH:
        kind = _FILE_SYSTEMS.get(system, f"of the unknown kind {system}")
        raise TargetError(f"The root file system of {path} is {kind}; only squashfs is read. Build it again.")
    if primary.size < 1 or primary.offset < _HEADER.size or primary.offset + primary.size > file.size:
        raise TargetError(f"{path} is truncated or broken: its root file system does not lie in it.")
    overlays = sum(item.partition[1] == _OVERLAY for item in partitions)
    notes = (f"{path} holds {overlays} writable overlays, which were not read.",) if overlays else ()
    return _Found(SIF, file.part(primary.offset, primary.size), _ARCHITECTURES.get(architecture), notes)


def _objects(file: Window, head: bytes, path: str) -> list[_Object]:
    """The data objects in use."""
    _, _, version, _, _, _, _, _, total, start, _, _, _ = _HEADER.unpack(head)
    if version.rstrip(b"\0") != b"01":
        raise TargetError(f"{path} is a SIF file of version {version[:2]!r}; only 01 is read.")
    if not 0 <= total <= _MOST_OBJECTS or start < _HEADER.size:
        raise TargetError(f"{path} is broken: its header counts {total} objects from byte {start} on.")
    table = file.read_at(start, total * _DESCRIPTOR.size)
    if len(table) < total * _DESCRIPTOR.size:
        raise TargetError(f"{path} is truncated: its table of {total} objects is not all there.")
    fields = _DESCRIPTOR.iter_unpack(table)
    return [_Object(item[0], item[5], item[6], item[-1]) for item in fields if item[1]]


def _config(
    system: Squashfs, architecture: str | None, settings: Settings, platform: str | None, path: str
) -> tuple[ImageConfig, list[str]]:
    notes = list(settings.notes)
    architecture = architecture or _architecture(system)
    if architecture is not None:
        found = f"linux/{architecture}"
    elif platform is not None:
        found = normalise(platform)
    else:
        found = DEFAULT_PLATFORM
        notes.append(f"No program in {path} says its architecture; {found} was assumed.")
    config = ImageConfig(found, env=settings.env, labels=settings.labels)
    check_platform(config, platform, path)
    return config, notes


def _settings(system: Squashfs) -> tuple[Settings, str | None]:
    """Environment and labels, and whose they are: a Singularity's or an enroot's, or nobody's."""

    def read(place: str) -> bytes | None:
        inode = system.find(place)
        if inode is None or inode.kind != "file" or inode.size > _SETTINGS_LIMIT:
            return None
        return system.content(inode, place).read()

    folder = system.find(f"{FOLDER}/env")
    if folder is not None and folder.kind == "dir":
        names = [name for name, _ in system.listing(folder) if name.endswith(".sh")][:_MOST_SCRIPTS]
        scripts = {name: read(f"{FOLDER}/env/{name}") or b"" for name in names}
        return singularity_settings(scripts, read), SIF
    settings = enroot_settings(read)
    if settings is not None:
        return settings, SQUASHFS
    return Settings(notes=("There is no image config in it: its environment and labels are not known.",)), None


def _architecture(system: Squashfs) -> str | None:
    """That of the first program or library found, None when there is none."""
    for place in PROGRAM_FOLDERS:
        folder = system.find(place)
        if folder is None or folder.kind != "dir":
            continue
        for count, (name, reference) in enumerate(system.listing(folder)):
            inode = system.inode(reference)
            if inode.kind == "file" and (found := architecture_of(system.content(inode, name).read(20))):
                return found
            if count == _LOOK_AT:
                break
    return None
