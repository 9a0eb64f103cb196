"""Any stream to its uncompressed bytes, in pieces of bounded size, with its digest on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Protocol

from cudacompat.errors import TargetError
from cudacompat.layers.codecs import MAGIC_LENGTH, Codec, Decoder, recognise
from cudacompat.layers.limits import GIB, LIMITS, Limits

PIECE = 256 << 10
_RAW_PIECE = 128 << 10
_MAX_MEMBERS = 2_000_000


class Source(Protocol):
    """Bytes read forward."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; empty at the end."""


class RawBytes:
    """The stored bytes of a blob, counted, and hashed when a digest is to be checked.

    ``head`` are the first bytes, still to be read. Read errors become TargetErrors that name the blob.
    """

    def __init__(self, source: Source, where: str, algorithm: str | None = None) -> None:
        self.count = 0
        self._source = source
        self._where = where
        self._hash = hashlib.new(algorithm) if algorithm else None
        self._ahead: list[bytes] = []
        self.head = self._peek()

    def read(self) -> bytes:
        """The next piece; empty at the end."""
        return self._ahead.pop(0) if self._ahead else self._fetch()

    def drain(self) -> None:
        """Read to the end, for the digest's sake."""
        while self.read():
            pass

    def hexdigest(self) -> str:
        """The digest of everything read so far. Only where an algorithm was named."""
        return self._hash.hexdigest() if self._hash else ""

    def _peek(self) -> bytes:
        head = b""
        while len(head) < MAGIC_LENGTH and (piece := self._fetch()):
            self._ahead.append(piece)
            head += piece
        return head[:MAGIC_LENGTH]

    def _fetch(self) -> bytes:
        try:
            piece = self._source.read(_RAW_PIECE)
        except OSError as error:
            raise TargetError(f"{self._where} could not be read: {error}.") from error
        self.count += len(piece)
        if self._hash:
            self._hash.update(piece)
        return piece


def unpacked(raw: RawBytes, where: str, limits: Limits = LIMITS) -> Iterator[bytes]:
    """The uncompressed bytes of ``raw``, which may be compressed in any known way or not at all.

    Pieces are never empty and at most 256 KiB, whatever the ratio. Raises TargetError when the stream is
    corrupt, truncated or grows beyond ``limits``.
    """
    codec = recognise(raw.head)
    pieces = iter(raw.read, b"") if codec is None else _decoded(raw, codec, where)
    written = 0
    for piece in pieces:
        written += len(piece)
        if written > limits.ratio_from or written > limits.unpacked:
            _check_bounds(written, raw.count, where, limits)
        yield piece


def _check_bounds(written: int, read: int, where: str, limits: Limits) -> None:
    if written > limits.unpacked:
        raise TargetError(f"{where} unpacks to more than {limits.unpacked / GIB:.4g} GiB; it was not read further.")
    if written > read * limits.ratio:
        raise TargetError(
            f"{where} unpacks to more than {limits.ratio} times its size; it was taken for a "
            "decompression bomb and not read further."
        )


def _decoded(raw: RawBytes, codec: Codec, where: str) -> Iterator[bytes]:
    """All members or frames of ``raw``, one after the other."""
    data = raw.read()
    for _ in range(_MAX_MEMBERS):
        decoder, errors = codec.start()
        try:
            yield from _member(decoder, data, raw)
        except errors as error:
            raise TargetError(f"{where} is corrupt: its {codec.name} data cannot be unpacked ({error}).") from error
        if not decoder.eof:
            raise TargetError(f"{where} is truncated: its {codec.name} data ends in the middle.")
        data = _next_member(decoder.unused_data, raw, codec, where)
        if not data:
            return
    raise TargetError(f"{where} is cut into more than {_MAX_MEMBERS} {codec.name} members; it was not read further.")


def _member(decoder: Decoder, data: bytes, raw: RawBytes) -> Iterator[bytes]:
    """The output of one member that begins with ``data``; ends early where the input does."""
    while True:
        piece = decoder.decompress(data, PIECE)
        if piece:
            yield piece
        if decoder.eof:
            return
        data = raw.read() if decoder.needs_input else b""
        if not data and not piece and decoder.needs_input:
            return


def _next_member(rest: bytes, raw: RawBytes, codec: Codec, where: str) -> bytes:
    """The input from the next member on, empty when there is none. Zero padding is no member."""
    while True:
        if not rest.strip(b"\0"):
            rest = raw.read()
            if not rest:
                return b""
            continue
        if len(rest) < MAGIC_LENGTH and (more := raw.read()):
            rest += more
            continue
        if rest.startswith(codec.magics):
            return rest
        raise TargetError(f"{where} is corrupt: something else follows its {codec.name} data.")
