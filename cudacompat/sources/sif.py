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
from cudacompat.layers.config import parse_config
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
_PARTITION_TYPE, _JSON_TYPE, _OCI_TYPES = 0x4004, 0x4006, (0x400A, 0x400B)
# The config of the OCI image that a SIF was built from.
_CONFIG_NAME = b"oci-config.json"
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
    name: bytes
    extra: bytes

    @property
    def partition(self) -> tuple[int, int, bytes]:
        """The kind of its file system, the kind of partition, and its architecture."""
        system, kind, architecture = _PARTITION.unpack_from(self.extra)
        return system, kind, architecture.rstrip(b"\0")


@dataclass(frozen=True, slots=True)
class _Found:
    """The root file system in a file; ``stated`` are what the config of an OCI image says, as far as there is one."""

    source: str
    window: Window
    architecture: str | None = None
    stated: ImageConfig | None = None
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
        settings, source = _settings(system, found.source)
        config, notes = _config(system, found, settings, platform, path)
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
    notes = [f"{path} holds {overlays} writable overlays, which were not read."] if overlays else []
    stated, problem = _stated(file, objects, path)
    notes += [] if problem is None else [problem]
    window = file.part(primary.offset, primary.size)
    return _Found(SIF, window, _ARCHITECTURES.get(architecture), stated, tuple(notes))


def _stated(file: Window, objects: list[_Object], path: str) -> tuple[ImageConfig | None, str | None]:
    """The OCI config that a builder has put beside the file system, or a sentence on why it was not read."""
    found = next((item for item in objects if item.type == _JSON_TYPE and item.name == _CONFIG_NAME), None)
    if found is None:
        return None, None
    where = f"oci-config.json in {path}"
    if not 0 < found.size <= _SETTINGS_LIMIT or found.offset < _HEADER.size:
        return None, f"{where} was not read: it has {found.size} bytes."
    try:
        return parse_config(b'{"config": ' + file.read_at(found.offset, found.size) + b"}", where), None
    except TargetError as error:
        return None, f"{error} It was not read."


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
    return [_Object(item[0], item[5], item[6], item[-2].rstrip(b"\0"), item[-1]) for item in fields if item[1]]


def _config(
    system: Squashfs, found: _Found, settings: Settings | None, platform: str | None, path: str
) -> tuple[ImageConfig, list[str]]:
    """What is known of the image beside its files: the scripts that set its environment win over its config."""
    notes = list(settings.notes if settings is not None else ())
    if settings is None and found.stated is None:
        notes.append("There is no image config in it: its environment and labels are not known.")
    architecture = found.architecture or _architecture(system)
    if architecture is None:
        architecture = (normalise(platform) if platform is not None else DEFAULT_PLATFORM).partition("/")[2]
        if platform is None:
            notes.append(f"No program in {path} says its architecture; {DEFAULT_PLATFORM} was assumed.")
    own, stated = settings or Settings(), found.stated or ImageConfig("")
    config = ImageConfig(
        f"linux/{architecture}",
        env=own.env or stated.env,
        labels=own.labels or stated.labels,
        entrypoint=stated.entrypoint,
        cmd=stated.cmd,
    )
    check_platform(config, platform, path)
    return config, notes


def _settings(system: Squashfs, source: str) -> tuple[Settings | None, str]:
    """Environment and labels, and what starts the image by whose they are; None where nobody left any."""

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
    return enroot_settings(read), source


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
