"""How text reaches a person: colour or none, symbols or ASCII, wrapped, and with nothing hostile left in it."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

WIDTH = 100
_LONGEST = 2000
# Control, format (bidi overrides, zero-width), surrogate, private, unassigned, line and paragraph separators.
_HOSTILE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}
_SYMBOLS = {
    "ok": ("✓", "+"),
    "limited": ("~", "~"),
    "fails": ("✗", "x"),
    "unknown": ("?", "?"),
    "skipped": ("·", "-"),
    "depends": ("±", "?"),
    "error": ("✗", "x"),
    "warning": ("!", "!"),
    "note": ("·", "-"),
    "arrow": ("→", "->"),
    "mark": ("→", ">"),
    "ellipsis": ("…", "..."),
}


@dataclass(frozen=True, slots=True)
class Style:
    """How to write for one output. ``width`` counts columns; ``quiet`` leaves only the verdict's line."""

    colour: bool = False
    unicode: bool = True
    width: int = WIDTH
    verbose: bool = False
    quiet: bool = False

    def symbol(self, name: str) -> str:
        """The sign for a status or level."""
        return _SYMBOLS[name][0 if self.unicode else 1]

    def paint(self, text: str, *names: str) -> str:
        """The text in a colour, when there are colours."""
        if not self.colour or not names:
            return text
        codes = ";".join(_COLOURS[name] for name in names)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def title(self, text: str) -> list[str]:
        """A section's heading with the empty line above it."""
        return ["", self.paint(text, "bold")]

    def clean(self, text: str, limit: int = _LONGEST) -> str:
        """The text with everything that could steer a terminal spelled out, and not longer than ``limit``.

        Images are hostile: their names and values may hold escape sequences, line breaks and characters
        that turn the reading direction.
        """
        cut = text if len(text) <= limit else text[:limit] + self.symbol("ellipsis")
        return "".join(char if self._harmless(char) else _spelled(char) for char in cut)

    def _harmless(self, char: str) -> bool:
        if char.isascii():
            return char.isprintable()
        return self.unicode and unicodedata.category(char) not in _HOSTILE

    def wrap(self, text: str, first: str = "", rest: str | None = None, limit: int = _LONGEST) -> list[str]:
        """Clean text as lines of at most ``width`` columns: ``first`` before the first, ``rest`` before others."""
        indent = " " * len(first) if rest is None else rest
        lines = textwrap.wrap(
            self.clean(text, limit),
            width=self.width,
            initial_indent=first,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
        return [piece for line in lines for piece in self._cut(line, indent)] or [first.rstrip()]

    def _cut(self, line: str, indent: str) -> Iterator[str]:
        """A line with a word in it that no line can hold: paths and digests break where the space ends."""
        while len(line) > self.width:
            yield line[: self.width]
            line = indent + line[self.width :]
        yield line


def _spelled(char: str) -> str:
    number = ord(char)
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
