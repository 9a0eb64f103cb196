"""The walk over a file's fat binary regions: headers only, payloads skipped by their size."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cudacompat.binaries.entries import ENTRY_HEADER, MAGIC, REGION_HEADER, read_entry, read_region
from cudacompat.binaries.model import DeviceCode, Span
from cudacompat.binaries.readers import Reader
from cudacompat.binaries.runtime import RuntimeSearch

# The largest library seen has 24,000 entries and 25 different ones.
_MAX_HEADERS = 500_000
_MAX_DIFFERENT = 4096
_MAX_PLACES = 100_000


class Inventory:
    """The device code of a file: which, and where it stands.

    ``complete`` is False when the file has more than a scan is willing to look at; what was found until
    then is kept.
    """

    def __init__(self) -> None:
        self.complete = True
        self._headers = 0
        self._different: set[DeviceCode] = set()
        self._places: list[tuple[int, frozenset[DeviceCode]]] = []
        self._same: dict[frozenset[DeviceCode], frozenset[DeviceCode]] = {}

    def add(self, start: int, codes: set[DeviceCode], headers: int) -> None:
        """A region's start, the code in it, and how many headers were read for it."""
        self._headers += headers
        if codes:
            frozen = frozenset(codes)
            kept = self._same.get(frozen)
            if kept is None:
                kept = self._same[frozen] = frozen
                self._different |= frozen
            self._places.append((start, kept))
        if (
            self._headers >= _MAX_HEADERS
            or len(self._different) >= _MAX_DIFFERENT
            or len(self._same) >= _MAX_DIFFERENT
            or len(self._places) >= _MAX_PLACES
        ):
            self.complete = False

    def codes(self, inside: Callable[[int], bool] = lambda _: True) -> frozenset[DeviceCode]:
        """The code of all regions that start where ``inside`` accepts it."""
        found: set[DeviceCode] = set()
        for start, codes in self._places:
            if not codes <= found and inside(start):
                found |= codes
        return frozenset(found)


def walk(reader: Reader, spans: Iterable[Span], size: int | None, code: RuntimeSearch | None) -> Inventory:
    """Everything in ``spans``, which ascend. ``size`` is the file's, None when a stream does not tell.

    A region is taken for a chance hit when it is longer than the rest of the file or does not begin with an
    entry; where it breaks off later, the search goes on from there.
    """
    inventory = Inventory()
    at = 0
    for span in spans:
        at = max(at, span.start)
        text = code if span.code else None
        while inventory.complete and at < span.end:
            hit = reader.find(at, span.end, span.regions, text)
            if hit < 0:
                break
            at = _region(reader, hit, size, inventory)
    return inventory


def _region(reader: Reader, start: int, size: int | None, inventory: Inventory) -> int:
    """Where the region at ``start`` ends or breaks off; four bytes on when it is a chance hit."""
    data = reader.read_at(start, REGION_HEADER + ENTRY_HEADER)
    region = read_region(data)
    if region is None or (size is not None and start + region[1] > size):
        inventory.add(start, set(), 1)
        return start + len(MAGIC)
    offset, length = region
    at, end = start + offset, start + length
    codes: set[DeviceCode] = set()
    headers = 1
    while at < end and headers < _MAX_HEADERS and len(codes) < _MAX_DIFFERENT:
        if offset + ENTRY_HEADER > len(data):
            data, offset = reader.read_at(at, ENTRY_HEADER), 0
        entry = read_entry(data, offset, end - at)
        if entry is None:
            break
        length, code = entry
        codes.add(code)
        headers += 1
        at += length
        offset += length
    inventory.add(start, codes, headers)
    return at if codes or at >= end else start + len(MAGIC)
