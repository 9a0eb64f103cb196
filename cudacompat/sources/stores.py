"""Named blobs of an image on disk: in a folder, in a tar read in place, in a compressed tar."""

from __future__ import annotations

import io
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from cudacompat.errors import TargetError
from cudacompat.layers.codecs import MAGIC_LENGTH, recognise
from cudacompat.layers.compression import RawBytes, unpacked
from cudacompat.layers.documents import MAX_DOCUMENT
from cudacompat.layers.interface import Content, Entry
from cudacompat.layers.limits import GIB, Limits
from cudacompat.layers.tape import FileContent, FileTape, StreamTape
from cudacompat.layers.tar_members import TarWalk
from cudacompat.layers.window import Window
from cudacompat.sources.names import Links

# An archive holds whole images: several layers, each of which has its own bounds later.
ARCHIVE_LIMITS = Limits(unpacked=1000 * GIB, entries=200_000)

# Of a compressed archive, what may be a manifest or a config is kept from the first pass.
_MAX_KEPT = 1 << 20
_MAX_KEPT_TOTAL = 32 << 20


class Store(ABC):
    """Blobs by name ("/index.json"). ``where`` names the store in errors."""

    where: str

    @abstractmethod
    def locate(self, name: str) -> str | None:
        """The name under which a blob's bytes are stored, links followed; None when there is none."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """A whole small blob, by its located name. Raises TargetError when it is too long."""

    @abstractmethod
    def streams(self, names: Collection[str]) -> Iterator[tuple[str, BinaryIO, int]]:
        """Each of the located names once, in the store's own order: name, bytes, size.

        A stream is valid until the next one is asked for.
        """

    @abstractmethod
    def close(self) -> None:
        """Release files. Calling it twice is harmless."""

    def document(self, name: str) -> bytes:
        """A whole small blob by any name. Raises TargetError when it is missing or too long."""
        located = self.locate(name)
        if located is None:
            raise TargetError(f"{self.where} has no {name.lstrip('/')}.")
        return self.read(located)

    def _refuse_long(self, name: str, size: int) -> None:
        if size > MAX_DOCUMENT:
            raise TargetError(f"{name.lstrip('/')} in {self.where} has {size} bytes; no manifest or config has.")


def open_store(path: str) -> Store:
    """The store at ``path``: a folder, or a tar in any compression. Raises TargetError."""
    try:
        if Path(path).is_dir():
            return FolderStore(path)
        descriptor = open_regular(path)
    except OSError as error:
        raise TargetError(f"{path} could not be opened: {error.strerror or error}.") from error
    if recognise(os.pread(descriptor, MAGIC_LENGTH, 0)) is None:
        return ArchiveInPlace(descriptor, path)
    return CompressedArchive(descriptor, path)


def open_regular(path: str | Path) -> int:
    """A descriptor of a regular file; of nothing else, because a pipe or a device could block for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return descriptor


class FolderStore(Store):
    """Blobs as files of a folder."""

    def __init__(self, path: str) -> None:
        self.where = path
        self._root = Path(path)

    def locate(self, name: str) -> str | None:
        """The name itself, when there is a regular file."""
        return name if (self._root / name.lstrip("/")).is_file() else None

    def read(self, name: str) -> bytes:
        """The file's bytes."""
        with self._open(name) as file:
            self._refuse_long(name, os.fstat(file.fileno()).st_size)
            return file.read(MAX_DOCUMENT)

    def streams(self, names: Collection[str]) -> Iterator[tuple[str, BinaryIO, int]]:
        """The files, opened one after the other."""
        for name in names:
            with self._open(name) as file:
                size = os.fstat(file.fileno()).st_size
                yield name, cast(BinaryIO, Window(file.fileno(), 0, size)), size

    def close(self) -> None:
        """Nothing is held open."""

    def _open(self, name: str) -> BinaryIO:
        try:
            return os.fdopen(open_regular(self._root / name.lstrip("/")), "rb")
        except OSError as error:
            raise TargetError(f"{name.lstrip('/')} in {self.where} could not be opened: {error}.") from error


