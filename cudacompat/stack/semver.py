"""Versions as the two Go libraries read them that the container toolkit leans on.

``parse`` is golang.org/x/mod/semver (releases up to 1.20.0: CUDA_VERSION, requirements, the compat note at
1.19): one to three numbers without leading zeros, suffixes only after the third. ``parse_loose`` is
Masterminds/semver's NewVersion (compat choice at 1.20.0): leading zeros and early suffixes are fine. In both
a leading "v" is optional here, because the toolkit adds or accepts it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_NUMBER = r"(0|[1-9][0-9]*)"
_STRICT = re.compile(
    rf"v?{_NUMBER}(?:\.{_NUMBER}(?:\.{_NUMBER}(?:-({_IDENTIFIERS}))?(?:\+{_IDENTIFIERS})?)?)?", re.ASCII
)
_LOOSE = re.compile(rf"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-({_IDENTIFIERS}))?(?:\+{_IDENTIFIERS})?", re.ASCII)
_LONGEST_64_BIT = 20


@dataclass(frozen=True, slots=True)
class Semver:
    """A valid version; missing numbers are "0". ``prerelease`` are its dot-separated identifiers.

    Numbers stay text without leading zeros: x/mod compares them at any length, Python's int does not.
    """

    major: str
    minor: str
    patch: str
    prerelease: tuple[str, ...] = ()


def parse(text: str) -> Semver | None:
    """The version, or None where golang.org/x/mod/semver calls it invalid."""
    return _version(_STRICT.fullmatch(text))


def parse_loose(text: str) -> Semver | None:
    """The version, or None where Masterminds/semver reports an error; its numbers have 64 bits."""
    version = _version(_LOOSE.fullmatch(text))
    if version is None or not all(fits(part, 64) for part in (version.major, version.minor, version.patch)):
        return None
    return version


def fits(digits: str, bits: int) -> bool:
    """Whether strconv.ParseUint accepts a number of this size."""
    return len(digits) <= _LONGEST_64_BIT and int(digits) < 2**bits


def _version(match: re.Match[str] | None) -> Semver | None:
    if match is None:
        return None
    major, minor, patch = (number and (number.lstrip("0") or "0") for number in match.groups()[:3])
    identifiers = tuple(match[4].split(".")) if match[4] else ()
    if any(re.fullmatch("0[0-9]+", identifier) for identifier in identifiers):
        return None
    return Semver(major, minor or "0", patch or "0", identifiers)


def compare(one: str, other: str) -> int:
    """-1, 0 or 1 as x/mod's Compare: an invalid version sorts below every valid one, two are equal."""
    left, right = parse(one), parse(other)
    if left is None or right is None:
        return (left is not None) - (right is not None)
    return order(left, right)


def order(one: Semver, other: Semver) -> int:
    """-1, 0 or 1 by semver's precedence: a pre-release sorts below its release."""
    left, right = (tuple(map(_number, (side.major, side.minor, side.patch))) for side in (one, other))
    if left != right:
        return 1 if left > right else -1
    if not one.prerelease or not other.prerelease:
        return bool(other.prerelease) - bool(one.prerelease)
    before, after = (tuple(map(_identifier, side.prerelease)) for side in (one, other))
    return (before > after) - (before < after)


def _number(digits: str) -> tuple[int, str]:
    return len(digits), digits


def _identifier(text: str) -> tuple[bool, int, str]:
    """Numeric identifiers sort first and as numbers, the others as text."""
    return (False, len(text), text) if text.isdigit() else (True, 0, text)
