"""A squashfs (version 4.0), read in place at any offset: its folders, and its files without unpacking the rest.

Singularity's and Apptainer's images hold one, enroot's files are one. The format is described in the Linux kernel's
Documentation/filesystems/squashfs.rst; everything an image states is checked before it is believed.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import accumulate

from cudacompat.errors import TargetError
from cudacompat.layers.interface import Content, Entry, EntryKind
from cudacompat.layers.limits import LIMITS, Limits
from cudacompat.layers.squashfs_blocks import METADATA, Blocks
from cudacompat.layers.tape import FileTape
from cudacompat.layers.window import RandomAccess

MAGIC = b"hsqs"

_SUPERBLOCK = struct.Struct("<4sIIIIHHHHHHQQQQQQQQ")
_INODE = struct.Struct("<HHHHII")
_FRAGMENT = struct.Struct("<QII")
_LISTING = struct.Struct("<IIi")
_NAME = struct.Struct("<HhHH")
_FOLDER, _FILE, _LINK, _BIG_FOLDER, _BIG_FILE, _BIG_LINK = 1, 2, 3, 8, 9, 10
_OTHERS = frozenset((4, 5, 6, 7, 11, 12, 13, 14))
_BODIES = {
    _FOLDER: struct.Struct("<IIHHI"),
    _FILE: struct.Struct("<IIII"),
    _LINK: struct.Struct("<II"),
    _BIG_FOLDER: struct.Struct("<IIIIHHI"),
    _BIG_FILE: struct.Struct("<QQQIIII"),
    _BIG_LINK: struct.Struct("<II"),
}
_NO_FRAGMENT = 0xFFFFFFFF
_SMALLEST_BLOCK, _LARGEST_BLOCK = 4096, 1 << 20
_PER_LISTING = 256
_MAX_DEPTH = 100
_MAX_LINK = 65_536
# 512 GB in blocks of the usual size.
_MOST_BLOCKS = 4 << 20


@dataclass(frozen=True, slots=True)
class Inode:
    """A file's place: ``start`` of its listing or data, ``offset`` in its listing or fragment, size in bytes.

    ``sizes_at`` is where the list of a file's block sizes begins; ``target`` is a symlink's.
    """

    kind: EntryKind
    size: int = 0
    start: int = 0
    offset: int = 0
    fragment: int = _NO_FRAGMENT
    sizes_at: tuple[int, int] = (0, 0)
    target: str | None = None


class Squashfs:
    """The file system in ``file``; ``where`` names it in errors. Raises TargetError when it is none or broken."""

    def __init__(self, file: RandomAccess, where: str, limits: Limits = LIMITS) -> None:
        head = file.read_at(0, _SUPERBLOCK.size)
        if len(head) < _SUPERBLOCK.size or not head.startswith(MAGIC):
            raise TargetError(f"{where} is no squashfs.")
        fields = _SUPERBLOCK.unpack(head)
        self._block_size, self._fragments, compression, log = fields[3:7]
        major, minor = fields[9:11]
        if (major, minor) != (4, 0):
            raise TargetError(f"{where} is a squashfs of version {major}.{minor}; only 4.0 is read.")
        self._blocks = Blocks(file, compression, where, limits)
        if not _SMALLEST_BLOCK <= self._block_size == 1 << min(log, 63) <= _LARGEST_BLOCK:
            raise self._blocks.broken(f"its blocks have {self._block_size} bytes")
        self._root = fields[11]
        self._inodes_at, self._listings_at, self._fragments_at = fields[15:18]
        self._where = where
        self._limits = limits

    def entries(self, leave_out: Collection[str] = ()) -> Iterator[tuple[Entry, Content]]:
        """Every entry, folders before what is in them; nothing below the folders of ``leave_out``.

        Raises TargetError for what is broken or beyond the limits.
        """
        for count, member in enumerate(self._below(self.inode(self._root), "", leave_out)):
            if count >= self._limits.entries:
                raise TargetError(f"{self._where} has more than {self._limits.entries} files.")
            yield member

    def find(self, path: str) -> Inode | None:
        """The entry at an absolute path, no symlink followed; None when there is none."""
        found = self.inode(self._root)
        for part in filter(None, path.split("/")):
            if found.kind != "dir":
                return None
            reference = next((reference for name, reference in self.listing(found) if name == part), None)
            if reference is None:
                return None
            found = self.inode(reference)
        return found

    def content(self, inode: Inode, path: str) -> Content:
        """A file's content; read it before the next one is asked for."""
        file = _File(self._blocks, inode, self._block_size, self._fragment)
        return FileTape(file, self._where).content(inode.size, path)

    def listing(self, folder: Inode) -> Iterator[tuple[str, int]]:
        """The names in a folder, sorted by their bytes, and where their inodes are."""
        cursor = _Cursor(self._blocks, self._listings_at + folder.start, folder.offset)
        left = folder.size
        while left > 0:
            more, block, _ = _LISTING.unpack(cursor.take(_LISTING.size))
            left -= _LISTING.size
            if more >= _PER_LISTING:
                raise self._blocks.broken(f"a folder has {more} names where {_PER_LISTING} fit")
            for _ in range(more + 1):
                offset, _, _, length = _NAME.unpack(cursor.take(_NAME.size))
                name = cursor.take(length + 1)
                left -= _NAME.size + len(name)
                if name in (b".", b"..") or b"/" in name or b"\0" in name:
                    raise self._blocks.broken(f"a file is called {name[:100]!r}")
                yield name.decode("utf-8", "surrogateescape"), block << 16 | offset

    def inode(self, reference: int) -> Inode:
        """The inode that a listing refers to."""
        cursor = _Cursor(self._blocks, self._inodes_at + (reference >> 16), reference & 0xFFFF)
        kind = _INODE.unpack(cursor.take(_INODE.size))[0]
        body = _BODIES.get(kind)
        if body is None:
            if kind not in _OTHERS:
                raise self._blocks.broken(f"an inode is of the kind {kind}")
            return Inode("other")
        fields = body.unpack(cursor.take(body.size))
        if kind in (_LINK, _BIG_LINK):
            if fields[1] > _MAX_LINK:
                raise self._blocks.broken(f"a symlink has {fields[1]} bytes")
            return Inode("symlink", target=cursor.take(fields[1]).decode("utf-8", "surrogateescape"))
        if kind in (_FOLDER, _BIG_FOLDER):
            start, size, offset = (fields[0], *fields[2:4]) if kind == _FOLDER else (fields[2], fields[1], fields[5])
            # Three bytes are counted for "." and "..", which are not stored.
            return Inode("dir", max(0, size - 3), start, offset)
        start, fragment, offset, size = fields if kind == _FILE else (fields[0], *fields[4:6], fields[1])
        if size > self._limits.unpacked:
            raise self._blocks.broken(f"a file claims {size} bytes")
        return Inode("file", size, start, offset, fragment, cursor.place)

    def _below(self, folder: Inode, path: str, leave_out: Collection[str]) -> Iterator[tuple[Entry, Content]]:
        if path.count("/") > _MAX_DEPTH:
            raise TargetError(f"{self._where} nests folders more than {_MAX_DEPTH} deep.")
        for name, reference in self.listing(folder):
            inner = self.inode(reference)
            place = f"{path}/{name}"
            if inner.kind == "file":
                yield Entry(place, "file", inner.size), self.content(inner, place)
                continue
            yield Entry(place, inner.kind, 0, inner.target), self.content(Inode("other"), place)
            if inner.kind == "dir" and place not in leave_out:
                yield from self._below(inner, place, leave_out)

    def _fragment(self, number: int) -> tuple[int, int]:
        """Where a fragment block is, and its stored size."""
        if number >= self._fragments:
            raise self._blocks.broken(f"there is no fragment {number}")
        table, at = divmod(number * _FRAGMENT.size, METADATA)
        block = int.from_bytes(self._blocks.raw(self._fragments_at + 8 * table, 8), "little")
        start, size, _ = _FRAGMENT.unpack(_Cursor(self._blocks, block, at).take(_FRAGMENT.size))
        return start, size


