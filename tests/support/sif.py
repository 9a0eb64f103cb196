"""SIF files and squashfs images for the tests, made with mksquashfs and a writer of the published layout."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers import need, run

DEFINITION, PARTITION, JSON, OCI_BLOB = 0x4001, 0x4004, 0x4006, 0x400B
SQUASHFS, EXT3, ENCRYPTED = 1, 2, 5
SYSTEM, PRIMARY, DATA, OVERLAY = 1, 2, 3, 4
AMD64, ARM64 = b"02", b"04"
HEADER, DESCRIPTOR = 128, 585
TABLE_AT, DATA_AT = 4096, 32768
ALIGNMENT = 4096


@dataclass(frozen=True, slots=True)
class Part:
    """A data object: its bytes, and for a partition its file system's kind, its own kind and architecture."""

    data: bytes
    type: int = PARTITION
    system: int = SQUASHFS
    kind: int = PRIMARY
    architecture: bytes = AMD64
    name: bytes = b"object"


def squashfs(root: Path, out: Path, *options: str) -> Path:
    """Pack a folder with mksquashfs; ``options`` are its own."""
    need("mksquashfs")
    run("mksquashfs", str(root), str(out), "-noappend", "-quiet", "-no-progress", "-all-root", *options)
    return out


def sif(parts: Sequence[Part], *, version: bytes = b"01", unused: int = 4) -> bytes:
    """A SIF file with these objects in its table, after ``unused`` free places."""
    table, data = b"", b""
    for number, part in enumerate(parts, 1):
        data = data.ljust(-(-len(data) // ALIGNMENT) * ALIGNMENT, b"\0")
        extra = struct.pack("<ii3s", part.system, part.kind, part.architecture) if part.type == PARTITION else b""
        fields = (part.type, True, number, 0xF0000001, 0, DATA_AT + len(data), len(part.data), len(part.data))
        table += struct.pack("<i?IIIqqqqqqq128s384s", *fields, 0, 0, 0, 0, part.name, extra)
        data += part.data
    total = unused + len(parts)
    head = struct.pack(
        "<32s10s3s3s16s8q",
        b"#!/usr/bin/env run-singularity\n",
        b"SIF_MAGIC",
        version,
        AMD64,
        uuid.UUID(int=7).bytes,
        *(0, 0, unused, total, TABLE_AT, total * DESCRIPTOR, DATA_AT, len(data)),
    )
    return head.ljust(TABLE_AT, b"\0") + (bytes(unused * DESCRIPTOR) + table).ljust(DATA_AT - TABLE_AT, b"\0") + data
