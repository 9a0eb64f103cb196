"""A tar's bytes in order, from a stream or from a file that can be jumped through, and its files' contents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cudacompat.errors import TargetError
from cudacompat.layers.interface import Content
from cudacompat.layers.window import RandomAccess

_CHUNK = 1 << 20
_AHEAD = 2048


class Tape(Protocol):
    """Bytes in order. ``where`` names the layer in errors."""

    where: str

    def take(self, count: int) -> bytes:
        """The next bytes, fewer than ``count`` only at the end."""

    def skip(self, count: int) -> int:
        """Pass over the next bytes; returns how many there were."""

    def content(self, size: int, path: str) -> TapeContent:
        """The next ``size`` bytes as a file's content. Nothing is read yet."""


class TapeContent(Content):
    """A file's content on a tape. ``close`` takes the tape to the content's end."""

    def __init__(self, size: int, path: str, where: str) -> None:
        self.size = size
        self._path = path
        self._where = where

    def close(self) -> None:
        """Pass over what nobody read. Raises TargetError when the tape ends before the content does."""
        raise NotImplementedError

    def _truncated(self) -> TargetError:
        return TargetError(f"{self._where} is truncated: it ends in the middle of {self._path!r}.")


class StreamTape:
    """A tape over pieces that come one after the other."""

    def __init__(self, pieces: Iterator[bytes], where: str) -> None:
        self.where = where
        self._pieces = pieces
        self._piece = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        """The next bytes, fewer than ``count`` only at the end."""
        end = self._at + count
        if end <= len(self._piece):
            data = self._piece[self._at : end]
            self._at = end
            return data
        parts: list[bytes | memoryview] = []
        while count and (part := self.part(count)):
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def skip(self, count: int) -> int:
        """Pass over the next bytes; returns how many there were."""
        left = count - (len(self._piece) - self._at)
        if left <= 0:
            self._at += count
            return count
        for piece in self._pieces:
            if left <= len(piece):
                self._piece, self._at = piece, left
                return count
            left -= len(piece)
        self._piece, self._at = b"", 0
        return count - left

    def part(self, limit: int) -> bytes | memoryview:
        """The next bytes that lie together, at most ``limit``; empty at the end."""
        if self._at >= len(self._piece):
            self._piece, self._at = next(self._pieces, b""), 0
        start = self._at
        available = len(self._piece) - start
        if start == 0 and available <= limit:
            self._at = available
            return self._piece
        self._at += min(limit, available)
        return memoryview(self._piece)[start : self._at]

    def content(self, size: int, path: str) -> TapeContent:
        """The next ``size`` bytes as a file's content. Nothing is read yet."""
        return _StreamContent(self, size, path)

    def drain(self) -> None:
        """Read all that is left."""
        self._piece, self._at = b"", 0
        for _ in self._pieces:
            pass


class _StreamContent(TapeContent):
    seekable = False

    def __init__(self, tape: StreamTape, size: int, path: str) -> None:
        super().__init__(size, path, tape.where)
        self._tape = tape
        self._left = size
        self._open = True

    def read(self, limit: int = -1) -> bytes:
        self._check_open()
        wanted = self._left if limit < 0 else min(limit, self._left)
        data = self._tape.take(wanted)
        self._left -= len(data)
        if len(data) < wanted:
            raise self._truncated()
        return data

    def chunks(self) -> Iterator[bytes | memoryview]:
        while self._left:
            self._check_open()
            part = self._tape.part(self._left)
            if not part:
                raise self._truncated()
            self._left -= len(part)
            yield part

    def read_at(self, offset: int, length: int) -> bytes:
        raise ValueError(f"this content is a stream: {length} bytes at {offset} cannot be read out of turn")

    def close(self) -> None:
        self._open = False
        if self._left and self._tape.skip(self._left) < self._left:
            raise self._truncated()

    def _check_open(self) -> None:
        if not self._open:
            raise ValueError("the walk has moved on: this content can no longer be read")


class FileTape:
    """A tape over a file that can be read at any offset, so that skipping costs nothing."""

    def __init__(self, file: RandomAccess, where: str) -> None:
        self.where = where
        self._file = file
        self._position = 0
        self._ahead = b""
        self._ahead_at = 0

    def take(self, count: int) -> bytes:
        """The next bytes, fewer than ``count`` only at the end."""
        data = self.read_at(self._position, count)
        self._position += len(data)
        return data

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes at any offset. A short read takes more than it needs: a file's first bytes follow its header."""
        at = offset - self._ahead_at
        if at >= 0 and at + length <= len(self._ahead):
            return self._ahead[at : at + length]
        try:
            if length > _AHEAD:
                return self._file.read_at(offset, length)
            self._ahead, self._ahead_at = self._file.read_at(offset, _AHEAD), offset
        except OSError as error:
            raise TargetError(f"{self.where} could not be read: {error.strerror or error}.") from error
        return self._ahead[:length]

    def skip(self, count: int) -> int:
        """Pass over the next bytes; returns how many there were."""
        skipped = max(0, min(count, self._file.size - self._position))
        self._position += skipped
        return skipped

    def content(self, size: int, path: str) -> TapeContent:
        """The next ``size`` bytes as a file's content. Nothing is read yet."""
        return FileContent(self, self._position, size, path)


class FileContent(TapeContent):
    """A file's content inside a file that can be read at any offset; ``start`` is where it begins."""

    seekable = True

    def __init__(self, tape: FileTape, start: int, size: int, path: str) -> None:
        super().__init__(size, path, tape.where)
        self._tape = tape
        self.start = start
        self._read = 0

    def read(self, limit: int = -1) -> bytes:
        """The next bytes, at most ``limit``."""
        left = self.size - self._read
        wanted = left if limit < 0 else min(limit, left)
        data = self.read_at(self._read, wanted)
        self._read += len(data)
        return data

    def chunks(self) -> Iterator[bytes | memoryview]:
        """The remaining bytes, 1 MiB at a time."""
        while chunk := self.read(_CHUNK):
            yield chunk

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes at an offset from the file's start; short at the end of file."""
        length = 0 if offset < 0 else max(0, min(length, self.size - offset))
        data = self._tape.read_at(self.start + offset, length)
        if len(data) < length:
            raise self._truncated()
        return data

    def close(self) -> None:
        """Jump over the content, read or not."""
        if self._tape.skip(self.size) < self.size:
            raise self._truncated()
