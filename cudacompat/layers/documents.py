"""JSON documents of an image, read with suspicion: bounded, and every value checked before it is used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeGuard

from cudacompat.errors import TargetError

MAX_DOCUMENT = 16 << 20


def parse_object(raw: bytes, where: str) -> Mapping[str, object]:
    """The JSON object in ``raw``; ``where`` names it in errors ("the config of app:1.2").

    Raises TargetError when it is too long, no JSON, or no object.
    """
    value = parse_json(raw, where)
    if not isinstance(value, dict):
        raise TargetError(f"{where} is not a JSON object.")
    return value


def parse_json(raw: bytes, where: str) -> object:
    """The JSON value in ``raw``. Raises TargetError when it is too long or no JSON."""
    if len(raw) > MAX_DOCUMENT:
        raise TargetError(f"{where} is longer than {MAX_DOCUMENT >> 20} MiB; that is no image's.")
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError) as error:
        # The parser's words quote positions at most, never content, except for some Unicode errors.
        raise TargetError(f"{where} is not valid JSON ({type(error).__name__}).") from error
    return value


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def text(value: object, where: str) -> str:
    """A string that can be printed; null counts as empty. Raises TargetError for any other type."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TargetError(f"{where} should be a string, not {_type_name(value)}.")
    if value.isascii():
        return value
    # JSON can escape half of a surrogate pair, which no output could encode.
    return value.encode("utf-8", "replace").decode()


def texts(value: object, where: str) -> tuple[str, ...]:
    """A list of strings; null counts as empty and a lone string as a list of one."""
    if isinstance(value, str):
        return (text(value, where),)
    return tuple(text(item, where) for item in items(value, where))


def items(value: object, where: str) -> list[object]:
    """A list; null counts as empty. Raises TargetError for any other type."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise TargetError(f"{where} should be a list, not {_type_name(value)}.")
    return value


def members(value: object, where: str) -> Mapping[str, object]:
    """An object; null counts as empty. Raises TargetError for any other type."""
    if value is None:
        return {}
    if not is_object(value):
        raise TargetError(f"{where} should be an object, not {_type_name(value)}.")
    return value


def _type_name(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object" if isinstance(value, dict) else "null")
