"""What the dynamic loader reads in a library, and NVIDIA's note on forward compatibility."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cudacompat.binaries.elf import Section, Segment
from cudacompat.binaries.model import ReadAt

NOTE_SECTION = ".note.cuda.fwd_compatibility"

_OWNER = b"NVIDIA Corporation"
_NOTE = 7
_DYNAMIC = 2
_LOAD = 1
_MAX_DYNAMIC = 64 << 10
_MAX_TEXT = 4096
_MAX_STRINGS = 1024
_MAX_TOGETHER = 1 << 20
_MAX_NOTE = 64 << 10
_NEEDED, _STRTAB, _SONAME, _RPATH, _RUNPATH = 1, 5, 14, 15, 29


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A library's names for the loader. Paths are split at ":" and kept as written ("$ORIGIN/../lib")."""

    soname: str | None = None
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def read_dynamic(read_at: ReadAt, segments: Sequence[Segment]) -> Dynamic:
    """The dynamic section by the program headers, as the loader finds it; empty when there is none."""
    place = next((segment for segment in segments if segment.type == _DYNAMIC), None)
    if place is None:
        return Dynamic()
    data = read_at(place.offset, min(place.size, _MAX_DYNAMIC))
    entries = list(_entries(data))
    strings = next((_file_offset(value, segments) for tag, value in entries if tag == _STRTAB), None)
    if strings is None:
        return Dynamic()
    offsets = [value for tag, value in entries if tag in (_NEEDED, _SONAME, _RPATH, _RUNPATH)][:_MAX_STRINGS]
    texts = _texts(read_at, strings, offsets)

    def of(wanted: int) -> tuple[str, ...]:
        found = (texts.get(value, "") for tag, value in entries if tag == wanted)
        return tuple(text for text in found if text)

    soname = of(_SONAME)
    return Dynamic(soname[0] if soname else None, of(_NEEDED), _paths(of(_RPATH)), _paths(of(_RUNPATH)))


def _entries(data: bytes) -> Iterator[tuple[int, int]]:
    for tag, value in struct.iter_unpack("<QQ", data[: len(data) - len(data) % 16]):
        if not tag:
            return
        yield tag, value


def _file_offset(address: int, segments: Sequence[Segment]) -> int | None:
    for segment in segments:
        if segment.type == _LOAD and segment.address <= address < segment.address + segment.size:
            return segment.offset + address - segment.address
    return None


def _texts(read_at: ReadAt, base: int, offsets: Sequence[int]) -> dict[int, str]:
    """The strings at ``offsets`` from ``base``; read together where they lie close together."""
    if not offsets:
        return {}
    low, high = min(offsets), max(offsets)
    if high - low <= _MAX_TOGETHER:
        table = read_at(base + low, high - low + _MAX_TEXT)
        return {offset: _text(table[offset - low :][:_MAX_TEXT]) for offset in offsets}
    return {offset: _text(read_at(base + offset, _MAX_TEXT)) for offset in offsets}


def _text(data: bytes) -> str:
    text, end, _ = data.partition(b"\0")
    return text.decode("utf-8", "surrogateescape") if end else ""


def _paths(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(path for value in values for path in value.split(":") if path)


def read_compat_note(read_at: ReadAt, sections: Sequence[Section]) -> str | None:
    """The JSON text of NVIDIA's forward compatibility note, None when there is none that can be read.

    It is known by its section's name and its owner's. The container toolkit pads the owner's name to the
    section's alignment, the ELF specification pads name and header together: with an alignment of 8 they
    disagree on where the text begins, so the place that holds a JSON object counts.
    """
    for section in sections:
        if section.name == NOTE_SECTION and section.type == _NOTE:
            return _note_text(read_at(section.offset, min(section.size, _MAX_NOTE)), section.align)
    return None


def _note_text(data: bytes, align: int) -> str | None:
    if len(data) < 12:
        return None
    name_size, text_size, _ = struct.unpack_from("<III", data)
    if data[12 : 12 + name_size].rstrip(b"\0") != _OWNER:
        return None
    for start in (12 + _up(name_size, align), _up(12 + name_size, align), 12 + _up(name_size, 4)):
        text = data[start : start + text_size].strip(b"\0")
        if _is_object(text):
            return text.decode()
    return None


def _up(size: int, align: int) -> int:
    return size + -size % align if align in (4, 8) else size


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
