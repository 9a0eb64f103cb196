"""The CUDA runtime's version in its machine code.

cudart keeps its version nowhere as text and pip's file name says the major version only, but two functions
store it through a pointer: version = major * 1000 + minor * 10.

- x86-64: ``C7 07 imm32``, movl $version,(%rdi). Seen twice in libcudart.so of 11.8, 12.0, 12.4, 12.6, 12.8,
  12.9, 13.0, 13.2 and 13.5.
- aarch64: movz w2, #version; movz w0, #0; str w2, [x1]; ret. Seen twice in libcudart.so of 11.8, 12.3 to
  12.6, 12.8, 12.9 and 13.0 to 13.5. Loads of a version alone are everywhere in it: all four belong together.

Other libraries' version functions have the same shape, and by chance a toolkit's number (cuFFT: 12000), but
once. So a version counts when it is there twice and names a known toolkit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

X86_64 = 62
AARCH64 = 183
_OVERLAP = 15
_MAX_HITS = 4096
_MAX_TRIES = 200_000

_MOV_IMM_TO_RDI = re.compile(rb"\xc7\x07(.[\x20-\x4f])\x00\x00", re.DOTALL)
_STORE_AND_RETURN = re.compile(rb"\x00\x00\x80\x52\x22\x00\x00\xb9\xc0\x03\x5f\xd6")

Finder = Callable[[bytes, int, int], Iterator[tuple[int, int]]]


def _x86_64(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
    for match in _MOV_IMM_TO_RDI.finditer(data, start, stop):
        yield match.start(), int.from_bytes(match[1], "little")


def _aarch64(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
    for match in _STORE_AND_RETURN.finditer(data, start + 4, stop):
        at = match.start() - 4
        word = int.from_bytes(data[at : at + 4], "little")
        yield at, (word >> 5) & 0xFFFF if word & 0xFFE0001F == 0x52800002 else 0


_FINDERS: dict[int, Finder] = {X86_64: _x86_64, AARCH64: _aarch64}


@cache
def known_versions() -> frozenset[int]:
    """Every toolkit release of the tables, as the runtime writes its version."""
    from cudacompat.tables import cuda_pair, releases

    return frozenset(major * 1000 + minor * 10 for major, minor in (cuda_pair(known.cuda) for known in releases()))


class RuntimeSearch:
    """Collects places where a known version is stored. Feed it a file's bytes in ascending order.

    ``machine`` is the ELF machine; for others than x86-64 and aarch64 nothing is found. What lies before
    the offset ``first`` is not looked at.
    """

    def __init__(self, machine: int, first: int = 0) -> None:
        self._first = first
        self._hits: dict[int, int] = {}
        self._known = known_versions()
        self._finder = _FINDERS.get(machine)
        self._tries = _MAX_TRIES
        self._tail = b""
        self._end = -1

    def feed(self, data: bytes, start: int, stop: int, base: int) -> None:
        """Search ``data[start:stop]``; ``base`` is where ``data`` begins in the file."""
        start = max(start, self._first - base)
        if self._finder is None or start >= stop:
            return
        before = self._tail if base + start == self._end else b""
        if before:
            joined = before + data[start : min(stop, start + _OVERLAP)]
            self._take(joined, 0, len(joined), self._end - len(before))
        self._take(data, start, stop, base)
        self._tail = (before + data[max(start, stop - _OVERLAP) : stop])[-_OVERLAP:]
        self._end = base + stop

    def _take(self, data: bytes, start: int, stop: int, base: int) -> None:
        if self._finder is None:
            return
        for at, value in self._finder(data, start, stop):
            self._tries -= 1
            if value in self._known:
                self._hits[base + at] = value
            if self._tries < 0 or len(self._hits) >= _MAX_HITS:
                self._finder = None
                return

    def versions(self, inside: Callable[[int], bool], first: int = 0) -> tuple[str, ...]:
        """The versions ("12.4") stored at least twice from ``first`` on where ``inside`` accepts it, newest first."""
        counts = Counter(value for at, value in self._hits.items() if at >= first and inside(at))
        found = sorted((value for value, count in counts.items() if count >= 2), reverse=True)
        return tuple(f"{value // 1000}.{value % 1000 // 10}" for value in found)
