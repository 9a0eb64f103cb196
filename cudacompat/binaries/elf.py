"""ELF files: what decides about loading them and where their sections lie.

Everything goes through ``read_at(offset, length)``, which may come back short or empty: a file that breaks
off, lies about its sizes, or a stream whose bytes are not at hand yet. What cannot be read is left out.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from cudacompat.binaries.model import ReadAt

MAGIC = b"\x7fELF"
HEADER = 64
CUBIN = 190
RELOCATABLE = 1
LOAD = 1
SECTION_HEADER = 64
MAX_SECTIONS = 1 << 16

_MACHINES = {
    3: "i386",
    8: "mips",
    20: "ppc",
    21: "ppc64",
    22: "s390",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    CUBIN: "cuda",
    243: "riscv",
    258: "loongarch",
}
_PROGRAM_HEADER = 56
_MAX_SEGMENTS = 4096
_MAX_NAMES = 4 << 20
_SECTION = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True, slots=True)
class Header:
    """The ELF header. The tables are empty for 32-bit and big-endian files: only ``machine`` is read there."""

    machine: int
    type: int
    abi: int
    flags: int
    segments_at: int
    segments: int
    sections_at: int
    sections: int
    names: int

    @property
    def machine_name(self) -> str:
        """ "x86_64", "aarch64", another machine's name, or "machine-N"."""
        return _MACHINES.get(self.machine, f"machine-{self.machine}")


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header: offsets and sizes in the file, the address it is mapped to."""

    type: int
    flags: int
    offset: int
    address: int
    size: int

    @property
    def end(self) -> int:
        """Where it ends in the file."""
        return self.offset + self.size

    @property
    def executable(self) -> bool:
        """Whether it is loaded as code."""
        return self.type == LOAD and bool(self.flags & 1)


@dataclass(frozen=True, slots=True)
class Section:
    """A section that takes up room in the file."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    align: int

    @property
    def end(self) -> int:
        """Where it ends in the file."""
        return self.offset + self.size


def read_header(data: bytes) -> Header | None:
    """The ELF header that ``data`` begins with, None when there is none."""
    if len(data) < 20 or not data.startswith(MAGIC):
        return None
    if data[4:6] != b"\x02\x01" or len(data) < HEADER:
        kind, machine = struct.unpack_from(">HH" if data[5] == 2 else "<HH", data, 16)
        return Header(machine, kind, data[8], 0, 0, 0, 0, 0, 0)
    kind, machine, _, _, phoff, shoff, flags, _, phsize, phnum, shsize, shnum, names = struct.unpack_from(
        "<HHIQQQIHHHHHH", data, 16
    )
    if phsize != _PROGRAM_HEADER:
        phoff = phnum = 0
    if shsize != SECTION_HEADER:
        shoff = shnum = 0
    return Header(machine, kind, data[8], flags, phoff, min(phnum, _MAX_SEGMENTS), shoff, shnum, names)


def read_segments(read_at: ReadAt, header: Header) -> tuple[Segment, ...]:
    """The program headers; as many as are there."""
    if not header.segments:
        return ()
    data = read_at(header.segments_at, header.segments * _PROGRAM_HEADER)
    data = data[: len(data) - len(data) % _PROGRAM_HEADER]
    return tuple(
        Segment(kind, flags, offset, address, size)
        for kind, flags, offset, address, _, size, _, _ in struct.iter_unpack("<IIQQQQQQ", data)
    )


def read_sections(read_at: ReadAt, header: Header) -> tuple[Section, ...]:
    """The sections with bytes in the file. None at all when the table is missing, cut off or absurdly long."""
    if not header.sections_at:
        return ()
    count, names = header.sections, header.names
    if not count or names == 0xFFFF:
        first = read_at(header.sections_at, SECTION_HEADER)
        if len(first) < SECTION_HEADER:
            return ()
        _, _, _, _, _, long_count, long_names, _, _, _ = _SECTION.unpack(first)
        count = count or long_count
        names = long_names if names == 0xFFFF else names
    if not names < count <= MAX_SECTIONS:
        return ()
    table = read_at(header.sections_at, count * SECTION_HEADER)
    if len(table) < count * SECTION_HEADER:
        return ()
    _, _, _, _, offset, size, _, _, _, _ = _SECTION.unpack_from(table, names * SECTION_HEADER)
    return _named(table, read_at(offset, min(size, _MAX_NAMES)))


def _named(table: bytes, names: bytes) -> tuple[Section, ...]:
    nobits = 8
    return tuple(
        Section(text_at(names, name), kind, flags, offset, size, align)
        for name, kind, flags, _, offset, size, _, _, align, _ in _SECTION.iter_unpack(table)
        if kind not in (0, nobits) and size
    )


def text_at(table: bytes, offset: int, limit: int = 4096) -> str:
    """The text at an offset of a string table; empty when it lies outside or does not end in time."""
    end = table.find(b"\0", offset, offset + limit)
    return table[offset:end].decode("utf-8", "surrogateescape") if 0 <= offset <= end else ""
