"""Binaries built byte by byte, and contents that are read like a layer's files."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cudacompat.binaries import read_binary
from cudacompat.layers.interface import Content
from cudacompat.model import Component, Kernels, SharedLibrary

FIXTURES = Path(__file__).parent.parent / "data" / "fatbin"
X86_64, AARCH64 = 62, 183
PROGBITS, STRTAB, DYNAMIC, NOTE, NOBITS = 1, 3, 6, 7, 8
ALLOC, EXEC = 2, 4
_SEGMENTS = {DYNAMIC: 2, NOTE: 4}


class Streamed(Content):
    """Bytes that pass by once, in pieces of the given sizes (the last one repeats)."""

    seekable = False

    def __init__(self, data: bytes, pieces: Sequence[int] = (256 << 10,)) -> None:
        self.size = len(data)
        self._data = data
        self._pieces = pieces

    def read(self, limit: int = -1) -> bytes:
        raise AssertionError("a binary is read by chunks")

    def chunks(self) -> Iterator[bytes | memoryview]:
        at, sizes = 0, list(self._pieces)
        while at < self.size:
            size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
            yield memoryview(self._data)[at : at + size]
            at += size

    def read_at(self, offset: int, length: int) -> bytes:
        raise AssertionError("a stream has no read_at")


class InPlace(Content):
    """Bytes that can be read anywhere. ``taken`` counts how many were."""

    seekable = True

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self.taken = 0
        self._data = data

    def read(self, limit: int = -1) -> bytes:
        raise AssertionError("a seekable binary is read by read_at")

    def chunks(self) -> Iterator[bytes | memoryview]:
        raise AssertionError("a seekable binary is read by read_at")

    def read_at(self, offset: int, length: int) -> bytes:
        self.taken += length
        return self._data[offset : offset + length]


Observed = list[SharedLibrary | Kernels | Component]


def observed(data: bytes, path: str = "/opt/app/lib.so", pieces: Sequence[int] | None = None) -> Observed:
    """What a file yields, read in place or, with ``pieces``, as a stream."""
    content = InPlace(data) if pieces is None else Streamed(data, pieces)
    return list(read_binary(path, content, "sha256:layer"))


def both_ways(data: bytes, path: str = "/opt/app/lib.so") -> Observed:
    """What a file yields, having made sure that a stream yields the same."""
    found = observed(data, path)
    assert observed(data, path, (256 << 10,)) == found
    assert observed(data, path, (5000, 4096, 4097)) == found
    return found


def entry(
    kind: int = 2,
    arch: int = 80,
    version: tuple[int, int] = (1, 7),
    *,
    flags: int = 0x11,
    payload: int = 4096,
    header: int = 64,
    unpacked: int = 0,
    entry_version: int = 0x0101,
) -> bytes:
    """A fat binary entry with a payload of zeros."""
    start = struct.pack(
        "<HHIQIIHHIIIQQQ",
        kind,
        entry_version,
        header,
        payload,
        0,
        0,
        version[1],
        version[0],
        arch,
        0,
        0,
        flags,
        0,
        unpacked,
    )
    return start.ljust(header, b"\0") + bytes(payload)


def region(*entries: bytes, size: int | None = None, header: int = 16, version: int = 1) -> bytes:
    """A fat binary region; ``size`` overrides what its header says."""
    body = b"".join(entries)
    start = struct.pack("<4sHHQ", b"\x50\xed\x55\xba", version, header, len(body) if size is None else size)
    return start.ljust(header, b"\0") + body


@dataclass
class Part:
    """A section: name, type, flags, bytes, alignment. ``fill`` gives the bytes once all offsets are known."""

    name: str
    data: bytes = b""
    type: int = PROGBITS
    flags: int = ALLOC
    align: int = 8
    offset: int = field(default=0, init=False)
    fill: Callable[[], bytes] | None = None


@dataclass
class Elf:
    """A 64-bit little-endian ELF file of parts that lie in the order given, each in a segment of its own."""

    parts: list[Part]
    machine: int = X86_64
    type: int = 3
    flags: int = 0
    abi: int = 0
    section_count: int | None = None
    names_index: int | None = None
    first_section: bytes = bytes(64)
    without_sections: bool = False

    def build(self) -> bytes:
        """The file's bytes."""
        loaded = [part for part in self.parts if part.flags & ALLOC and part.type != NOBITS]
        self._place(64 + 56 * sum(1 + (part.type in _SEGMENTS) for part in loaded))
        for part in self.parts:
            part.data = part.fill() if part.fill else part.data
        segments = len(loaded) + sum(part.type in _SEGMENTS for part in loaded)
        names = b"\0" + b"".join(part.name.encode() + b"\0" for part in self.parts) + b".shstrtab\0"
        body, at = bytearray(), 64 + 56 * segments
        for part in self.parts:
            padding = -(at + len(body)) % part.align
            body += bytes(padding)
            body += b"" if part.type == NOBITS else part.data
        names_at = at + len(body)
        body += names
        body += bytes(-(at + len(body)) % 8)
        table_at = at + len(body)
        return self._header(segments, table_at) + self._segments(loaded) + bytes(body) + self._table(names, names_at)

    def _place(self, at: int) -> None:
        for part in self.parts:
            at += -at % part.align
            part.offset = at
            at += 0 if part.type == NOBITS else len(part.data)

    def _header(self, segments: int, table_at: int) -> bytes:
        if self.without_sections:
            table_at = 0
        count = len(self.parts) + 2 if self.section_count is None else self.section_count
        names = len(self.parts) + 1 if self.names_index is None else self.names_index
        ident = b"\x7fELF\x02\x01\x01\0" + bytes([self.abi]) + bytes(7)
        fields = (self.type, self.machine, 1, 0, 64, table_at, self.flags, 64, 56, segments, 64, count, names)
        return ident + struct.pack("<HHIQQQIHHHHHH", *fields)

    def _segments(self, loaded: Sequence[Part]) -> bytes:
        rows = []
        for part in loaded:
            size = len(part.data)
            rows.append(
                struct.pack("<IIQQQQQQ", 1, 5 if part.flags & EXEC else 4, part.offset, part.offset, 0, size, size, 8)
            )
            if part.type in _SEGMENTS:
                rows.append(
                    struct.pack("<IIQQQQQQ", _SEGMENTS[part.type], 6, part.offset, part.offset, 0, size, size, 8)
                )
        return b"".join(rows)

    def _table(self, names: bytes, names_at: int) -> bytes:
        if self.without_sections:
            return b""
        rows = [self.first_section]
        for part in self.parts:
            name = names.index(b"\0" + part.name.encode() + b"\0") + 1
            rows.append(
                struct.pack(
                    "<IIQQQQIIQQ",
                    name,
                    part.type,
                    part.flags,
                    part.offset,
                    part.offset,
                    len(part.data),
                    0,
                    0,
                    part.align,
                    0,
                )
            )
        at = names.index(b"\0.shstrtab\0") + 1
        rows.append(struct.pack("<IIQQQQIIQQ", at, STRTAB, 0, 0, names_at, len(names), 0, 0, 1, 0))
        return b"".join(rows)


def dynamic_parts(
    strings: bytes, entries: Sequence[tuple[int, int]], *, strings_first: bool = True, between: Sequence[Part] = ()
) -> list[Part]:
    """A .dynstr and a .dynamic that points to it, in either order, with other parts between them."""
    table = Part(".dynstr", strings, STRTAB, align=1)

    def fill() -> bytes:
        return b"".join(struct.pack("<QQ", *pair) for pair in (*entries, (5, table.offset), (0, 0)))

    dynamic = Part(".dynamic", fill(), DYNAMIC, fill=fill)
    return [table, *between, dynamic] if strings_first else [dynamic, *between, table]
