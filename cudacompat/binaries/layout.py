"""Which parts of an ELF file hold device code, host code, or nothing of interest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from cudacompat.binaries import elf
from cudacompat.binaries.dynamic import Dynamic, read_compat_note, read_dynamic
from cudacompat.binaries.elf import Header, Section, Segment, read_sections, read_segments
from cudacompat.binaries.model import ReadAt, Span
from cudacompat.binaries.ranges import Ranges
from cudacompat.binaries.readers import ENDLESS

EXECUTABLE = ".nv_fatbin"
RELOCATABLE = "__nv_relfatbin"

_PROGBITS = 1
_ALLOC = 2
_EXEC = 4
_UNWINDING = frozenset((".eh_frame", ".eh_frame_hdr", ".gcc_except_table"))


@dataclass(frozen=True)
class Layout:
    """What a file's own tables say. ``sections`` is empty when the file has none or they cannot be read."""

    header: Header
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]
    dynamic: Dynamic
    note: str | None

    @cached_property
    def data(self) -> Ranges:
        """Where a program keeps constants and data, device code among them."""
        return Ranges((section.offset, section.end) for section in self.sections if _holds_data(section))

    @cached_property
    def code(self) -> Ranges:
        """Where host code stands: by the sections, or by the segments where there are none."""
        if self.sections:
            return Ranges((part.offset, part.end) for part in self.sections if _is_code(part))
        return Ranges((part.offset, part.end) for part in self.segments if part.executable)

    @cached_property
    def executable(self) -> Ranges:
        """The section of device code that the runtime registers."""
        return self._called(EXECUTABLE)

    @cached_property
    def relocatable(self) -> Ranges:
        """The section of device code that has still to be linked."""
        return self._called(RELOCATABLE)

    @cached_property
    def pure_code(self) -> Ranges:
        """Segments with nothing but code in them. Older linkers put constants into one with the ELF header."""
        return Ranges((part.offset, part.end) for part in self.segments if part.executable and part.offset)

    @cached_property
    def loaded(self) -> Ranges:
        """What comes into a program's memory, or into a linker's hands."""
        return _loaded(self.header, self.segments)

    def may_hold_regions(self, position: int) -> bool:
        """Whether a region at ``position`` would be one that a program can use."""
        if position not in self.loaded or position in self.pure_code:
            return False
        return not self.sections or position in self.data

    def _called(self, name: str) -> Ranges:
        return Ranges((section.offset, section.end) for section in self.sections if section.name == name)


def _holds_data(section: Section) -> bool:
    if section.name in (EXECUTABLE, RELOCATABLE):
        return True
    plain = section.type == _PROGBITS and section.flags & _ALLOC and not section.flags & _EXEC
    return bool(plain) and section.name not in _UNWINDING


def _is_code(section: Section) -> bool:
    return section.type == _PROGBITS and bool(section.flags & _EXEC)


def read_layout(read_at: ReadAt, header: Header) -> Layout:
    """Read everything that ``read_at`` can give."""
    segments = read_segments(read_at, header)
    sections = read_sections(read_at, header)
    note = read_compat_note(read_at, sections)
    return Layout(header, segments, sections, read_dynamic(read_at, segments), note)


def _loaded(header: Header, segments: Sequence[Segment]) -> Ranges:
    loads = [(part.offset, part.end) for part in segments if part.type == elf.LOAD]
    return Ranges(loads if loads and header.type != elf.RELOCATABLE else [(0, ENDLESS)])


def streamed_spans(header: Header, segments: Sequence[Segment]) -> list[Span]:
    """What to look for in which part of a file whose sections are not known yet; covers all of it.

    Symbol tables and debug information, a tenth of an image, are not loaded and not searched.
    """
    loaded = _loaded(header, segments)
    code = Ranges((part.offset, part.end) for part in segments if part.executable)
    pure = Ranges((part.offset, part.end) for part in segments if part.executable and part.offset)
    borders = sorted(
        {0, ENDLESS, *(border for ranges in (code, pure, loaded) for pair in ranges.intervals for border in pair)}
    )
    borders = [border for border in borders if border <= ENDLESS]
    return [Span(low, high, low in loaded and low not in pure, low in code) for low, high in pairwise(borders)]
