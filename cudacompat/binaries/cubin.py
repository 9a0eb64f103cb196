"""Cubins that stand alone: an ELF file of the machine "CUDA" for one target."""

from __future__ import annotations

import re

from cudacompat.binaries.elf import Header, read_sections
from cudacompat.binaries.model import DeviceCode, ReadAt

_TOOL_NOTE = ".note.nv.tkinfo"
_MAX_NOTE = 64 << 10
_TARGET = re.compile(rb"-arch sm_(\d{1,3})([af]?)\b")


def read_cubin(read_at: ReadAt, header: Header) -> DeviceCode:
    """Target and ABI version. The header's flags hold the number: low byte up to ABI 1.7, the next from 1.8 on.

    The suffix is not in the flags: it is taken from the assembler's options, which ptxas of CUDA 12.8 and
    newer writes into a note.
    """
    number = header.flags >> 8 & 0xFF if header.abi >= 8 else header.flags & 0xFF
    suffix = ""
    for section in read_sections(read_at, header):
        if section.name == _TOOL_NOTE:
            match = _TARGET.search(read_at(section.offset, min(section.size, _MAX_NOTE)))
            if match and int(match[1]) == number:
                suffix = match[2].decode()
    return DeviceCode("elf", f"{number}{suffix}", f"1.{header.abi}")
