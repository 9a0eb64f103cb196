"""Single host facts as people and tools write them, checked and brought into one spelling."""

from __future__ import annotations

import re

from cudacompat import tables
from cudacompat.errors import HostError, UsageError

_CAPABILITY = re.compile(r"(?:sm_?|compute_?|cc)?(\d{1,2})\.?(\d)", re.ASCII | re.IGNORECASE)
# What tools print in the place of a value that they do not have.
_ABSENT = frozenset({"", "n/a", "[n/a]", "not found", "not supported", "[not supported]", "unknown error", "none"})


def driver_version(text: str) -> str:
    """A driver version such as "535.183.01", or a bare branch ("535"). Raises UsageError."""
    bare = text.strip()
    tables.parse_driver(bare)
    return bare


def reported_driver(text: str, origin: str) -> str:
    """A driver version in a tool's output. Raises HostError naming the output."""
    try:
        return driver_version(text)
    except UsageError as error:
        raise HostError(f"{origin}: {error}") from error


def cuda_version(text: str) -> str:
    """A CUDA version as "major.minor". Raises UsageError."""
    major, minor = tables.cuda_pair(text)
    return f"{major}.{minor}"


def release(text: str) -> str:
    """A release of Docker or of the container toolkit: numbers only, without build suffixes. Raises UsageError."""
    return str(tables.parse_version(text))


def compute_capability(text: str) -> str:
    """A compute capability as "major.minor" from "8.0", "80" or "sm_80".

    Raises UsageError for what is none, and for one between the known ones that no GPU has. One newer than
    the table's is accepted: the prediction says how little it knows of it.
    """
    found = _CAPABILITY.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text[:40]!r} is not a compute capability: expected one such as 8.0")
    value = f"{int(found[1])}.{found[2]}"
    known = [row.compute_capability for row in tables.architectures()]
    newest = max(tables.cuda_pair(item) for item in known)
    if value not in known and tables.cuda_pair(value) < newest:
        raise UsageError(f"no GPU has compute capability {value}; known are {', '.join(_sorted(known))}")
    return value


def _sorted(capabilities: list[str]) -> list[str]:
    return sorted(set(capabilities), key=tables.cuda_pair)


def present(text: str | None) -> str | None:
    """The text of a tool's output field, or None where the tool says that it has no value."""
    bare = (text or "").strip()
    return None if bare.lower() in _ABSENT else bare
