"""Tars built block by block, so that tests can say exactly which bytes they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO

from cudacompat.layers.interface import LayerBlob
from cudacompat.layers.limits import LIMITS, Limits
from cudacompat.layers.tar import open_layer

END = bytes(1024)


def header(
    name: bytes | str,
    size: int | bytes = 0,
    type: bytes = b"0",
    linkname: bytes | str = b"",
    *,
    prefix: bytes = b"",
    magic: bytes = b"ustar\x0000",
    tail: bytes = b"",
) -> bytes:
    """A header block. ``size`` as bytes is the raw 12-byte field, ``tail`` what stands from byte 345 on."""
    raw_size = size if isinstance(size, bytes) else b"%011o\0" % size
    block = b"".join(
        (
            _bytes(name).ljust(100, b"\0")[:100],
            b"0000644\0" + b"0000000\0" * 2,
            raw_size.ljust(12, b"\0"),
            b"00000000000\0",
            b" " * 8,
            type,
            _bytes(linkname).ljust(100, b"\0")[:100],
            magic,
            bytes(64 + 16),
            tail or prefix,
        )
    ).ljust(512, b"\0")
    return with_checksum(block)


def with_checksum(block: bytes) -> bytes:
    """The block with the checksum that belongs to it."""
    blank = block[:148] + b" " * 8 + block[156:]
    return block[:148] + b"%06o\0 " % sum(blank) + block[156:]


def padded(data: bytes) -> bytes:
    """``data`` in whole blocks."""
    return data + bytes(-len(data) % 512)


def member(name: bytes | str, data: bytes | str = b"", type: bytes = b"0", linkname: bytes | str = b"") -> bytes:
    """A header and its data."""
    return header(name, len(_bytes(data)), type, linkname) + padded(_bytes(data))


def folder(name: bytes | str) -> bytes:
    """A folder's header."""
    return header(name, 0, b"5")


def symlink(name: bytes | str, target: bytes | str) -> bytes:
    """A symlink's header."""
    return header(name, 0, b"2", target)


def hardlink(name: bytes | str, target: bytes | str) -> bytes:
    """A hard link's header."""
    return header(name, 0, b"1", target)


def pax(records: Mapping[str, str | bytes] | Sequence[tuple[str, str | bytes]], type: bytes = b"x") -> bytes:
    """An extended header."""
    pairs = records.items() if isinstance(records, Mapping) else records
    return member("PaxHeaders/x", b"".join(pax_record(key, value) for key, value in pairs), type)


def pax_record(key: str, value: str | bytes) -> bytes:
    """One record of an extended header, with the length that counts itself."""
    body = b" %s=%s\n" % (key.encode(), _bytes(value))
    length = len(body)
    while len(str(length)) + len(body) != length:
        length = len(str(length)) + len(body)
    return str(length).encode() + body


def long_name(name: str, type: bytes = b"L") -> bytes:
    """GNU's header for a long name (L) or a long link target (K)."""
    return member("././@LongLink", name.encode() + b"\0", type)


def blob(data: bytes, *, digest: str | None = None, diff_id: str | None = None, media_type: str = "") -> LayerBlob:
    """A layer of these bytes that can seek."""
    return LayerBlob("sha256:test", media_type, len(data), BytesIO(data), digest, diff_id)


class Stream(BytesIO):
    """Bytes that cannot seek and come in pieces of at most ``piece`` bytes."""

    def __init__(self, data: bytes, piece: int = 1 << 20) -> None:
        super().__init__(data)
        self._piece = piece

    def seekable(self) -> bool:
        """Never."""
        return False

    def read(self, size: int | None = -1) -> bytes:
        """Some bytes."""
        wanted = self._piece if size is None or size < 0 else min(size, self._piece)
        return super().read(wanted)


def stream(data: bytes, piece: int = 1 << 20, *, digest: str | None = None, diff_id: str | None = None) -> LayerBlob:
    """A layer of these bytes that is read forward, in pieces of at most ``piece`` bytes."""
    return LayerBlob("sha256:test", "", len(data), Stream(data, piece), digest, diff_id)


def walked(layer: LayerBlob, limits: Limits = LIMITS) -> list[tuple[str, str, str | None, bytes]]:
    """Path, kind, target and bytes of every entry."""
    found = []
    for entry, content in open_layer(layer, limits):
        data = content.read() if entry.kind == "file" else b""
        found.append((entry.path, str(entry.kind), entry.target, data))
    return found


def _bytes(value: bytes | str) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
