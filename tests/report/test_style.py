"""Wrapping, cleaning and colour."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.report import Style


@pytest.mark.parametrize(
    ("text", "unicode", "expected"),
    [
        ("plain", True, "plain"),
        ("tab\tand\nline\r", True, "tab\\tand\\nline\\r"),
        ("\x1b[31m", True, "\\x1b[31m"),
        ("é 日本", True, "é 日本"),
        ("é", False, "\\xe9"),
        ("日", False, "\\u65e5"),
        ("\U0001f600", False, "\\U0001f600"),
        ("\u202e", True, "\\u202e"),
    ],
)
def test_clean(text: str, unicode: bool, expected: str) -> None:
    assert Style(unicode=unicode).clean(text) == expected


def test_long_text_is_cut_with_a_mark() -> None:
    assert Style().clean("x" * 50, limit=10) == "x" * 10 + "…"
    assert Style(unicode=False).clean("x" * 50, limit=10) == "x" * 10 + "..."


@given(st.text(), st.text(alphabet="> ", max_size=30), st.integers(40, 120))
def test_lines_keep_to_the_width(text: str, first: str, width: int) -> None:
    style = Style(width=width)
    lines = style.wrap(text, first=first)
    assert lines and all(len(line) <= width for line in lines)
    said = "".join("".join(lines).split())
    assert said.endswith("".join(style.clean(text).split()))


def test_colour_only_where_wanted() -> None:
    assert Style(colour=True).paint("x", "red", "bold") == "\x1b[31;1mx\x1b[0m"
    assert Style(colour=True).paint("x") == "x"
    assert Style().paint("x", "red") == "x"
