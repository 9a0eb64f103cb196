"""The matrix in its three forms: the picture, the data, the page."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from cudacompat.model import HostFacts, Target, Tool
from cudacompat.predict.matrix import Row, known_drivers, known_gpus, matrix
from cudacompat.report import Style
from cudacompat.report.matrix_document import matrix_document
from cudacompat.report.matrix_html import render_page
from cudacompat.report.matrix_text import render_matrix
from tests.report.test_golden import compare
from tests.support.facts import cudart, gpu, image, torch
from tests.support.schemas import validate

TOOL = Tool("cudacompat", "0.0.0", "2026-12")
HOSTILE = Target("image", 'x"><script>alert(1)</script>\x1b[31m\u202e', "registry", None, "linux/amd64")
FACTS = image(cudart("12.4"), torch("2.5.1", "12.4"), env={"NVIDIA_REQUIRE_CUDA": "cuda>=12.4 brand=tesla,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536"})  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> tuple[Row, ...]:
    boards = [gpu(name) for name in ("V100", "A100", "RTX 4090", "NVIDIA B200")]
    return matrix(FACTS, HostFacts(injection="legacy"), ["590.48.01", "570.211.01", "535.309.01", "470.256.02"], boards)


def test_every_driver_meets_every_board(rows: tuple[Row, ...]) -> None:
    told = {
        (row.driver.partition(".")[0], cell.gpu.compute_capability): (
            cell.verdict.outcome,
            cell.verdict.error.code if cell.verdict.error else None,
        )
        for row in rows
        for cell in row.cells
    }
    assert told["590", "7.0"] == ("fails", 100)
    assert told["570", "8.0"] == ("runs", None)
    assert told["535", "8.9"] == ("fails", None)
    assert told["570", "10.0"] == ("fails", 209)
    assert len(told) == 16


@pytest.mark.parametrize("unicode", [True, False], ids=["signs", "ASCII"])
def test_picture(rows: tuple[Row, ...], unicode: bool) -> None:
    target = Target("image", "app:1", "registry", None, "linux/amd64")
    text = render_matrix(target, TOOL, rows, Style(unicode=unicode))
    assert max(map(len, text.splitlines())) <= 100
    assert unicode or text.isascii()
    compare(f"matrix{'' if unicode else '-ascii'}.txt", text)


def test_picture_of_everything_known_fits() -> None:
    everything = matrix(FACTS, HostFacts(injection="cdi"), known_drivers()[:3], known_gpus())
    text = render_matrix(HOSTILE, TOOL, everything, Style())
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text and "\u202e" not in text


def test_data_follows_its_schema(rows: tuple[Row, ...]) -> None:
    document = matrix_document(HOSTILE, TOOL, rows)
    validate(json.loads(json.dumps(document)), "matrix-v1")
    assert len(document["cells"]) == len(document["drivers"]) * len(document["gpus"])


class Page(HTMLParser):
    """Counts what must and must not be in the page, and that tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scopes: list[str | None] = []
        self.cells: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag != "meta":
            self.open.append(tag)
        if tag == "th":
            self.scopes.append(values.get("scope"))
        if tag == "td":
            self.cells.append("")
        self.outside += [value or "" for name, value in attrs if name in ("src", "href", "onclick")]
        if tag in ("script", "link", "iframe", "img"):
            self.outside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open:
            self.cells[-1] += data


def test_page_stands_alone_and_says_everything_in_words(rows: tuple[Row, ...]) -> None:
    text = render_page(HOSTILE, TOOL, rows)
    page = Page()
    page.feed(text)
    assert page.open == [] and page.outside == []
    assert set(page.scopes) == {"col", "row"}
    assert all(cell.strip() for cell in page.cells) and len(page.cells) == 16 + 4
    assert "prefers-color-scheme: dark" in text and "<caption>" in text
    assert "url(" not in text and "http:" not in text and "https:" not in text and text.isascii()
    assert "\x1b" not in text and "<script>" not in text
