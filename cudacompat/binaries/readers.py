"""One file's bytes for a scan that moves forward: from a stream in one pass, or from a file that can seek."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from cudacompat.binaries.entries import MAGIC
from cudacompat.binaries.model import ReadAt
from cudacompat.binaries.runtime import RuntimeSearch
from cudacompat.binaries.search import find_magic

ENDLESS = 1 << 62
_OVERLAP = len(MAGIC) - 1
# Headers are read across a border between two pieces, so pieces must not be smaller than they are.
_SMALLEST = 4096
_LARGEST_BLOCK = 256 << 10


class Reader(Protocol):
    """Bytes at ascending offsets: a request may lie a little before the last one, never far."""

    def read_at(self, offset: int, length: int) -> bytes:
        """At most 4 KiB of bytes; short at the end of the file."""

    def find(self, start: int, stop: int, regions: bool, code: RuntimeSearch | None) -> int:
        """Where the first magic in [start, stop) begins, -1 when there is none or ``regions`` is False.

        The bytes passed over are shown to ``code``.
        """


class StreamReader:
    """Reads from pieces as they come. ``watch`` sees every piece and its offset once, in order."""

    def __init__(self, pieces: Iterable[bytes | memoryview], watch: Callable[[bytes, int], None]) -> None:
        self._pieces = iter(pieces)
        self._watch = watch
        self._before = b""
        self._piece = b""
        self._start = 0

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes in the current piece, the one before it, or further on."""
        while offset + length > self._start + len(self._piece) and self._advance():
            pass
        at = offset - self._start
        if at >= 0:
            return self._piece[at : at + length]
        return self._before[at:][:length] + self._piece[: max(0, at + length)]

    def find(self, start: int, stop: int, regions: bool, code: RuntimeSearch | None) -> int:
        """Search forward from ``start``, which lies in the current piece, the one before it, or further on."""
        at = start
        while at < stop:
            end = self._start + len(self._piece)
            if at < end:
                limit = min(stop, end if at >= self._start else self._start)
                hit = self._search(at, limit) if regions else -1
                self._show(code, at, limit if hit < 0 else hit)
                if hit >= 0:
                    return hit
                at = limit
            elif not self._advance():
                break
            elif regions and at > start and (hit := self._search(max(start, at - _OVERLAP), at)) >= 0:
                return hit
        return -1

    def _search(self, start: int, stop: int) -> int:
        """Where the first magic begins in [start, stop), which lies in one piece; it may end in the next."""
        data, base = self._piece, self._start
        if start < base:
            data = self._before[start - base :] + data[:_OVERLAP]
            base = start
        hit = find_magic(data, start - base, min(stop - base + _OVERLAP, len(data)))
        return base + hit if 0 <= hit < stop - base else -1

    def _show(self, code: RuntimeSearch | None, start: int, stop: int) -> None:
        if code is None:
            return
        if start >= self._start:
            code.feed(self._piece, start - self._start, stop - self._start, self._start)
        else:
            code.feed(self._before[start - self._start :], 0, stop - start, start)

    def _advance(self) -> bool:
        """The next piece, joined with more where it is too small."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        data = bytes(piece)
        while len(data) < _SMALLEST and (more := next(self._pieces, None)) is not None:
            data += more
        self._start += len(self._piece)
        self._before, self._piece = self._piece, data
        self._watch(data, self._start)
        return True


class SeekReader:
    """Reads wherever it is asked to, through ``read_at``; ``size`` counts the file's bytes."""

    def __init__(self, read_at: ReadAt, size: int) -> None:
        self._read_at = read_at
        self._size = size
        self._block = b""
        self._start = 0

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes of the block searched last, or of the file."""
        at = offset - self._start
        if at >= 0 and at + length <= len(self._block):
            return self._block[at : at + length]
        return self._read_at(offset, length)

    def find(self, start: int, stop: int, regions: bool, code: RuntimeSearch | None) -> int:
        """Search block by block; small ones first, for regions often stand a few bytes apart."""
        stop = min(stop, self._size)
        block = _SMALLEST
        while start < stop:
            length = min(block, stop - start)
            block = min(block * 8, _LARGEST_BLOCK)
            data = self._read_at(start, length + _OVERLAP)
            self._block, self._start = data, start
            hit = find_magic(data, 0, len(data)) if regions else -1
            found = 0 <= hit < length
            if code is not None:
                code.feed(data, 0, min(hit if found else length, len(data)), start)
            if found:
                return start + hit
            start += length
        return -1
