"""Tar headers: one 512-byte block to its fields, and the extended headers that override them."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from cudacompat.errors import TargetError

BLOCK = 512
ZERO_BLOCK = bytes(BLOCK)

# Linux knows no longer path; nothing that is longer could ever have been extracted.
MAX_PATH = 4096

# File systems end far below; offsets computed from anything larger would not fit a system call.
MAX_SIZE = 1 << 60

_OCTAL = re.compile(rb"[0-7]{1,12}")
_PAX_LENGTH = re.compile(rb"([0-9]{1,7}) ")
_BLANK_CHECKSUM = 8 * 0x20


@dataclass(frozen=True, slots=True)
class Header:
    """A member's header as it stands. ``size`` is the stored bytes that follow, ``block`` the raw 512."""

    name: bytes
    size: int
    type: bytes
    linkname: bytes
    block: bytes


def parse_header(block: bytes, where: str) -> Header:
    """The fields of a header block. Raises TargetError when it is none: a wrong checksum, a wrong number."""
    _check_sum(block, where)
    name = block[:100].partition(b"\0")[0]
    # GNU's own format uses the prefix field for other things.
    if block[345] and block[257:263] == b"ustar\0":
        name = block[345:500].partition(b"\0")[0] + b"/" + name
    return Header(
        name,
        number(block[124:136], where),
        block[156:157],
        block[157:257].partition(b"\0")[0],
        block,
    )


def number(field: bytes, where: str) -> int:
    """A numeric field: octal digits, or base 256 where octal would not do. Raises TargetError."""
    if field[0] & 0x80:
        if field[0] != 0x80:
            raise TargetError(f"{where} is broken: a tar header has a negative or oversized number.")
        return int.from_bytes(field[1:], "big")
    digits = field.partition(b"\0")[0].strip()
    if not digits:
        return 0
    # int() alone would take signs, underscores and a 0o in front.
    if not _OCTAL.fullmatch(digits):
        raise TargetError(f"{where} is broken: a tar header has {digits!r} for a number.")
    return int(digits, 8)


def _check_sum(block: bytes, where: str) -> None:
    field = block[148:156].partition(b"\0")[0].strip()
    if _OCTAL.fullmatch(field):
        stated = int(field, 8) - _BLANK_CHECKSUM
        rest = block[:148] + block[156:]
        # Half of an Adler-32 is one more than the sum of the bytes, modulo 65521, ten times as fast as sum().
        if zlib.adler32(rest) & 0xFFFF == (stated + 1) % 65521:
            return
        # Some old writers summed signed bytes.
        if stated == sum(byte - 256 * (byte > 127) for byte in rest):
            return
    raise TargetError(f"{where} is broken: a tar header's checksum is wrong, or it is no tar at all.")


def parse_pax(data: bytes, where: str) -> list[tuple[str, bytes]]:
    """The records of an extended header, in order; keys repeat in old sparse maps. Raises TargetError."""
    records: list[tuple[str, bytes]] = []
    at = 0
    data = data.rstrip(b"\0")  # some writers count the padding in
    while at < len(data):
        match = _PAX_LENGTH.match(data, at)
        end = at + int(match.group(1)) if match else 0
        key, equals, value = data[match.end() if match else at : end].partition(b"=")
        if not equals or not value.endswith(b"\n") or end > len(data):
            raise TargetError(f"{where} is broken: an extended tar header cannot be parsed.")
        records.append((key.decode("utf-8", "replace"), value[:-1]))
        at = end
    return records


def normalise(name: bytes) -> str:
    """A member's name as an absolute path: ".." never leaves the root, doubled slashes and "." vanish.

    Bytes that are no UTF-8 become lone surrogates, as Python's own file functions write them.
    """
    if not (name.startswith((b".", b"/")) or name.endswith(b"/") or b"//" in name or b"/." in name or not name):
        return "/" + name.decode("utf-8", "surrogateescape")
    parts: list[str] = []
    for part in name.decode("utf-8", "surrogateescape").split("/"):
        if part in {"", "."}:
            continue
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
    return "/" + "/".join(parts)
