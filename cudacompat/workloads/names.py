"""Near misses of names."""

from __future__ import annotations


def is_near(written: str, meant: str) -> bool:
    """Whether one edit (a letter more, less or other, or two neighbours swapped) makes ``meant`` of ``written``."""
    if written == meant or abs(len(written) - len(meant)) > 1:
        return False
    if len(written) == len(meant):
        differ = [i for i, (a, b) in enumerate(zip(written, meant, strict=True)) if a != b]
        if len(differ) == 1:
            return True
        swapped = len(differ) == 2 and differ[1] == differ[0] + 1
        return swapped and written[differ[0]] == meant[differ[1]] and written[differ[1]] == meant[differ[0]]
    shorter, longer = sorted((written, meant), key=len)
    return any(longer[:i] + longer[i + 1 :] == shorter for i in range(len(longer)))
