"""Nothing that an image says can steer a terminal, break a line, or leave the report's shape."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.model import (
    CompatDirectory,
    Component,
    CudaError,
    Evidence,
    Finding,
    HostFacts,
    Kernels,
    Prediction,
    Ptx,
    Report,
    Scenario,
    Target,
    Verdict,
)
from cudacompat.report import Style, renderer
from cudacompat.report.document import inspect_document
from cudacompat.report.host_text import render_host
from cudacompat.report.image_text import render_image
from cudacompat.report.json import text as json_text
from tests.support.reports import IMAGE, REPORTS, TOOL
from tests.support.schemas import validate

ATTACKS = [
    ("an escape sequence", "a\x1b]0;owned\x07b\x1b[2Jc"),
    ("a line break", "ok\n✓ RUNS  trusted/image"),
    ("a carriage return", "bad\rgood"),
    ("a turned reading direction", "a\u202egnp.exe\u2066b"),
    ("C1 controls", "a\x9b2Jb\x85c"),
    ("zero-width characters", "a\u200b\ufeffb"),
    ("a lone surrogate", "a\udc80b"),
    ("a line separator", "a\u2028b\u2029c"),
    ("a private character", "a\ue000b"),
    ("a very long word", "x" * 50_000),
]
STYLES = [Style(), Style(unicode=False), Style(verbose=True), Style(verbose=True, unicode=False), Style(quiet=True)]


def attacked(text: str) -> Report:
    """A report with the text in every place that an image or a tool can fill."""
    evidence = Evidence("env", text, text, text)
    error = CudaError(804, text, text)
    verdict = Verdict("fails", "init", None, error, "low", text, text, (text,))
    image = replace(
        IMAGE,
        target=Target("image", text, text, text, text),
        config=replace(IMAGE.config, env=(f"NVIDIA_REQUIRE_CUDA={text}", text)),
        components=(Component(text, text, text, text, evidence, text, text, None, text),),
        compat=(CompatDirectory(text, text, text, True, text),),
        kernels=(Kernels(text, (text,), (Ptx(text, text),), text),),
        coverage=replace(IMAGE.coverage, notes=(text,)),
        evidence=(evidence,),
    )
    stages = tuple(replace(stage, summary=text, evidence=(evidence,)) for stage in REPORTS["runs"].stages)
    finding = Finding(text, "error", "init", text, text, (evidence,))
    prediction = Prediction(verdict, stages, (Scenario({text: text}, verdict, text),), (finding,))
    return Report(TOOL, HostFacts(text, text, origin=text, notes=(text,)), image, prediction)


def harmless(line: str) -> bool:
    return all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for char in line)


@pytest.mark.parametrize("text", [row[1] for row in ATTACKS], ids=[row[0] for row in ATTACKS])
@pytest.mark.parametrize("style", STYLES, ids=["plain", "ascii", "verbose", "verbose ascii", "quiet"])
def test_text(text: str, style: Style) -> None:
    report = attacked(text)
    written = [
        renderer("text")([report], style),
        render_image(report.image, TOOL, style),
        render_host(report.host, style),
    ]
    for output in written:
        for line in output.split("\n"):
            assert harmless(line), line
            assert style.unicode or line.isascii()
            assert len(line) <= 100
        assert len(output) < 100_000


@pytest.mark.parametrize("text", [row[1] for row in ATTACKS], ids=[row[0] for row in ATTACKS])
def test_json(text: str) -> None:
    report = attacked(text)
    for output in (renderer("json")([report], Style()), json_text(inspect_document(report.image, TOOL))):
        assert output.isascii()
        assert all(char == "\n" or char.isprintable() for char in output)
    assert json.loads(renderer("json")([report], Style()))["target"]["reference"] == text


@given(st.text(max_size=300), st.sampled_from(STYLES))
def test_any_text_at_any_place_keeps_to_the_lines(text: str, style: Style) -> None:
    report = attacked(text)
    for output in (renderer("text")([report], style), render_image(report.image, TOOL, style)):
        assert all(harmless(line) and len(line) <= 100 for line in output.split("\n"))
    assert renderer("json")([report], style).isascii()


@pytest.mark.parametrize(
    "note",
    ["[1]", "{", "{" * 5000, '{"a": NaN}', '{"a":' * 39 + "1" + "}" * 39, "[" * 100_000, '{"a": ' + "9" * 5000 + "}"],
    ids=["a list", "cut", "deep and cut", "no number", "deep", "endless", "a number of 5000 digits"],
)
def test_compat_note_of_any_shape(note: str) -> None:
    image = replace(IMAGE, compat=(CompatDirectory("/usr/local/cuda/compat", "1", note, True),))
    document = inspect_document(image, TOOL)
    json.loads(json_text(document))
    validate(document, "inspect-v1")
