"""A root file system folder, read in place as an image of one layer. No symlink in it is ever followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from io import BytesIO
from itertools import islice

from cudacompat.errors import TargetError
from cudacompat.layers.interface import Content, Entry, LayerBlob, OpenImage
from cudacompat.layers.limits import LIMITS
from cudacompat.model import ImageConfig, Target
from cudacompat.sources.platforms import DEFAULT_PLATFORM, normalise

SOURCE = "dir"
LAYER = "rootfs"

_CHUNK = 1 << 20
_MAX_DEPTH = 100
_MAX_NOTES = 20
# A container runtime mounts its own over these: nothing below them is the image's.
MOUNTED_OVER = frozenset(("/proc", "/sys", "/dev"))
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
# Where every image with a program in it has one.
PROGRAM_FOLDERS = ("usr/bin", "bin", "usr/sbin", "sbin", "usr/local/bin", "usr/lib", "lib", "lib64", "")
_LOOK_AT = 200
_MACHINES = {3: "386", 21: "ppc64le", 22: "s390x", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64"}


def open(path: str, platform: str | None = None, named: str | None = None) -> OpenImage:
    """The root file system at ``path``. It has no config, so environment and labels are empty.

    The platform is the one given, else that of the programs in it. ``named`` is the target as the user
    wrote it. Raises TargetError when there is no such folder.
    """
    try:
        # The folder itself may be named through a symlink; nothing inside it is followed.
        root = os.open(path, _FOLDER & ~os.O_NOFOLLOW)
    except OSError as error:
        raise TargetError(f"{path} could not be opened as a root file system: {error.strerror}.") from error
    notes = ["A root file system folder has no image config: its environment and labels are not known."]
    found = normalise(platform) if platform is not None else _platform(root)
    if found is None:
        found = DEFAULT_PLATFORM
        notes.append(f"No program in {path} says its architecture; {found} was assumed.")
    return RootFileSystem(root, Target("image", named or f"{SOURCE}:{path}", SOURCE, None, found), tuple(notes))


class RootFileSystem(OpenImage):
    """A folder as an image. ``notes`` grow during the walk by what could not be read."""

    def __init__(self, root: int, target: Target, notes: tuple[str, ...]) -> None:
        platform = target.platform or DEFAULT_PLATFORM
        self.target = target
        self.config = ImageConfig(platform)
        self.available_platforms = (platform,)
        self.notes = notes
        self._root: int | None = root
        self._unread = 0

    def layers(self) -> Iterator[LayerBlob]:
        """The one layer there is."""
        yield LayerBlob(LAYER, "", None, BytesIO(), entries=self._entries())

    def layer_order(self) -> tuple[str, ...]:
        """The one layer there is."""
        return (LAYER,)

    def close(self) -> None:
        """Close the folder."""
        if self._root is not None:
            os.close(self._root)
            self._root = None

    def _entries(self) -> Iterator[tuple[Entry, Content]]:
        if self._root is None:
            raise ValueError("this image has been closed")
        for count, member in enumerate(self._folder(os.dup(self._root), "")):
            if count >= LIMITS.entries:
                raise TargetError(f"{self.target.reference} has more than {LIMITS.entries} files.")
            yield member
        if self._unread > _MAX_NOTES:
            self.notes += (f"{self._unread - _MAX_NOTES} more paths could not be read.",)

    def _folder(self, descriptor: int, path: str) -> Iterator[tuple[Entry, Content]]:
        """Everything below a folder; takes over its descriptor."""
        try:
            for item in self._listed(descriptor, path):
                yield from self._entry(item, descriptor, f"{path}/{item.name}")
        finally:
            os.close(descriptor)

    def _listed(self, descriptor: int, path: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(descriptor) as scan:
                return sorted(scan, key=lambda item: item.name)
        except OSError as error:
            self._note(path or "/", error)
            return []

    def _entry(self, item: os.DirEntry[str], folder: int, path: str) -> Iterator[tuple[Entry, Content]]:
        if item.is_symlink():
            yield from self._link(item, folder, path)
        elif item.is_dir(follow_symlinks=False):
            yield Entry(path, "dir"), NOTHING
            yield from self._below(item, folder, path)
        elif item.is_file(follow_symlinks=False):
            yield from self._file(item, folder, path)
        else:
            yield Entry(path, "other"), NOTHING

    def _link(self, item: os.DirEntry[str], folder: int, path: str) -> Iterator[tuple[Entry, Content]]:
        try:
            target = os.readlink(item.name, dir_fd=folder)
        except OSError as error:
            self._note(path, error)
            return
        yield Entry(path, "symlink", 0, target), NOTHING

    def _below(self, item: os.DirEntry[str], folder: int, path: str) -> Iterator[tuple[Entry, Content]]:
        if path in MOUNTED_OVER:
            return
        if path.count("/") > _MAX_DEPTH:
            self._note(path, "it lies too deep")
            return
        try:
            descriptor = os.open(item.name, _FOLDER, dir_fd=folder)
        except OSError as error:
            self._note(path, error)
            return
        yield from self._folder(descriptor, path)

    def _file(self, item: os.DirEntry[str], folder: int, path: str) -> Iterator[tuple[Entry, Content]]:
        try:
            descriptor = os.open(item.name, _FILE, dir_fd=folder)
        except OSError as error:
            self._note(path, error)
            yield Entry(path, "other"), NOTHING
            return
        try:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode):
                yield Entry(path, "file", found.st_size), OpenFile(descriptor, found.st_size, path)
        finally:
            os.close(descriptor)

    def _note(self, path: str, why: OSError | str) -> None:
        self._unread += 1
        if self._unread <= _MAX_NOTES:
            reason = why if isinstance(why, str) else why.strerror
            self.notes += (f"{path} could not be read: {reason}.",)


class OpenFile(Content):
    """An open file's content, ``size`` bytes of it."""

    seekable = True

    def __init__(self, descriptor: int, size: int, path: str) -> None:
        self.size = size
        self._descriptor = descriptor
        self._path = path
        self._position = 0

    def read(self, limit: int = -1) -> bytes:
        """The next bytes, at most ``limit``."""
        left = self.size - self._position
        data = self.read_at(self._position, left if limit < 0 else min(limit, left))
        self._position += len(data)
        return data

    def chunks(self) -> Iterator[bytes | memoryview]:
        """The remaining bytes, 1 MiB at a time."""
        while chunk := self.read(_CHUNK):
            yield chunk

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes at an offset from the file's start; short at the end of file."""
        length = min(length, self.size - offset)
        if offset < 0 or length <= 0:
            return b""
        try:
            data = os.pread(self._descriptor, length, offset)
        except OSError as error:
            raise TargetError(f"{self._path} could not be read: {error.strerror}.") from error
        if len(data) < length:
            raise TargetError(f"{self._path} became shorter while it was read.")
        return data


NOTHING = OpenFile(-1, 0, "")


def _platform(root: int) -> str | None:
    """The platform of the first program or library found, None when there is none."""
    for folder in PROGRAM_FOLDERS:
        machine = _machine_in(root, folder)
        if machine is not None:
            return f"linux/{machine}"
    return None


def _machine_in(root: int, folder: str) -> str | None:
    descriptor = os.dup(root)
    try:
        for part in filter(None, folder.split("/")):
            inner = os.open(part, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        with os.scandir(descriptor) as scan:
            for item in islice(scan, _LOOK_AT):
                if item.is_file(follow_symlinks=False) and (machine := _machine_of(item.name, descriptor)):
                    return machine
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _machine_of(name: str, folder: int) -> str | None:
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        head = os.pread(descriptor, 20, 0)
    finally:
        os.close(descriptor)
    return architecture_of(head)


def architecture_of(head: bytes) -> str | None:
    """OCI's name for the machine of an ELF file by its first 20 bytes, None when it is none or of another one."""
    if len(head) < 20 or not head.startswith(b"\x7fELF"):
        return None
    return _MACHINES.get(int.from_bytes(head[18:20], "big" if head[5] == 2 else "little"))
