"""What a scan of a file's bytes yields, before anybody judges it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

# Bytes at (offset, length) of a file: short at its end, empty where a stream did not keep them.
ReadAt = Callable[[int, int], bytes]


class DeviceCode(NamedTuple):
    """One kind of entry: "elf", "ptx", "nvvm" or "unknown(N)"; target "90a"; PTX ISA or cubin ABI version.

    ``kernels`` is False for code too small to hold a kernel: what a source file without one leaves.
    """

    kind: str
    arch: str
    version: str
    kernels: bool = True


class Span(NamedTuple):
    """A range of a file and what to look for in it: fat binaries, the runtime's code, or both."""

    start: int
    end: int
    regions: bool
    code: bool
