"""The blocks of a squashfs: each packed by itself, none unpacking to more than it may."""

from __future__ import annotations

import lzma
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import cast

from cudacompat.errors import TargetError
from cudacompat.layers.codecs import ZSTD
from cudacompat.layers.limits import LIMITS, Limits
from cudacompat.layers.window import RandomAccess

METADATA = 8192

_XZ_MEMORY = 16 << 20
_PLAIN_METADATA = 1 << 15
_PLAIN_DATA = 1 << 24
_METADATA_KEPT = 256
_DATA_KEPT = 8

# A block and the most bytes it may unpack to: the bytes, one more than allowed when there are more.
Unpack = Callable[[bytes, int], bytes]


class Blocks:
    """Metadata and data blocks of the squashfs in ``file``, unpacked on demand; the latest are kept.

    ``where`` names the file system in errors. All that is unpacked counts against ``limits``. Raises TargetError
    for a compression that is not known or whose library is not there.
    """

    def __init__(self, file: RandomAccess, compression: int, where: str, limits: Limits = LIMITS) -> None:
        self.size = file.size
        self._file = file
        self._where = where
        self._limits = limits
        self._unpack, self._errors = _codec(compression, where)
        self._metadata: OrderedDict[int, tuple[bytes, int]] = OrderedDict()
        self._data: OrderedDict[int, bytes] = OrderedDict()
        self._count = 0

    def broken(self, what: str) -> TargetError:
        """The error for a file system whose parts do not fit together."""
        return TargetError(f"{self._where} is broken: {what}.")

    def metadata(self, at: int) -> tuple[bytes, int]:
        """The metadata block at an offset, and the offset behind it."""
        known = self._metadata.get(at)
        if known is not None:
            self._metadata.move_to_end(at)
            return known
        head = int.from_bytes(self.raw(at, 2), "little")
        size = head & (_PLAIN_METADATA - 1)
        packed = self.raw(at + 2, size)
        block = packed if head & _PLAIN_METADATA else self._unpacked(packed, METADATA)
        if not 0 < len(block) <= METADATA:
            raise self.broken("a metadata block is empty or too long")
        self._metadata[at] = found = (block, at + 2 + size)
        if len(self._metadata) > _METADATA_KEPT:
            self._metadata.popitem(last=False)
        return found

    def data(self, at: int, stored: int, limit: int) -> bytes:
        """The data block of a size as an inode or a fragment states it, unpacking to at most ``limit`` bytes."""
        known = self._data.get(at)
        if known is not None:
            self._data.move_to_end(at)
            return known
        size = stored & (_PLAIN_DATA - 1)
        # Packing that gains nothing is not done.
        if size > limit:
            raise self.broken(f"a block of {limit} bytes claims {size}")
        packed = self.raw(at, size)
        block = packed if stored & _PLAIN_DATA else self._unpacked(packed, limit)
        self._data[at] = block
        if len(self._data) > _DATA_KEPT:
            self._data.popitem(last=False)
        return block

    def hole(self, size: int) -> bytes:
        """A block that is not stored: zeros."""
        self._tally(size)
        return bytes(size)

    def raw(self, at: int, size: int) -> bytes:
        """Bytes as they are stored."""
        try:
            data = self._file.read_at(at, size) if 0 <= at < self.size else b""
        except OSError as error:
            raise TargetError(f"{self._where} could not be read: {error.strerror or error}.") from error
        if len(data) < size:
            raise self.broken(f"it ends before byte {at + size}")
        return data

    def _unpacked(self, packed: bytes, limit: int) -> bytes:
        try:
            block = self._unpack(packed, limit)
        except self._errors as error:
            raise self.broken(f"a block cannot be unpacked ({type(error).__name__})") from error
        if len(block) > limit:
            raise self.broken(f"a block unpacks to more than {limit} bytes")
        self._tally(len(block))
        return block

    def _tally(self, size: int) -> None:
        """Names by the million may lead to one file of zeros: what is unpacked in all is bounded, too."""
        self._count += size
        if self._count > max(self._limits.ratio_from, self._limits.ratio * self.size):
            raise TargetError(f"{self._where} unpacks to more than {self._limits.ratio} times its size.")


def _codec(compression: int, where: str) -> tuple[Unpack, tuple[type[Exception], ...]]:
    known = _CODECS.get(compression)
    if known is None:
        raise TargetError(f"{where} is a squashfs of an unknown compression (number {compression}).")
    name, start = known
    try:
        return start()
    except ImportError as error:
        raise TargetError(
            f"{where} is a squashfs packed by {name}, for which a library is missing: "
            "pip install 'cudacompat[squashfs]'."
        ) from error


def _zlib() -> tuple[Unpack, tuple[type[Exception], ...]]:
    try:
        from isal import isal_zlib
    except ImportError:
        return lambda packed, limit: zlib.decompressobj().decompress(packed, limit + 1), (zlib.error,)
    errors = (cast(type[Exception], isal_zlib.error), zlib.error)
    return lambda packed, limit: isal_zlib.decompressobj().decompress(packed, limit + 1), errors


def _lzma() -> tuple[Unpack, tuple[type[Exception], ...]]:
    def unpack(packed: bytes, limit: int) -> bytes:
        return lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_XZ_MEMORY).decompress(packed, limit + 1)

    return unpack, (lzma.LZMAError, EOFError)


def _xz() -> tuple[Unpack, tuple[type[Exception], ...]]:
    def unpack(packed: bytes, limit: int) -> bytes:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY).decompress(packed, limit + 1)

    return unpack, (lzma.LZMAError, EOFError)


def _zstd() -> tuple[Unpack, tuple[type[Exception], ...]]:
    _, errors = ZSTD.start()
    return lambda packed, limit: ZSTD.start()[0].decompress(packed, limit + 1), errors


def _lz4() -> tuple[Unpack, tuple[type[Exception], ...]]:
    import lz4.block

    errors = (lz4.block.LZ4BlockError, ValueError)
    return lambda packed, limit: lz4.block.decompress(packed, uncompressed_size=limit), errors


def _lzo() -> tuple[Unpack, tuple[type[Exception], ...]]:
    import lzallright

    # It takes no bound; what a block can unpack to at all is bounded by its own size.
    return lzallright.LZOCompressor.decompress, (lzallright.LZOError, lzallright.InputNotConsumed)


_CODECS: dict[int, tuple[str, Callable[[], tuple[Unpack, tuple[type[Exception], ...]]]]] = {
    1: ("zlib", _zlib),
    2: ("lzma", _lzma),
    3: ("lzo", _lzo),
    4: ("xz", _xz),
    5: ("lz4", _lz4),
    6: ("zstd", _zstd),
}
