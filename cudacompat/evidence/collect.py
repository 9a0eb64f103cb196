"""One pass over an image's layers: every file to whoever wants it, then the layers laid over each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from cudacompat.evidence import libraries
from cudacompat.evidence.assemble import assemble
from cudacompat.evidence.detectors import Wanted
from cudacompat.evidence.interface import FileDetector, Note, Observation, Value
from cudacompat.evidence.readings import (
    Reading,
    Shelf,
    decode,
    decode_order,
    encode,
    encode_order,
    image_key,
    layer_key,
)
from cudacompat.layers.interface import Content, Entry, LayerBlob, OpenImage
from cudacompat.layers.merge import merge
from cudacompat.layers.record import LayerRecorder
from cudacompat.layers.tar import holds_what_it_says, open_layer
from cudacompat.model import Coverage, ImageFacts, Kernels, SharedLibrary

Depth = Literal["config", "full"]
Progress = Callable[[str], None]
Found = tuple[Observation, ...]

_ELF, _ARCHIVE, _FATBIN = b"\x7fELF", b"!<arch>\n", b"\x50\xed\x55\xba"
_HEAD = 64
_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 190: "cuda", 243: "riscv", 21: "ppc64"}
# An image with PyTorch and all of the libraries of CUDA has some 900 binaries and 200 packages.
_MOST_FINDINGS = 20_000
_NOTE_WEIGHT = 50
_TEXT_WEIGHT = 200


@dataclass(slots=True)
class Tally:
    """What the passes over all layers count on their way."""

    files: int = 0
    kept: int = 0

    def takes(self, path: str, found: Found) -> bool:
        """Whether these findings still fit: an image must not fill the memory with what it makes us find."""
        self.kept += sum(_weight(path, one) for one in found)
        return self.kept <= _MOST_FINDINGS


def collect(
    image: OpenImage, *, depth: Depth = "full", progress: Progress | None = None, shelf: Shelf | None = None
) -> ImageFacts:
    """Everything that an image says about CUDA, with evidence.

    ``depth`` "config" reads no layer. ``shelf`` keeps what was read of a layer for the next time: the facts are
    the same with and without. Raises TargetError when a layer is broken or does not match its digest; a file
    that a detector cannot read becomes a coverage note.
    """
    if depth == "config":
        layers = len(image.config.diff_ids)
        return assemble(image, merge(()), Coverage("config", False, 0, layers, tuple(image.notes)), {})
    readings, listed, kept = _kept_image(image, shelf) or _read_image(image, shelf, progress)
    order = [digest for digest in listed if digest in readings]
    seen = [readings[digest] for digest in dict.fromkeys(order)]
    notes = tuple(dict.fromkeys((*image.notes, *(note for reading in seen for note in reading.notes))))
    if kept > _MOST_FINDINGS:
        notes += (f"there is more to find than {_MOST_FINDINGS} things: the rest was left out",)
    expected = max(len(image.config.diff_ids), len(listed))
    complete = len(order) >= expected and kept <= _MOST_FINDINGS
    coverage = Coverage("full", complete, len(order), expected, notes)
    machines: Counter[str] = Counter()
    for reading in seen:
        machines.update(reading.machines)
    return assemble(image, merge(readings[digest].record for digest in order), coverage, machines)


_Readings = tuple[dict[str, Reading], tuple[str, ...], int]


def _read_image(image: OpenImage, shelf: Shelf | None, progress: Progress | None) -> _Readings:
    """The readings by layer, the layers' order, and the weight of all findings."""
    wanted, tally = Wanted(), Tally()
    readings: dict[str, Reading] = {}
    keys: dict[str, str | None] = {}
    for number, blob in enumerate(image.layers(), start=1):
        if progress is not None:
            progress(f"layer {number}, {blob.digest[7:19]}")
        keys[blob.digest] = layer_key(blob) if shelf is not None else None
        readings[blob.digest] = _reading(blob, wanted, tally, progress, shelf)
    order = image.layer_order()
    if shelf is not None and image.identity is not None:
        shelf.put(image_key(image.identity), encode_order([(digest, keys.get(digest)) for digest in order]))
    return readings, order, tally.kept


def _kept_image(image: OpenImage, shelf: Shelf | None) -> _Readings | None:
    """The same from the shelf, for an image that its source names for good; None unless all layers are there."""
    if shelf is None or image.identity is None or (data := shelf.get(image_key(image.identity))) is None:
        return None
    if (listed := decode_order(data)) is None:
        return None
    readings: dict[str, Reading] = {}
    for digest, key in listed:
        reading = _on_shelf(key, shelf)
        if reading is None or reading.record.digest != digest:
            return None
        readings[digest] = reading
    kept = sum(reading.kept for reading in readings.values())
    return (readings, tuple(digest for digest, _ in listed), kept) if kept <= _MOST_FINDINGS else None


