"""The compressions that layers and archives come in, each by its magic number."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

# What the zstd tool accepts without being told otherwise; it bounds our memory as well.
_ZSTD_WINDOW_LOG = 27
_XZ_MEMORY = 128 << 20


class Decoder(Protocol):
    """The decompressor shape that bz2, lzma, zstd and isal share: one object for each member or frame."""

    @property
    def eof(self) -> bool:
        """Whether the member is complete."""

    @property
    def needs_input(self) -> bool:
        """Whether more output needs more input."""

    @property
    def unused_data(self) -> bytes:
        """Input behind the member's end."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """At most ``max_length`` bytes of output."""


@dataclass(frozen=True, slots=True)
class Codec:
    """A compression. ``magics`` start a member; ``start`` gives a new decoder and what it may raise."""

    name: str
    magics: tuple[bytes, ...]
    start: Callable[[], tuple[Decoder, tuple[type[Exception], ...]]]


class _ZlibDecoder:
    """Python's own zlib in the shape of the others, where there is no isal."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(31)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not self._full and not self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        output = self._stream.decompress(self._stream.unconsumed_tail + data, max_length)
        self._full = len(output) == max_length
        return output


def _gzip() -> tuple[Decoder, tuple[type[Exception], ...]]:
    try:
        from isal import igzip_lib
    except ImportError:
        return _ZlibDecoder(), (zlib.error,)
    decoder = cast(Decoder, igzip_lib.IgzipDecompressor(igzip_lib.DECOMP_GZIP))
    return decoder, (cast(type[Exception], igzip_lib.error), EOFError)


def _zstd() -> tuple[Decoder, tuple[type[Exception], ...]]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    return zstd.ZstdDecompressor(options=options), (zstd.ZstdError, EOFError)


def _bzip2() -> tuple[Decoder, tuple[type[Exception], ...]]:
    return bz2.BZ2Decompressor(), (OSError, EOFError)


def _xz() -> tuple[Decoder, tuple[type[Exception], ...]]:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY), (lzma.LZMAError, EOFError)


# A zstd stream may begin with, consist of, and end in skippable frames (zstd:chunked, pzstd).
_SKIPPABLE = tuple(bytes((0x50 | low, 0x2A, 0x4D, 0x18)) for low in range(16))

GZIP = Codec("gzip", (b"\x1f\x8b\x08",), _gzip)
ZSTD = Codec("zstd", (b"\x28\xb5\x2f\xfd", *_SKIPPABLE), _zstd)
CODECS = (
    GZIP,
    ZSTD,
    Codec("bzip2", (b"BZh",), _bzip2),
    Codec("xz", (b"\xfd7zXZ\x00",), _xz),
)
MAGIC_LENGTH = 6


def recognise(head: bytes) -> Codec | None:
    """The compression that ``head``, the first bytes of a stream, shows; None for none."""
    for codec in CODECS:
        if head.startswith(codec.magics):
            return codec
    return None
