"""Files read at any offset: a part of an open file, in place, and whatever else can seek."""

from __future__ import annotations

import io
import os
from typing import BinaryIO, Protocol


class RandomAccess(Protocol):
    """Bytes that can be read at any offset. ``size`` counts them."""

    size: int

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes from ``offset`` on, fewer than ``length`` only at the end."""


class Window(io.RawIOBase):
    """``size`` bytes of the file behind ``descriptor``, from ``start`` on.

    Reads leave the descriptor's own position alone, so that several windows share one file. The
    descriptor stays its opener's to close.
    """

    def __init__(self, descriptor: int, start: int, size: int) -> None:
        super().__init__()
        self.size = size
        self._descriptor = descriptor
        self._start = start
        self._position = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The position that ``read`` goes on from."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position that ``read`` goes on from."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes, at most ``size``; all that is left when negative."""
        wanted = self.size if size is None or size < 0 else size
        data = self.read_at(self._position, wanted)
        self._position += len(data)
        return data

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes from ``offset`` on, fewer than ``length`` only at the window's or the file's end."""
        length = min(length, self.size - offset)
        if length <= 0:
            return b""
        data = os.pread(self._descriptor, length, self._start + offset)
        while 0 < len(data) < length:
            more = os.pread(self._descriptor, length - len(data), self._start + offset + len(data))
            if not more:
                break
            data += more
        return data

    def part(self, start: int, size: int) -> Window:
        """A window inside this one."""
        start = min(start, self.size)
        return Window(self._descriptor, self._start + start, min(size, self.size - start))


class SeekableStream:
    """Any seekable stream as RandomAccess, from its current position on."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = stream.tell()
        self.size = stream.seek(0, io.SEEK_END) - self._start
        stream.seek(self._start)

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes from ``offset`` on, fewer than ``length`` only at the end."""
        self._stream.seek(self._start + offset)
        return self._stream.read(max(length, 0))


def random_access(stream: BinaryIO) -> RandomAccess:
    """A seekable stream as RandomAccess; a Window is one already."""
    return stream if isinstance(stream, Window) else SeekableStream(stream)
