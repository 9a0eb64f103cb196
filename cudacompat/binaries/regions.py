"""The walk over a file's fat binary regions: headers only, payloads skipped by their size."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cudacompat.binaries.entries import (
    ENTRY_HEADER,
    REGION_HEADER,
    device_code,
    entry_key,
    entry_length,
    read_region,
)
from cudacompat.binaries.model import DeviceCode, Span
from cudacompat.binaries.readers import Reader
from cudacompat.binaries.runtime import RuntimeSearch

# The largest library seen has 24,000 entries and 25 different ones.
_MAX_HEADERS = 500_000
_MAX_DIFFERENT = 4096
_MAX_PLACES = 100_000
_MAX_FALSE = 100_000


class Inventory:
    """The device code of a file: which, and where it stands.

    ``complete`` is False when the file has more than a scan is willing to look at; what was found until
    then is kept.
    """

    def __init__(self) -> None:
        self.complete = True
        self._codes: dict[bytes, DeviceCode] = {}
        self._places: list[tuple[int, frozenset[DeviceCode]]] = []
        self._same: dict[frozenset[DeviceCode], frozenset[DeviceCode]] = {}
        self._headers = 0

    def count(self) -> None:
        """One more header was read."""
        self._headers += 1
        if self._headers >= _MAX_HEADERS:
            self.complete = False

    def code(self, header: bytes) -> DeviceCode:
        """What an entry header says; each different one is decoded once."""
        self.count()
        key = entry_key(header)
        found = self._codes.get(key)
        if found is None:
            found = self._codes[key] = device_code(header)
            self.complete = self.complete and len(self._codes) < _MAX_DIFFERENT
        return found

    def add(self, start: int, codes: set[DeviceCode]) -> None:
        """A region's start and the code in it."""
        if not codes:
            return
        frozen = frozenset(codes)
        self._places.append((start, self._same.setdefault(frozen, frozen)))
        if len(self._places) >= _MAX_PLACES:
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
    false_hits = 0
    at = 0
    for span in spans:
        at = max(at, span.start)
        text = code if span.code else None
        while inventory.complete and at < span.end:
            hit = reader.find(at, span.end, span.regions, text)
            if hit < 0:
                break
            at = _follow(reader, hit, size, inventory)
            if at == hit + 4:
                false_hits += 1
                inventory.complete = false_hits < _MAX_FALSE
    return inventory


def _follow(reader: Reader, start: int, size: int | None, inventory: Inventory) -> int:
    """Where to go on behind the regions that stand back to back from ``start`` on; start + 4 for a chance hit."""
    at = start
    while inventory.complete:
        after = _region(reader, at, size, inventory)
        if after < 0:
            return at if at > start else start + 4
        at = after
    return at


def _region(reader: Reader, start: int, size: int | None, inventory: Inventory) -> int:
    """Where the region at ``start`` ends or breaks off, -1 when there is none."""
    region = read_region(reader.read_at(start, REGION_HEADER))
    if region is None or (size is not None and start + region.end > size):
        return -1
    inventory.count()
    at = start + region.entries
    end = start + region.end
    codes: set[DeviceCode] = set()
    while at < end and inventory.complete:
        header = reader.read_at(at, ENTRY_HEADER)
        length = entry_length(header, end - at)
        if not length:
            break
        codes.add(inventory.code(header))
        at += length
    if not codes and at < end:
        return -1
    inventory.add(start, codes)
    return at
