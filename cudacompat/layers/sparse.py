"""Sparse files in tars: the stored pieces and the holes between them, read as the file they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cudacompat.errors import TargetError
from cudacompat.layers.interface import Content
from cudacompat.layers.tar_header import BLOCK, number

Extent = tuple[int, int]

_ZEROS = bytes(256 << 10)
MAX_EXTENTS = 100_000


class SparseContent(Content):
    """A sparse file's content: ``stored`` holds the extents' bytes one after the other, from its position on.

    ``extents`` are (offset, length) in the whole file of ``size`` bytes, ascending. ``base`` is how many
    bytes of ``stored`` precede the first extent's.
    """

    def __init__(self, stored: Content, extents: Sequence[Extent], size: int, base: int = 0) -> None:
        self.size = size
        self.seekable = stored.seekable
        self._stored = stored
        self._extents = extents
        self._base = base
        self._chunks = self._whole()
        self._rest: bytes | memoryview = b""

    def read(self, limit: int = -1) -> bytes:
        """The next bytes of the whole file, at most ``limit``."""
        parts: list[bytes | memoryview] = []
        wanted = self.size if limit < 0 else limit
        while wanted and (chunk := self._rest or next(self._chunks, b"")):
            parts.append(chunk[:wanted])
            self._rest = memoryview(chunk)[wanted:]
            wanted -= len(parts[-1])
        return b"".join(parts)

    def chunks(self) -> Iterator[bytes | memoryview]:
        """The remaining bytes of the whole file."""
        rest, self._rest = self._rest, b""
        if rest:
            yield rest
        yield from self._chunks

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes at an offset of the whole file. Only over seekable content."""
        end = min(self.size, offset + length) if offset >= 0 else offset
        parts = []
        stored_at = self._base
        at = offset
        for start, count in self._extents:
            if at < end and start < end and start + count > at:
                parts.append(bytes(max(0, start - at)))
                at = max(at, start)
                here = min(end, start + count) - at
                parts.append(self._stored.read_at(stored_at + at - start, here))
                at += here
            stored_at += count
        parts.append(bytes(max(0, end - at)))
        return b"".join(parts)

    def _whole(self) -> Iterator[bytes | memoryview]:
        at = 0
        for start, count in self._extents:
            yield from _hole(start - at)
            yield from _exactly(self._stored, count)
            at = start + count
        yield from _hole(self.size - at)


def _exactly(content: Content, count: int) -> Iterator[bytes]:
    while count and (chunk := content.read(min(count, len(_ZEROS)))):
        yield chunk
        count -= len(chunk)


def _hole(count: int) -> Iterator[bytes | memoryview]:
    while count > 0:
        piece = _ZEROS if count >= len(_ZEROS) else memoryview(_ZEROS)[:count]
        yield piece
        count -= len(piece)


def gnu_extents(block: bytes, start: int, slots: int, where: str) -> list[Extent]:
    """The used entries of an old GNU sparse table in a header block: pairs of 12-byte numbers."""
    extents = []
    for at in range(start, start + slots * 24, 24):
        if not block[at]:
            break
        extents.append((number(block[at : at + 12], where), number(block[at + 12 : at + 24], where)))
    return extents


def pax_extents(records: Sequence[tuple[str, bytes]], where: str) -> list[Extent]:
    """The map of the pax sparse formats 0.0 (repeated keys) and 0.1 (one list)."""
    numbers: list[bytes] = []
    for key, value in records:
        if key in {"GNU.sparse.offset", "GNU.sparse.numbytes"}:
            numbers.append(value)
        elif key == "GNU.sparse.map":
            numbers = value.split(b",") if value else []
    return _pairs([decimal(value, where) for value in numbers], where)


def leading_extents(stored: Content, where: str) -> tuple[list[Extent], int]:
    """The map of the pax sparse format 1.0, which stands before the data in whole blocks; and its length."""
    data = stored.read(BLOCK)
    count = decimal(data.partition(b"\n")[0], where)
    if count > MAX_EXTENTS:
        raise TargetError(f"{where} is broken: a sparse file has more than {MAX_EXTENTS} pieces.")
    while data.count(b"\n") < 2 * count + 1:
        block = stored.read(BLOCK)
        if len(block) < BLOCK or len(data) > 64 * (count + 16):
            raise TargetError(f"{where} is broken: a sparse file's map does not end.")
        data += block
    lines = data.split(b"\n", 2 * count + 1)[1 : 2 * count + 1]
    return _pairs([decimal(line, where) for line in lines], where), len(data)


def check_extents(extents: Sequence[Extent], stored: int, size: int, where: str) -> None:
    """Raises TargetError unless the extents ascend, lie in the file and are all stored."""
    at = 0
    for start, count in extents:
        if start < at:
            raise TargetError(f"{where} is broken: a sparse file's pieces overlap.")
        at = start + count
    if at > size or sum(count for _, count in extents) > stored:
        raise TargetError(f"{where} is broken: a sparse file's pieces are longer than the file.")


def decimal(value: bytes, where: str) -> int:
    """A decimal number of an extended header. Raises TargetError."""
    if not value.isdigit() or len(value) > 20:
        raise TargetError(f"{where} is broken: an extended tar header has {value[:24]!r} for a number.")
    return int(value)


def _pairs(numbers: Sequence[int], where: str) -> list[Extent]:
    if len(numbers) % 2:
        raise TargetError(f"{where} is broken: a sparse file's map ends in the middle.")
    return list(zip(numbers[::2], numbers[1::2], strict=True))
