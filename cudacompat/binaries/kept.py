"""The few parts of a stream that are needed again when it has passed by."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from cudacompat.binaries.model import ReadAt

# The dynamic string table stands before the code, and the table that says where it is stands behind it.
_HEAD = 32 << 20
_MAX_WINDOWS = 256
_MAX_WANTED = 8 << 20
_NEVER = 1 << 64
_MAX_FOLLOWED = 32


class Kept:
    """Keeps a stream's beginning, and ranges ahead that its readers have asked for in vain.

    ``follow`` names a function that reads through ``read_at`` and may find nothing yet: it is called again
    whenever a range it missed has come in.
    """

    def __init__(self) -> None:
        self._head: list[bytes] = []
        self._head_end = _HEAD
        self._starts: list[int] = []
        self._latest = b""
        self._latest_at = 0
        self._windows: dict[tuple[int, int], bytearray] = {}
        self._wanted = 0
        self._due = _NEVER
        self._follow: Callable[[ReadAt], object] | None = None
        self._followed = 0

    def follow(self, read: Callable[[ReadAt], object]) -> None:
        """Let ``read`` ask for what it will need."""
        self._follow = read
        read(self.read_at)

    def end_head(self, offset: int) -> None:
        """Let the beginning end at ``offset`` when that comes earlier."""
        self._head_end = min(self._head_end, offset)

    def want(self, offset: int, length: int) -> None:
        """Keep a range, or what of it is not past yet. The latest piece is still at hand."""
        start = max(offset, self._latest_at)
        length = offset + length - start
        if length <= 0 or any(at <= start and start + length <= at + size for at, size in self._windows):
            return
        if len(self._windows) < _MAX_WINDOWS and self._wanted + length <= _MAX_WANTED:
            at = start - self._latest_at
            self._windows[start, length] = bytearray(self._latest[at : at + length])
            self._wanted += length
            self._due = min(self._due, start)

    def feed(self, piece: bytes, start: int) -> None:
        """The next piece of the stream."""
        end = start + len(piece)
        if start < self._head_end:
            self._head.append(piece)
            self._starts.append(start)
        self._latest, self._latest_at = piece, start
        came = end > self._due and self._fill(piece, start, end)
        if came and self._follow is not None and self._followed < _MAX_FOLLOWED:
            self._followed += 1
            self._follow(self.read_at)

    def _fill(self, piece: bytes, start: int, end: int) -> bool:
        """Take what the windows want of a piece; whether one has become complete."""
        came = False
        self._due = _NEVER
        for (offset, length), data in self._windows.items():
            if len(data) < length and offset < end:
                data.extend(piece[max(0, offset + len(data) - start) : offset + length - start])
                came = came or len(data) == length
            if len(data) < length:
                self._due = min(self._due, offset)
        return came

    def read_at(self, offset: int, length: int) -> bytes:
        """What was kept of a range, empty when its beginning was not. A range ahead is kept from now on."""
        data = self._from_head(offset, length)
        if len(data) == length:
            return data
        self.want(offset, length)
        for (start, _), kept in self._windows.items():
            if start <= offset < start + len(kept):
                data = max(data, bytes(kept[offset - start : offset - start + length]), key=len)
        return data

    def _from_head(self, offset: int, length: int) -> bytes:
        parts = []
        for at in range(max(0, bisect_right(self._starts, offset) - 1), len(self._head)):
            start = self._starts[at]
            if start >= offset + length:
                break
            parts.append(self._head[at][max(0, offset - start) : offset + length - start])
        return b"".join(parts)
