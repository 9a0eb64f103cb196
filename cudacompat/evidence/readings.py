"""What one pass over a layer yields, and its form for keeping between runs."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol, get_args, get_origin, get_type_hints

from cudacompat._version import __version__
from cudacompat.evidence.interface import Note, Observation, Value
from cudacompat.layers.interface import LayerBlob
from cudacompat.layers.record import LayerRecord, PathSet
from cudacompat.model import Component, Evidence, Kernels, SharedLibrary
from cudacompat.model.image import Ptx

Found = tuple[Observation, ...]

_KINDS: Mapping[str, type[Any]] = {
    kind.__name__: kind for kind in (Component, SharedLibrary, Kernels, Evidence, Note, Value)
}
_HINTS: Mapping[type[Any], Mapping[str, Any]] = {kind: get_type_hints(kind) for kind in (*_KINDS.values(), Ptx)}
# The rooms whose code decides what a reading holds.
_READERS = ("binaries", "evidence", "layers", "model")


class Shelf(Protocol):
    """Keeps bytes by key from one run to the next, or forgets them."""

    def get(self, key: str) -> bytes | None:
        """What was put there, None when it is gone."""

    def put(self, key: str, data: bytes) -> None:
        """Keep it, if that is possible."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One layer, read. ``kept`` is the weight of its findings, ``machines`` counts its ELF files by machine."""

    record: LayerRecord[Found]
    notes: tuple[str, ...]
    machines: Mapping[str, int]
    kept: int


def layer_key(blob: LayerBlob) -> str | None:
    """What names a layer's reading for good: its digests and the code that reads; None without a digest.

    What a manifest says beside the digests, rightly or not, is a part of it: notes and errors follow from that.
    """
    if blob.content_digest is None and blob.diff_id is None:
        return None
    stated = (blob.digest, blob.content_digest, blob.diff_id, blob.media_type, blob.size)
    return f"layer {json.dumps(stated)} {edition()}"


def image_key(identity: str) -> str:
    """What names the list of an image's layers for good."""
    return f"image {identity} {edition()}"


@lru_cache(maxsize=1)
def edition() -> str:
    """Changes with everything that decides what a reading holds: code, and the releases of the runtime."""
    from cudacompat.tables import releases

    told = hashlib.sha256(f"{__version__} {releases()}".encode())
    package = Path(__file__).parent.parent
    for room in _READERS:
        for file in sorted((package / room).glob("*.py")):
            told.update(file.read_bytes())
    return told.hexdigest()


def encode(reading: Reading) -> bytes:
    """A reading as JSON."""
    record = reading.record
    document = {
        "digest": record.digest,
        "items": {path: [_kept(found) for found in payload] for path, payload in record.items.items()},
        "whiteouts": sorted(record.whiteouts),
        "opaque": sorted(record.opaque),
        "links": record.links,
        "hardlinks": record.hardlinks,
        "files": _packed(record.files),
        "folders": _packed(record.folders),
        "notes": reading.notes,
        "machines": dict(reading.machines),
        "kept": reading.kept,
    }
    return json.dumps(document).encode()


def decode(data: bytes) -> Reading | None:
    """The reading that ``encode`` wrote; None for anything else."""
    try:
        document = json.loads(data)
        record = LayerRecord(
            _text(document["digest"]),
            {_text(path): tuple(map(_revived, payload)) for path, payload in document["items"].items()},
            frozenset(map(_text, document["whiteouts"])),
            frozenset(map(_text, document["opaque"])),
            {_text(path): _text(target) for path, target in document["links"].items()},
            {_text(path): _text(target) for path, target in document["hardlinks"].items()},
            _unpacked(document["files"]),
            _unpacked(document["folders"]),
        )
        machines = {_text(name): int(count) for name, count in document["machines"].items()}
        return Reading(record, tuple(map(_text, document["notes"])), machines, int(document["kept"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def encode_order(layers: Sequence[tuple[str, str | None]]) -> bytes:
    """An image's layers, lowest first, each with the key of its reading, as JSON."""
    return json.dumps(layers).encode()


def decode_order(data: bytes) -> list[tuple[str, str]] | None:
    """The layers that ``encode_order`` wrote; None for anything else, and where one has no key."""
    try:
        return [(_text(digest), _text(key)) for digest, key in json.loads(data)]
    except (ValueError, TypeError, RecursionError):
        return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _kept(found: Observation) -> dict[str, object]:
    return {"is": type(found).__name__, **asdict(found)}


def _revived(document: dict[str, Any]) -> Observation:
    kind = _KINDS[document.pop("is")]
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
    }
    if kind is Component:
        fields["evidence"] = _made(Evidence, fields["evidence"])
    if kind is Kernels:
        fields["ptx"] = tuple(_made(Ptx, ptx) for ptx in fields["ptx"])
    found: Observation = _made(kind, fields)
    return found


def _made(kind: type[Any], fields: Mapping[str, Any]) -> Any:
    """An object of the model, every field of the declared type. Raises TypeError."""
    found = kind(**fields)
    if not all(_fits(getattr(found, name), hint) for name, hint in _HINTS[kind].items()):
        raise TypeError(f"no {kind.__name__}")
    return found


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of the type that a field of the model is declared with."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, inner[0]) for item in value)
    if origin is Literal:
        return value in inner
    return any(_fits(value, one) for one in inner) if inner else type(value) is hint


def _packed(paths: PathSet) -> str:
    return base64.b64encode(_little(paths.hashes).tobytes()).decode()


def _unpacked(text: str) -> PathSet:
    hashes = array("Q")
    hashes.frombytes(base64.b64decode(text, validate=True))
    return PathSet(_little(hashes))


def _little(hashes: array[int]) -> array[int]:
    """The same numbers in the byte order of files, and back."""
    if sys.byteorder == "little":
        return hashes
    swapped = hashes[:]
    swapped.byteswap()
    return swapped
