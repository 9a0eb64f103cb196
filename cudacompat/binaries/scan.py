"""A whole file: what it is, its device code, the runtime's version in it, what the loader reads of it."""

from __future__ import annotations

from collections.abc import Iterable
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
# Reading a large library's code in place costs more than everything else. One without device code that is
# none of NVIDIA's has no runtime in it.
_MAX_PLAIN_CODE = 16 << 20


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


def scan_stream(pieces: Iterable[bytes | memoryview], size: int | None, nvidia: bool = False) -> Scan | None:
    """Scan a file in one pass. None, after one piece, for files that cannot hold device code.

    ``size`` counts bytes, None when it is not known; ``nvidia`` says that the file's name is one of NVIDIA's.
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
    code = RuntimeSearch(header.machine)
    inventory = walk(reader, streamed_spans(segments), size, code)
    scan = Scan(kind, read_layout(kept.read_at, header), inventory)
    if _may_hold_runtime(scan, nvidia) and scan.layout is not None:
        scan.runtimes = code.versions(scan.layout.code.__contains__)
    return scan


def _keep_ahead(kept: Kept, header: elf.Header) -> None:
    if header.sections_at:
        before = min(_BEFORE_SECTIONS, header.sections_at)
        kept.want(header.sections_at - before, before + header.sections * elf.SECTION_HEADER)
    for segment in elf.read_segments(kept.read_at, header):
        if segment.type == _NOTE:
            kept.want(segment.offset, min(segment.size, _MAX_NOTE))


def scan_file(read_at: ReadAt, size: int, nvidia: bool = False) -> Scan | None:
    """Scan a file that can be read anywhere, without its payloads: the same answer as ``scan_stream``'s."""

    def inside(offset: int, length: int) -> bytes:
        return read_at(offset, min(length, size - offset)) if offset < size else b""

    return _scan_file(inside, size, nvidia)


def _scan_file(read_at: ReadAt, size: int, nvidia: bool) -> Scan | None:
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
    spans: tuple[Span, ...] = _WHOLE
    if layout.sections:
        spans = tuple(Span(low, high, regions=True, code=False) for low, high in layout.data.intervals)
    scan = Scan(kind, layout, walk(reader, spans, size, None))
    if _may_hold_runtime(scan, nvidia):
        code = RuntimeSearch(header.machine)
        walk(reader, [Span(low, high, regions=False, code=True) for low, high in layout.code.intervals], size, code)
        scan.runtimes = code.versions(layout.code.__contains__)
    return scan


def _may_hold_runtime(scan: Scan, nvidia: bool) -> bool:
    """Whether a copy of the runtime is worth looking for. A file that loads libcudart has none of its own."""
    layout = scan.layout
    if layout is None or layout.header.type == elf.RELOCATABLE:
        return False
    if any(name.startswith("libcudart") for name in layout.dynamic.needed):
        return False
    length = sum(end - start for start, end in layout.code.intervals)
    return nvidia or length <= _MAX_PLAIN_CODE or bool(scan.every_code())
