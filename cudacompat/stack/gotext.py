"""Text as Go's standard library treats it; Python's own functions differ in details that decide.

Source: Go strings.TrimSpace and strconv.ParseBool. Python's ``str.strip`` also removes U+001C to U+001F.
"""

from __future__ import annotations

_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def trim_space(text: str) -> str:
    """The text without white space at both ends, as strings.TrimSpace leaves it."""
    return text.strip(_SPACE)


def items(text: str) -> list[str]:
    """The items of a comma-separated list, trimmed; blank ones are left out."""
    return [item for part in text.split(",") if (item := trim_space(part))]


def is_true(value: object) -> bool:
    """Whether strconv.ParseBool reads true; a real True of a parsed configuration file counts too."""
    return value is True or (isinstance(value, str) and value in _TRUE)


def is_false(value: object) -> bool:
    """Whether strconv.ParseBool reads false; a real False counts too."""
    return value is False or (isinstance(value, str) and value in _FALSE)
