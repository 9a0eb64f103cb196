"""A whole file: what it is, its device code, the runtime's version in it, what the loader reads of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cudacompat.binaries import elf
from cudacompat.binaries.cubin import read_cubin
from cudacompat.binaries.entries import MAGIC
from cudacompat.binaries.kept import Kept
from cudacompat.binaries.layout import Layout, read_layout, streamed_spans
from cudacompat.binaries.model import DeviceCode, ReadAt, Span
from cudacompat.binaries.readers import ENDLESS, SeekReader, StreamReader
from cudacompat.binaries.regions import Inventory, walk
from cudacompat.binaries.runtime import RuntimeSearch

FileKind = Literal["elf", "cubin", "archive", "fatbin"]

_AR = b"!<arch>\n"
_WHOLE = (Span(0, ENDLESS, regions=True, code=False),)
_NOTE = 4
_MAX_NOTE = 64 << 10
# Section names stand right before the section table, which is the last thing in a file.
_BEFORE_SECTIONS = 64 << 10
# Reading a large library's code costs more than everything else. Linkers put what comes out of static
# libraries behind a program's own code: in NVIDIA's libraries the runtime stands in the last 1.5 MB, but for one.
_LAST_CODE = 4 << 20


@dataclass(slots=True)
class Scan:
    """One file's content. ``layout`` is there for ELF files other than cubins."""

    kind: FileKind
    layout: Layout | None = None
    inventory: Inventory = field(default_factory=Inventory)
    cubin: DeviceCode | None = None
    runtimes: tuple[str, ...] = ()

    def every_code(self) -> frozenset[DeviceCode]:
        """All device code, wherever it stands."""
        if self.cubin is not None:
            return frozenset((self.cubin,))
        layout = self.layout
        return self.inventory.codes() if layout is None else self.inventory.codes(layout.may_hold_regions)

    def listed_code(self) -> frozenset[DeviceCode]:
        """The device code in the sections made for it, as cuobjdump lists it; all where there are none."""
        layout = self.layout
        if layout is None or not (layout.executable or layout.relocatable):
            return self.every_code()
        return self.inventory.codes(lambda at: at in layout.executable or at in layout.relocatable)

    def relocatable_only(self) -> bool:
        """Whether all device code still has to be linked."""
        layout = self.layout
        if layout is None or not layout.relocatable:
            return False
        return not self.inventory.codes(lambda at: layout.may_hold_regions(at) and at not in layout.relocatable)


def file_kind(head: bytes) -> FileKind | None:
    """What a file is by its first bytes; None for all that cannot hold device code."""
    if head.startswith(elf.MAGIC):
        header = elf.read_header(head)
        return "cubin" if header is not None and header.machine == elf.CUBIN else "elf" if header else None
    if head.startswith(_AR):
        return "archive"
    return "fatbin" if head.startswith(MAGIC) else None


def scan_stream(pieces: Iterable[bytes | memoryview], size: int | None, reach: int = 0) -> Scan | None:
    """Scan a file in one pass. None, after one piece, for files that cannot hold device code.

    ``size`` counts bytes, None when it is not known; in the last ``reach`` bytes of its code copies of the
    runtime are looked for.
    """
    kept = Kept()
    reader = StreamReader(pieces, kept.feed)
    head = reader.read_at(0, elf.HEADER)
    kind = file_kind(head)
    if kind is None:
        return None
    header = elf.read_header(head)
    if kind != "elf" or header is None:
        inventory = walk(reader, _WHOLE, size, None)
        return Scan(kind, None, inventory, read_cubin(kept.read_at, header) if header else None)
    kept.follow(lambda read_at: read_layout(read_at, header))
    _keep_ahead(kept, header)
    segments = elf.read_segments(kept.read_at, header)
    code = RuntimeSearch(header.machine, _first_code(segments, reach))
    inventory = walk(reader, streamed_spans(header, segments), size, code)
    layout = read_layout(kept.read_at, header)
    runtimes = _runtimes(code, layout) if _may_hold_runtime(layout) else ()
    return Scan(kind, layout, inventory, runtimes=runtimes)


def _keep_ahead(kept: Kept, header: elf.Header) -> None:
    if header.sections_at:
        before = min(_BEFORE_SECTIONS, header.sections_at)
        kept.want(header.sections_at - before, before + header.sections * elf.SECTION_HEADER)
    for segment in elf.read_segments(kept.read_at, header):
        if segment.type == _NOTE:
            kept.want(segment.offset, min(segment.size, _MAX_NOTE))
        elif segment.executable and segment.offset:
            kept.end_head(segment.offset)


def scan_file(read_at: ReadAt, size: int, reach: int = 0) -> Scan | None:
    """Scan a file that can be read anywhere, without its payloads: the same answer as ``scan_stream``'s."""

    def inside(offset: int, length: int) -> bytes:
        return read_at(offset, min(length, size - offset)) if offset < size else b""

    return _scan_file(inside, size, reach)


def _scan_file(read_at: ReadAt, size: int, reach: int) -> Scan | None:
    head = read_at(0, elf.HEADER)
    kind = file_kind(head)
    if kind is None:
        return None
    reader = SeekReader(read_at, size)
    header = elf.read_header(head)
    if kind != "elf" or header is None:
        cubin = read_cubin(read_at, header) if header else None
        return Scan(kind, None, walk(reader, _WHOLE if header is None else (), size, None), cubin)
    layout = read_layout(read_at, header)
    places = layout.data if layout.sections else layout.loaded
    spans = [Span(low, high, regions=True, code=False) for low, high in places.intervals]
    inventory = walk(reader, spans, size, None)
    runtimes = _runtimes_in_place(reader, layout, size, reach) if _may_hold_runtime(layout) else ()
    return Scan(kind, layout, inventory, runtimes=runtimes)


def _may_hold_runtime(layout: Layout) -> bool:
    """Whether a copy of the runtime is worth looking for. A file that loads libcudart has none of its own."""
    loads_it = any(name.startswith("libcudart") for name in layout.dynamic.needed)
    return layout.header.type != elf.RELOCATABLE and not loads_it


def _first_code(segments: Sequence[elf.Segment], reach: int) -> int:
    """Where the search for the runtime begins: by the segments, which a stream knows before the code comes."""
    end = max((part.end for part in segments if part.executable), default=0)
    return max(0, end - reach)


def _last_code(layout: Layout) -> int:
    return layout.code.intervals[-1][1] - _LAST_CODE if layout.code else 0


def _runtimes(code: RuntimeSearch, layout: Layout) -> tuple[str, ...]:
    """The runtimes near the code's end, or else those anywhere in it."""
    inside = layout.code.__contains__
    return code.versions(inside, _last_code(layout)) or code.versions(inside)


def _runtimes_in_place(reader: SeekReader, layout: Layout, size: int, reach: int) -> tuple[str, ...]:
    first = _first_code(layout.segments, reach)
    for start in dict.fromkeys((max(first, _last_code(layout)), first)):
        code = RuntimeSearch(layout.header.machine, start)
        spans = [Span(max(low, start), high, False, True) for low, high in layout.code.intervals if high > start]
        walk(reader, spans, size, code)
        if found := _runtimes(code, layout):
            return found
    return ()
