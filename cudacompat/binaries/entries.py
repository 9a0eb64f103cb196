"""Fat binary headers: what 16 bytes of a region and 64 bytes of an entry say.

A region is a header and entries back to back; an entry is a header and a payload, PTX or machine code for
one target. Headers are never compressed, so nothing here needs a payload. NVIDIA documents the C wrapper
only (fatbinary_section.h); the layout is known by observation and checked against cuobjdump.
"""

from __future__ import annotations

import struct
from functools import lru_cache

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


def read_region(data: bytes) -> tuple[int, int] | None:
    """Bytes from a region's start to its first entry and to its end; None when ``data`` begins with no region."""
    if len(data) < REGION_HEADER:
        return None
    magic, version, header, size = _REGION.unpack_from(data)
    if magic != MAGIC or not version or not REGION_HEADER <= header <= _MAX_REGION_HEADER:
        return None
    return header, header + size


def read_entry(data: bytes, at: int, room: int) -> tuple[int, DeviceCode] | None:
    """The entry at ``data[at:]``: bytes to the next one, and what it is; None when none fits into ``room`` bytes."""
    if len(data) < at + ENTRY_HEADER:
        return None
    kind, version, header, stored, minor, major, arch, flags, unpacked = _ENTRY.unpack_from(data, at)
    if version >> 8 != 1 or not kind or header < ENTRY_HEADER or header + stored > room or arch > _MAX_ARCH:
        return None
    kernels = _holds_kernels(kind, minor, unpacked or stored)
    return header + stored, _device_code(kind, arch, flags & (_SUFFIX_A | _SUFFIX_F), (major, minor), kernels)


def _holds_kernels(kind: int, minor: int, size: int) -> bool:
    if kind == _ELF:
        return size >= _SMALLEST_CUBIN[minor >= 8]
    return kind != _PTX or size >= _SMALLEST_PTX


@lru_cache(4096)
def _device_code(kind: int, arch: int, flags: int, version: tuple[int, int], kernels: bool) -> DeviceCode:
    suffix = "a" if flags & _SUFFIX_A else "f" if flags & _SUFFIX_F else ""
    name = _KINDS.get(kind, f"unknown({kind})")
    return DeviceCode(name, f"{arch}{suffix}", f"{version[0]}.{version[1]}", kernels)
