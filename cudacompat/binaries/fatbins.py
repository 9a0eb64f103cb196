"""The public reader of device code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from cudacompat.binaries.model import DeviceCode
from cudacompat.binaries.scan import Scan, scan_file, scan_stream
from cudacompat.errors import TargetError
from cudacompat.layers.window import random_access

_PIECE = 1 << 20


def read_fatbins(
    path_or_file: str | os.PathLike[str] | BinaryIO, *, sections: Literal["device", "all"] = "device"
) -> set[tuple[str, str, str]]:
    """The device code in a file: a set of (kind, arch, version).

    ``kind`` is "elf" (machine code), "ptx", "nvvm" (LTO intermediate code) or "unknown(N)" for a kind number
    that is not known; ``arch`` the target without prefix ("80", "90a", "100f"); ``version`` the PTX ISA
    ("8.4"), for machine code the cubin ABI ("1.7"), for "nvvm" its format. The file is an ELF file, a static
    library, a raw .fatbin or .cubin file, or an open binary file, read from where it stands; anything else
    has no device code. No payload is read where the file can seek; a stream is read to its end.

    Libraries may carry device code as plain data and load it themselves (cuFFT, cuSPARSELt). ``sections``
    "device" answers as cuobjdump -all does: .nv_fatbin and __nv_relfatbin, and all data where a file has
    neither. "all" adds every other section that holds data.

    Raises TargetError when the file cannot be read.
    """
    try:
        scan = _scan(path_or_file)
    except OSError as error:
        name = path_or_file if isinstance(path_or_file, (str, os.PathLike)) else "The given file"
        raise TargetError(f"{name} could not be read: {error.strerror or error}.") from error
    if scan is None:
        return set()
    return {(code.kind, code.arch, code.version) for code in _chosen(scan, sections)}


def _chosen(scan: Scan, sections: Literal["device", "all"]) -> frozenset[DeviceCode]:
    return scan.listed_code() if sections == "device" else scan.every_code()


def _scan(path_or_file: str | os.PathLike[str] | BinaryIO) -> Scan | None:
    if isinstance(path_or_file, (str, os.PathLike)):
        with Path(path_or_file).open("rb") as file:
            return _scan_open(file)
    return _scan_open(path_or_file)


def _scan_open(file: BinaryIO) -> Scan | None:
    if file.seekable():
        source = random_access(file)
        return scan_file(source.read_at, source.size)
    return scan_stream(_pieces(file), None)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece
