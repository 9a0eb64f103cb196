"""The environment as the container's processes see it."""

from __future__ import annotations


def last_wins(env: tuple[str, ...]) -> dict[str, str]:
    """The environment a process sees: of duplicates the last one counts."""
    return dict(entry.split("=", 1) for entry in env if "=" in entry)
