"""JSON values of unknown shape, as what is wanted or as nothing."""

from __future__ import annotations


def plain(value: object) -> dict[str, object]:
    """An object, empty when it is none."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[dict[str, object]]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_of(value: object) -> str:
    """A text; empty when it is none."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """The texts of a list, or of a text with commas."""
    if isinstance(value, str):
        return () if value in ("", "(null)", "N/A") else tuple(part for part in value.split(",") if part)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def mapping(value: object) -> dict[str, str]:
    """An object's values as texts."""
    if not isinstance(value, dict):
        return {}
    return {str(key): item if isinstance(item, str) else str(item) for key, item in value.items()}
