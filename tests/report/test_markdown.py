"""Markdown, rendered by GitHub's own parser: texts of images and files show as text and do nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.model import Finding, Location, Report
from cudacompat.report import Other, Result, Style, Unread, renderer
from cudacompat.report.interface import Nested
from cudacompat.report.markdown_text import code, markdown
from tests.report.test_hostile import ATTACKS, attacked, harmless
from tests.support.reports import REPORTS
from tests.support.results import RUNS, WORKLOAD

PLAIN = Style()
# What our own Markdown may turn into.
TAGS = {"h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li", "strong", "code", "sub"}
TAGS |= {"details", "summary"}


class Reader(HTMLParser):
    """Collects tags, text, and the cells of each table row."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.rows: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_data(self, data: str) -> None:
        self.text += data


def read(text: str) -> Reader:
    # "Unsafe" lets HTML through, so that what is left of it would be seen.
    page = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    reader = Reader()
    reader.feed(page)
    return reader


def check(results: list[Result]) -> Reader:
    text = renderer("markdown")(results, PLAIN)
    assert text.endswith("\n") and len(text) <= 65_536
    assert all(harmless(line) for line in text.split("\n"))
    reader = read(text)
    assert set(reader.tags) <= TAGS, set(reader.tags) - TAGS
    assert set(reader.attributes) <= {"align"}
    assert set(reader.rows) <= {3, 4}
    assert not re.search(r"@[\w-]|[#!$&](?=\d)|[~%](?=\w)", reader.text)
    return reader


@pytest.mark.parametrize("name", RUNS)
def test_every_run_is_our_markup_alone(name: str) -> None:
    reader = check(RUNS[name])
    assert ("table" in reader.tags) and reader.tags.count("h3") == len(RUNS[name])


def test_several_targets_begin_with_a_table() -> None:
    text = renderer("markdown")(RUNS["several"], PLAIN)
    assert text.startswith("## cudacompat\n\n| | Target | Verdict | |\n")
    assert "| ✗ | <code>gone:latest</code> | could not be read | no such image |" in text


MARKUP = [
    ("a cell's end", "a | b || c"),
    ("an escaped cell's end", "a \\| b \\\\| c"),
    ("code", "a `b` ``c``` ~~~"),
    ("HTML", "<script>alert(1)</script><img src=x onerror=y><!-- "),
    ("the end of our own tags", "</code></summary></details></sub>"),
    ("an entity", "&lt;b&gt; &#64;all &copy"),
    ("a mention", "@everyone @org/team a@b @a-b,@c"),
    ("an issue", "#1 org/repo#23 GH-45 !6 &7 ~8 %9 $10 ~bug %v1"),
    ("a link", "[a](javascript:x) ![b](http://c) [d]: e <http://f>"),
    ("a bare address", "http://a.example https://b.example www.c.example WWW.D.example ftp://e a@b.example"),
    ("an address by name", "mailto:a@b.example xmpp:a@b.example/c"),
    ("emphasis", "*a* **b** _c_ __d__ ~~e~~ ***"),
    ("a heading", "# a"),
    ("an underlined heading", "==="),
    ("a rule", "---"),
    ("a list", "- a"),
    ("another list", "+ a"),
    ("a numbered list", "1. a"),
    ("another numbered list", "12) a"),
    ("a quote", "> a"),
    ("an alert", "> [!WARNING] a"),
    ("a task", "[x] done"),
    ("a formula", "$a$ $$b$$ $`c`$"),
    ("an emoji", ":tada: :+1:"),
    ("a footnote", "[^1] [^1]: a"),
    ("a table", "a | b\n--|--\nc | d"),
    ("a code block", "    a"),
    ("nothing", ""),
    ("blanks", "   "),
]
EVERYTHING = ATTACKS + MARKUP


def shown(text: str) -> str:
    """What a reader must see of a text: itself, on one line, blanks trimmed."""
    return " ".join(PLAIN.clean(text).split())


def flat(text: str) -> str:
    return " ".join(text.replace("\u200b", "").replace("\xa0", " ").split())


@pytest.mark.parametrize("text", [row[1] for row in EVERYTHING], ids=[row[0] for row in EVERYTHING])
def test_a_text_shows_as_itself(text: str) -> None:
    for written, tags in (
        (markdown(text, PLAIN), ["p"]),
        (f"- {markdown(text, PLAIN)}", ["ul", "li"]),
        (code(text, PLAIN, 2000), ["p", "code"]),
        (f"| a |\n|---|\n| {markdown(text, PLAIN)} |", ["table", "thead", "tr", "th", "tbody", "tr", "td"]),
    ):
        reader = read(written)
        assert reader.tags == tags
        assert flat(reader.text).endswith(shown(text))


@pytest.mark.parametrize("text", [row[1] for row in EVERYTHING], ids=[row[0] for row in EVERYTHING])
def test_hostile_texts_at_every_place(text: str) -> None:
    check([attacked(text), Unread(text, text), hostile_file(text)])


@given(st.text(st.characters() | st.sampled_from("`*_{}[]()<>|~$#&@\\!:-+=./\n\t 1ahw"), max_size=80))
def test_any_text_shows_as_itself(text: str) -> None:
    for written, tags in (
        (markdown(text, PLAIN), ["p"]),
        (f"| a |\n|---|\n| {code(text, PLAIN, 2000)} |", ["table", "thead", "tr", "th", "tbody", "tr", "td", "code"]),
    ):
        reader = read(written)
        assert reader.tags == tags
        assert flat(reader.text).endswith(shown(text))


@given(st.text(st.characters() | st.sampled_from("`*_[]()<>|~$#&@\\!:-\n"), max_size=40))
def test_any_text_at_any_place(text: str) -> None:
    check([attacked(text), Unread(text, text), hostile_file(text)])


def hostile_file(text: str) -> Other:
    finding = Finding(text, "error", None, text, text, (), Location(text, 3))
    images = (Nested(text, 3, attacked(text)), Nested(text, 4, None, text))
    return replace(WORKLOAD, reference=text, findings=(finding,), place=text, images=images)


def long_report(words: int) -> Report:
    report = REPORTS["refused"]
    stages = tuple(replace(stage, summary="word " * words) for stage in report.stages)
    return replace(report, prediction=replace(report.prediction, stages=stages))


def test_a_comment_is_never_too_long() -> None:
    reader = check([long_report(300)] * 6)
    assert "too long for a comment" in reader.text and "more are not shown here" not in reader.text
    many = [REPORTS["refused"]] * 400
    assert "more are not shown here" in check(many).text
