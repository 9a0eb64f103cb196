"""The forward compatibility note of a compat libcuda, read as the container toolkit's Go code reads it.

Source: NVIDIA/nvidia-container-toolkit cmd/nvidia-cdi-hook/cudacompat/cuda-elf-header.go (encoding/json into a
struct): keys in any case, the last of equal keys counts, null is an empty list, and one value of a wrong type
spoils the whole note.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class CompatNote:
    """What the note says: its CUDA version ("12.9", or "" without one) and the host driver branches it accepts."""

    cuda: str
    driver: tuple[int, ...]


class _Object(tuple[tuple[str, Any], ...]):
    """A JSON object with its order and duplicates, which a dict would lose."""


def read_note(text: str | None) -> CompatNote | None:
    """The note, or None where there is none or upstream cannot read it."""
    if text is None:
        return None
    try:
        document = json.loads(text, object_pairs_hook=_Object, parse_constant=_refuse)
        return _note(_Object() if document is None else document)
    except (ValueError, RecursionError):
        return None


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is no JSON")


def _note(document: object) -> CompatNote:
    if not isinstance(document, _Object):
        raise ValueError("the note is no JSON object")
    cuda = ""
    driver: tuple[int, ...] = ()
    for key, value in document:
        name = key.casefold()
        if name == "cuda version":
            cuda = _text(value, cuda)
        elif name == "driver":
            driver = _numbers(value)
        elif name == "device":
            _numbers(value)
        elif name == "format" and value is not None:
            _number(value)
    return CompatNote(cuda, driver)


def _text(value: object, before: str) -> str:
    if value is None:
        return before
    if not isinstance(value, str):
        raise ValueError("the CUDA version is no text")
    return value


def _numbers(value: object) -> tuple[int, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError("the branches are no list")
    return tuple(0 if item is None else _number(item) for item in value)


def _number(value: object) -> int:
    if type(value) is not int or value not in _INT64:
        raise ValueError("not a whole number of 64 bits")
    return value