class _Cursor:
    """Reads on through metadata blocks from an offset in one of them."""

    def __init__(self, blocks: Blocks, at: int, offset: int) -> None:
        self._blocks = blocks
        self.place = (at, offset)

    def take(self, count: int) -> bytes:
        """The next bytes. Raises TargetError when there are fewer."""
        at, offset = self.place
        block, following = self._blocks.metadata(at)
        if offset > len(block):
            raise self._blocks.broken("an offset lies behind its block")
        parts = [block[offset : offset + count]]
        offset += len(parts[0])
        count -= len(parts[0])
        while count:
            at = following
            block, following = self._blocks.metadata(at)
            parts.append(block[:count])
            offset = len(parts[-1])
            count -= offset
        self.place = (at, offset)
        return b"".join(parts)


class _File:
    """A file's bytes at any offset. Its list of blocks is read when the first byte is."""

    def __init__(
        self, blocks: Blocks, inode: Inode, block_size: int, fragment: Callable[[int], tuple[int, int]]
    ) -> None:
        self.size = inode.size
        self._blocks = blocks
        self._inode = inode
        self._block_size = block_size
        self._fragment = fragment
        self._sizes: array[int] | None = None
        self._starts: array[int] = array("Q")

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes from ``offset`` on, fewer than ``length`` only at the end."""
        end = min(offset + length, self.size)
        parts = []
        while offset < end:
            number, inside = divmod(offset, self._block_size)
            part = self._block(number)[inside : inside + end - offset]
            parts.append(part)
            offset += len(part)
        return b"".join(parts)

    def _block(self, number: int) -> bytes:
        sizes = self._sizes if self._sizes is not None else self._read_sizes()
        expected = min(self._block_size, self.size - number * self._block_size)
        if number == len(sizes):
            start, stored = self._fragment(self._inode.fragment)
            block = self._blocks.data(start, stored, self._block_size)
            block = block[self._inode.offset : self._inode.offset + expected]
        elif sizes[number] == 0:
            return self._blocks.hole(expected)
        else:
            block = self._blocks.data(self._starts[number], sizes[number], self._block_size)
        if len(block) != expected:
            raise self._blocks.broken(f"a block has {len(block)} bytes where {expected} were stated")
        return block

    def _read_sizes(self) -> array[int]:
        count = self.size // self._block_size
        if self._inode.fragment == _NO_FRAGMENT and self.size % self._block_size:
            count += 1
        if count > _MOST_BLOCKS or self._inode.start > self._blocks.size:
            raise self._blocks.broken(f"a file claims {count} blocks from byte {self._inode.start} on")
        cursor = _Cursor(self._blocks, *self._inode.sizes_at)
        sizes = array("Q", (size for (size,) in struct.iter_unpack("<I", cursor.take(4 * count))))
        stored = (size & 0xFFFFFF for size in sizes[:-1])
        self._starts = array("Q", accumulate(stored, initial=self._inode.start) if sizes else ())
        self._sizes = sizes
        return sizes