def _on_shelf(key: str, shelf: Shelf) -> Reading | None:
    data = shelf.get(key)
    return None if data is None else decode(data)


def _reading(blob: LayerBlob, wanted: Wanted, tally: Tally, progress: Progress | None, shelf: Shelf | None) -> Reading:
    """One layer's reading, from the shelf where its bytes are sure to be the same."""
    key = layer_key(blob) if shelf is not None else None
    if shelf is None or key is None:
        return _read(blob, wanted, tally, progress)[0]
    known = _on_shelf(key, shelf)
    if known is not None and tally.kept + known.kept <= _MOST_FINDINGS and holds_what_it_says(blob):
        tally.kept += known.kept
        return known
    reading, checked = _read(blob, wanted, tally, progress)
    if checked and tally.kept <= _MOST_FINDINGS:
        shelf.put(key, encode(reading))
    return reading


def _read(blob: LayerBlob, wanted: Wanted, tally: Tally, progress: Progress | None) -> tuple[Reading, bool]:
    """One pass over a layer, and whether all of its bytes were read and match its digest."""
    recorder: LayerRecorder[Found] = LayerRecorder(blob.digest)
    before, machines = tally.kept, Counter[str]()
    walk = open_layer(blob)
    for entry, content in walk:
        recorder.add(entry)
        if entry.kind != "file":
            continue
        tally.files += 1
        if progress is not None and tally.files % 512 == 0:
            progress(f"{tally.files} files read")
        found = tuple(_observations(entry, content, wanted, blob.digest, machines))
        if found and tally.takes(entry.path, found):
            recorder.keep(entry.path, found)
    return Reading(recorder.finish(), tuple(walk.notes), machines, tally.kept - before), walk.checked


def _observations(
    entry: Entry, content: Content, wanted: Wanted, layer: str, machines: Counter[str]
) -> Iterable[Observation]:
    detector = wanted.detector(entry.path)
    if detector is not None:
        return _read_small(detector, entry, content, layer)
    named = list(libraries.by_name(entry.path, entry.size, layer))
    if entry.size < _HEAD:
        return named
    head = content.read(_HEAD)
    if not head.startswith((_ELF, _ARCHIVE, _FATBIN)):
        return named
    if head.startswith(_ELF):
        machines[_MACHINES.get(int.from_bytes(head[18:20], "little"), "other")] += 1
    return [*named, *_read_binary(entry, _Headed(head, content), layer)]


def _weight(path: str, found: Observation) -> int:
    """A finding's share of what is kept, by its texts."""
    return 1 + (len(path) + _length(found)) // _TEXT_WEIGHT + (_NOTE_WEIGHT if isinstance(found, Note) else 0)


def _length(found: Observation) -> int:
    """Characters of the texts that an image can make long."""
    if isinstance(found, (Note, Value)):
        return len(found.text)
    if isinstance(found, SharedLibrary):
        lists = (found.needed, found.rpath, found.runpath)
        return len(found.compat_note or "") + sum(len(text) for texts in lists for text in texts)
    return 8 * (len(found.sass) + len(found.ptx)) if isinstance(found, Kernels) else 0


def _read_small(detector: FileDetector, entry: Entry, content: Content, layer: str) -> Iterable[Observation]:
    if detector.max_size and entry.size > detector.max_size:
        return [Note(f"{entry.path} has {entry.size} bytes, more than {detector.max_size}: it was not read")]
    data = content.read(detector.max_size) if detector.max_size else b""
    try:
        return list(detector.read(entry.path, data, layer))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        return [Note(f"{entry.path} could not be read ({detector.name}: {type(error).__name__})")]


def _read_binary(entry: Entry, content: Content, layer: str) -> list[Observation]:
    from cudacompat.binaries import read_binary

    return list(read_binary(entry.path, content, layer))


class _Headed(Content):
    """A content whose first bytes were read already and come again."""

    def __init__(self, head: bytes, content: Content) -> None:
        self.size = content.size
        self.seekable = content.seekable
        self._head = head
        self._content = content

    def read(self, limit: int = -1) -> bytes:
        if not self._head:
            return self._content.read(limit)
        if limit < 0:
            data, self._head = self._head, b""
            return data + self._content.read()
        data, self._head = self._head[:limit], self._head[limit:]
        return data + (self._content.read(limit - len(data)) if limit > len(data) else b"")

    def chunks(self) -> Iterator[bytes | memoryview]:
        if self._head:
            head, self._head = self._head, b""
            yield head
        yield from self._content.chunks()

    def read_at(self, offset: int, length: int) -> bytes:
        return self._content.read_at(offset, length)
