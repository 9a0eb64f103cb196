"""JSON of an image, bounded before it is taken apart."""

from __future__ import annotations

import json

# Every object and list takes 64 bytes and more, whatever it was written with.
_MOST_CONTAINERS = 250_000


def json_object(data: bytes) -> dict[str, object]:
    """The object in ``data``. Raises ValueError when there is none, or when it has far too many parts."""
    if data.count(b"{") + data.count(b"[") > _MOST_CONTAINERS:
        raise ValueError("it has too many parts")
    try:
        value: object = json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        raise ValueError("it is no JSON") from error
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value
