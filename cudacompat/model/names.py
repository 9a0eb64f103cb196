"""Lists of node names in Slurm's short form: "gpu[01-03,07],cpu1", both ways."""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_NAMES = 100_000
_PART = re.compile(r"[^,\[]+(?:\[[^\]]*\])?")
_NUMBERED = re.compile(r"(.*?)(\d{1,9})")


def expand_names(text: str) -> tuple[str, ...]:
    """The names of a short list, at most MOST_NAMES."""
    names: list[str] = []
    for part in _PART.findall(text):
        prefix, _, ranges = part.rstrip("]").partition("[")
        for piece in ranges.split(",") if ranges else [""]:
            first, _, last = piece.partition("-")
            if last.isdigit() and first.isdigit() and int(last) - int(first) < MOST_NAMES - len(names):
                names += [f"{prefix}{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
            else:
                names.append(prefix + piece)
    return tuple(names[:MOST_NAMES])


def compact_names(names: Iterable[str]) -> str:
    """The short list of names: numbers at their ends become ranges, in rising order."""
    numbered: dict[tuple[str, int], list[int]] = {}
    parts: dict[str, None] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            parts[name] = None
            continue
        # Leading zeros belong to the name: "n7" and "n07" are two nodes.
        width = len(match[2]) if match[2].startswith("0") else 0
        numbered.setdefault((match[1], width), []).append(int(match[2]))
    for (prefix, width), numbers in _joined(numbered).items():
        parts[_ranged(prefix, width, sorted(set(numbers)))] = None
    return ",".join(sorted(parts))


def _joined(numbered: dict[tuple[str, int], list[int]]) -> dict[tuple[str, int], list[int]]:
    """ "08" to "12": numbers as wide as the padded ones of their prefix belong to them."""
    joined: dict[tuple[str, int], list[int]] = {key: list(found) for key, found in numbered.items() if key[1]}
    for (prefix, width), numbers in numbered.items():
        if width:
            continue
        for number in numbers:
            padded = (prefix, len(str(number)))
            joined.setdefault(padded if padded in numbered else (prefix, 0), []).append(number)
    return joined


def _ranged(prefix: str, width: int, numbers: list[int]) -> str:
    pieces: list[str] = []
    start = previous = numbers[0]
    for number in [*numbers[1:], -1]:
        if number == previous + 1:
            previous = number
            continue
        pieces.append(f"{start:0{width}}" if start == previous else f"{start:0{width}}-{previous:0{width}}")
        start = previous = number
    if len(pieces) == 1 and "-" not in pieces[0]:
        return prefix + pieces[0]
    return f"{prefix}[{','.join(pieces)}]"
