"""The report as a page: it stands alone, is in order, and shows hostile texts as texts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.model import Finding, Location, Target
from cudacompat.predict.matrix import Cell, Row
from cudacompat.report import Other, Result, Style, Unread, renderer
from cudacompat.report.interface import Nested, Silenced, Waiting
from cudacompat.report.matrix_html import render_page
from tests.report.test_hostile import ATTACKS, attacked
from tests.report.test_markdown import MARKUP
from tests.support.pages import Page, check_alone
from tests.support.reports import A100, REPORTS, TOOL, verdict
from tests.support.results import RUNS, WORKLOAD


def html(results: list[Result]) -> Page:
    return check_alone(renderer("html")(results, Style()))


@pytest.mark.parametrize("name", RUNS)
def test_every_run_makes_a_page_that_stands_alone(name: str) -> None:
    page = html(RUNS[name])
    assert page.headings.count(2) == len(RUNS[name]) + (1 if len(RUNS[name]) > 1 else 0)
    assert set(page.scopes) == {"col", "row"}


def test_the_title_names_the_target_or_their_number() -> None:
    assert html(RUNS["runs"]).title == "cudacompat: registry:repo/app:1.2 (linux/amd64)"
    assert html(RUNS["several"]).title == f"cudacompat: {len(RUNS['several'])} targets"


def test_several_targets_are_reached_from_the_table_in_front() -> None:
    page = html(RUNS["several"])
    assert page.links == [f"#target-{number}" for number in range(1, len(RUNS["several"]) + 1)]


def test_the_page_says_what_the_report_says() -> None:
    text = " ".join(html([REPORTS["refused"]]).text.replace("\xa0", " ").split())
    for part in (
        "✗ fails at start registry:repo/app:1.2",
        "You would see nvidia-container-cli: requirement error",
        "the requirement is not met (requirement-refused)",
        "job.sh:7 the script asks for no GPU",
        "install driver 570.26 or newer ✓ runs",
        "env NVIDIA_REQUIRE_CUDA: cuda>=12.8",
        "read: 11 of 12 layers",
    ):
        assert part in text, part


def test_nobody_without_colours_misses_anything() -> None:
    signs = [badge.replace("\xa0", " ").split()[0] for badge in html(RUNS["several"]).badges]
    assert set(signs) == {"✓", "✗", "~", "±", "?", "·", "!"}


@pytest.mark.parametrize("text", [row[1] for row in ATTACKS + MARKUP], ids=[row[0] for row in ATTACKS + MARKUP])
def test_hostile_texts(text: str) -> None:
    text = text or "x"
    page = html([attacked(text), Unread(text, text), hostile_file(text)])
    harmless_page = html([attacked("x"), Unread("x", "x"), hostile_file("x")])
    assert page.tags == harmless_page.tags
    assert Style().clean(text, 400) in page.text


@given(st.text(st.characters() | st.sampled_from("<>&\"'/=`\0\n"), max_size=40))
def test_any_text_at_any_place(text: str) -> None:
    page = html([attacked(text), Unread(text, text), hostile_file(text)])
    assert Style().clean(text) in page.text


def hostile_file(text: str) -> Other:
    finding = Finding(text, "error", None, text, text, (), Location(text, 3))
    return replace(
        WORKLOAD,
        reference=text,
        findings=(finding,),
        place=text,
        images=(Nested(text, 3, attacked(text)), Nested(text, 4, None, text)),
        silenced=(Silenced(finding, text, text, True),),
        waiting=(Waiting(text, text, text),),
    )


def matrix(text: str) -> str:
    gpu = replace(A100, name=text, compute_capability=text)
    cells = (Cell(text, gpu, verdict("fails", text, stage="init")), Cell(text, gpu, verdict("runs", text)))
    return render_page(Target("image", text, text, None, text), TOOL, [Row(text, text, cells)])


@given(st.text(st.characters() | st.sampled_from("<>&\"'/=`\0\n"), max_size=40))
def test_any_text_in_the_matrix(text: str) -> None:
    page = check_alone(matrix(text))
    assert page.tags == check_alone(matrix("x")).tags
    assert Style().clean(text) in page.text


def luminance(colour: str) -> float:
    """The relative luminance of "#rrggbb" by WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


REPORT_PAIRS = [("text", "page"), ("text", "head"), ("soft", "page"), ("soft", "head"), ("info", "page")]
REPORT_PAIRS += [(name, f"{name}-bg") for name in ("good", "warn", "bad", "info")]
MATRIX_PAIRS = [("text", "page"), ("soft", "page"), ("soft", "head"), ("text", "head")]
MATRIX_PAIRS += [("text", name) for name in ("runs", "limited", "depends", "fails", "unknown")]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("page", ["report", "matrix"])
def test_words_can_be_read_on_their_ground(page: str, scheme: int) -> None:
    text = renderer("html")(RUNS["runs"], Style()) if page == "report" else matrix("x")
    schemes = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", schemes[scheme]))
    pairs = REPORT_PAIRS if page == "report" else MATRIX_PAIRS
    assert {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs if contrast(colours[pair[0]], colours[pair[1]]) < 4.5} == {}  # fmt: skip
