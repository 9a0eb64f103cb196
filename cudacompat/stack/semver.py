"""Go's golang.org/x/mod/semver, as far as the container toolkit leans on it.

One to three numbers without leading zeros; pre-release and build suffixes only after the third. A leading
"v" is optional here, because the toolkit adds it. An invalid version sorts below every valid one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = r"(0|[1-9][0-9]*)"
_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_FORM = re.compile(rf"v?{_NUMBER}(?:\.{_NUMBER}(?:\.{_NUMBER}(?:-({_IDENTIFIERS}))?(?:\+{_IDENTIFIERS})?)?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Semver:
    """A valid version; missing numbers are zero. ``prerelease`` are its dot-separated identifiers."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()


def parse(text: str) -> Semver | None:
    """The version, or None where Go's library calls it invalid."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    major, minor, patch, suffix = match.groups()
    identifiers = tuple(suffix.split(".")) if suffix else ()
    if any(re.fullmatch("0[0-9]+", identifier) for identifier in identifiers):
        return None
    return Semver(int(major), int(minor or 0), int(patch or 0), identifiers)


def compare(one: str, other: str) -> int:
    """-1, 0 or 1. Two invalid versions are equal."""
    left, right = parse(one), parse(other)
    if left is None or right is None:
        return (left is not None) - (right is not None)
    numbers = [(side.major, side.minor, side.patch) for side in (left, right)]
    if numbers[0] != numbers[1]:
        return 1 if numbers[0] > numbers[1] else -1
    return _compare_prerelease(left.prerelease, right.prerelease)


def _compare_prerelease(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    if one == other:
        return 0
    if not one or not other:
        return 1 if not one else -1
    keys = [
        tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in side) for side in (one, other)
    ]
    return 1 if keys[0] > keys[1] else -1