class _Archive(Store):
    """What both kinds of tar archive share: the names, and the links between them."""

    def __init__(self, descriptor: int, where: str) -> None:
        self.where = where
        self._descriptor: int | None = descriptor
        self._sizes: dict[str, int] = {}
        self._links = Links()

    def locate(self, name: str) -> str | None:
        """The member that ``name`` leads to, through the archive's own links."""
        return self._links.locate(name, self._sizes)

    def close(self) -> None:
        """Close the archive's file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _window(self) -> Window:
        if self._descriptor is None:
            raise ValueError("this archive has been closed")
        return Window(self._descriptor, 0, os.fstat(self._descriptor).st_size)

    def _note(self, entry: Entry) -> None:
        self._links.note(entry)
        if entry.kind == "file":
            self._sizes[entry.path] = entry.size


class ArchiveInPlace(_Archive):
    """An uncompressed tar: its members are windows into the file."""

    def __init__(self, descriptor: int, where: str) -> None:
        super().__init__(descriptor, where)
        self._starts: dict[str, int] = {}
        try:
            for entry, content in TarWalk(FileTape(self._window(), where), ARCHIVE_LIMITS).members():
                if isinstance(content, FileContent):
                    self._note(entry)
                    self._starts[entry.path] = content.start
        except BaseException:
            self.close()
            raise

    def read(self, name: str) -> bytes:
        """The member's bytes."""
        self._refuse_long(name, self._sizes[name])
        return self._part(name).read()

    def streams(self, names: Collection[str]) -> Iterator[tuple[str, BinaryIO, int]]:
        """The members' windows, in the order of ``names``."""
        for name in names:
            yield name, cast(BinaryIO, self._part(name)), self._sizes[name]

    def _part(self, name: str) -> Window:
        return self._window().part(self._starts[name], self._sizes[name])


class CompressedArchive(_Archive):
    """A tar compressed as a whole: one pass for names and documents, one more for the layers."""

    def __init__(self, descriptor: int, where: str) -> None:
        super().__init__(descriptor, where)
        self._documents: dict[str, bytes] = {}
        kept = 0
        try:
            for entry, content in self._members():
                self._note(entry)
                if entry.kind == "file" and entry.size <= _MAX_KEPT and kept < _MAX_KEPT_TOTAL:
                    data = content.read()
                    if data.lstrip()[:1] in {b"{", b"["}:
                        self._documents[entry.path] = data
                        kept += len(data)
        except BaseException:
            self.close()
            raise

    def read(self, name: str) -> bytes:
        """The member's bytes, from the first pass or by another one."""
        if name in self._documents:
            return self._documents[name]
        self._refuse_long(name, self._sizes[name])
        for _, stream, _ in self.streams([name]):
            return stream.read()
        raise TargetError(f"{self.where} has lost its {name.lstrip('/')}.")

    def streams(self, names: Collection[str]) -> Iterator[tuple[str, BinaryIO, int]]:
        """The members in the archive's order."""
        wanted = set(names)
        for entry, content in self._members():
            if entry.kind == "file" and entry.path in wanted:
                wanted.discard(entry.path)
                yield entry.path, cast(BinaryIO, ContentStream(content)), entry.size
                if not wanted:
                    return

    def _members(self) -> Iterator[tuple[Entry, Content]]:
        pieces = unpacked(RawBytes(self._window(), self.where), self.where, ARCHIVE_LIMITS)
        tape = StreamTape(pieces, self.where)
        yield from TarWalk(tape, ARCHIVE_LIMITS).members()
        tape.drain()  # a stream that is cut behind the tar's end is cut all the same


class ContentStream(io.RawIOBase):
    """A tar member's content as a stream that is read forward."""

    def __init__(self, content: Content) -> None:
        super().__init__()
        self._content = content

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes, at most ``size``; all that is left when negative."""
        return self._content.read(-1 if size is None else size)
