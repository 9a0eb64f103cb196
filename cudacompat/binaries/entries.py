"""Fat binary headers: what 16 bytes of a region and 64 bytes of an entry say.

A region is a header and entries back to back; an entry is a header and a payload, PTX or machine code for
one target. Headers are never compressed, so nothing here needs a payload. NVIDIA documents the C wrapper
only (fatbinary_section.h); the layout is known by observation and checked against cuobjdump.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from cudacompat.binaries.model import DeviceCode

MAGIC = b"\x50\xed\x55\xba"
REGION_HEADER = 16
ENTRY_HEADER = 64

_REGION = struct.Struct("<4sHHQ")
_ENTRY = struct.Struct("<HHIQ8xHHI8xQ8xQ")
_SUFFIX_A = 0x100000
_SUFFIX_F = 0x200000
_MAX_ARCH = 999
_MAX_REGION_HEADER = 256
_PTX, _ELF, _NVVM = 1, 2, 8
_KINDS = {_PTX: "ptx", _ELF: "elf", _NVVM: "nvvm"}
# Unpacked bytes below which there is no kernel in a cubin up to ABI 1.7, in one from 1.8 on, and in PTX. In
# libraries of CUDA 11.8 to 13.0 the smallest with a kernel have 2088, 2856 and 125 bytes, the largest that an
# empty source file leaves 1256, 2256 and 68.
_SMALLEST_CUBIN = (2048, 2304)
_SMALLEST_PTX = 100


@dataclass(frozen=True, slots=True)
class Region:
    """A region header: bytes from its start to the first entry and to the end."""

    entries: int
    end: int


def read_region(data: bytes) -> Region | None:
    """The region header that ``data`` begins with, None when there is none."""
    if len(data) < REGION_HEADER or not data.startswith(MAGIC):
        return None
    _, version, header, size = _REGION.unpack_from(data)
    if not version or not REGION_HEADER <= header <= _MAX_REGION_HEADER:
        return None
    return Region(header, header + size)


def entry_length(data: bytes, room: int) -> int:
    """Bytes from an entry's start to the next one; 0 when ``data`` is no entry that fits into ``room`` bytes."""
    if len(data) < ENTRY_HEADER:
        return 0
    kind, version, header, size, _, _, arch, _, _ = _ENTRY.unpack_from(data)
    if version >> 8 != 1 or not kind or header < ENTRY_HEADER or header + size > room or arch > _MAX_ARCH:
        return 0
    return int(header + size)


def entry_key(data: bytes) -> bytes:
    """The bytes of an entry header that decide what ``device_code`` makes of it."""
    return data[:2] + data[24:32] + data[40:44] + (b"" if _holds_kernels(data) else b"-")


def device_code(data: bytes) -> DeviceCode:
    """Kind, target and version of an entry. Kinds never met before are named "unknown(N)"."""
    kind, _, _, _, minor, major, arch, flags, _ = _ENTRY.unpack_from(data)
    suffix = "a" if flags & _SUFFIX_A else "f" if flags & _SUFFIX_F else ""
    name = _KINDS.get(kind, f"unknown({kind})")
    return DeviceCode(name, f"{arch}{suffix}", f"{major}.{minor}", _holds_kernels(data))


def _holds_kernels(data: bytes) -> bool:
    kind, _, _, stored, minor, _, _, _, unpacked = _ENTRY.unpack_from(data)
    size = unpacked or stored
    if kind == _ELF:
        return bool(size >= _SMALLEST_CUBIN[minor >= 8])
    return bool(kind != _PTX or size >= _SMALLEST_PTX)
