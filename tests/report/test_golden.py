"""Every format, byte for byte. CUDACOMPAT_REFRESH_GOLDEN=1 writes the files anew; review them as diffs."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from cudacompat.model import HostFacts
from cudacompat.report import Style, Unread, renderer
from cudacompat.report.document import HOST_SCHEMA, host_document, inspect_document
from cudacompat.report.host_text import render_host
from cudacompat.report.image_text import render_image
from cudacompat.report.json import text
from tests.support.reports import ASKED, EMPTY, HOST, IMAGE, NOBODY, REPORTS, TOOL
from tests.support.results import RUNS
from tests.support.schemas import validate

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
ASCII = Style(unicode=False)
# Format -> the ending of its files.
CI_FORMATS = {"sarif": "sarif", "junit": "xml", "github": "github.txt", "markdown": "md", "html": "html"}


def compare(name: str, actual: str) -> None:
    path = GOLDEN / name
    if os.environ.get("CUDACOMPAT_REFRESH_GOLDEN") == "1":
        path.write_text(actual, encoding="utf-8")
    assert actual == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REPORTS)
def test_text_report(name: str) -> None:
    compare(f"{name}.txt", renderer("text")([REPORTS[name]], Style()))


@pytest.mark.parametrize("name", REPORTS)
def test_json_report_follows_its_schema(name: str) -> None:
    written = renderer("json")([REPORTS[name]], Style())
    validate(json.loads(written), "report-v1")
    assert json.loads(written) == REPORTS[name].to_dict()
    compare(f"{name}.json", written)


def test_text_report_with_evidence_and_without_unicode() -> None:
    compare("refused-verbose-ascii.txt", renderer("text")([REPORTS["refused"]], Style(unicode=False, verbose=True)))


def test_text_report_in_colour() -> None:
    compare("depends-colour.txt", renderer("text")([REPORTS["depends"]], Style(colour=True)))


def test_quiet_leaves_one_line_for_each_target() -> None:
    compare("quiet.txt", renderer("text")(list(REPORTS.values()), Style(quiet=True)))


def test_several_reports_as_json() -> None:
    results = [REPORTS["runs"], Unread("gone:latest", "no such image"), REPORTS["unknown"]]
    document = json.loads(renderer("json")(results, Style()))
    validate(document, "reports-v1")
    assert [entry["target"]["reference"] for entry in document["reports"]] == [
        "registry:repo/app:1.2",
        "gone:latest",
        "registry:repo/app:1.2",
    ]
    assert document["reports"][1]["error"] == "no such image"


def test_several_reports_as_text_follow_one_another() -> None:
    together = renderer("text")([REPORTS["runs"], Unread("gone:latest", "no such image"), REPORTS["unknown"]], Style())
    alone = [renderer("text")([REPORTS[name]], Style()) for name in ("runs", "unknown")]
    assert together == "\n".join(alone)


@pytest.mark.parametrize(("name", "image"), [("inspect", IMAGE), ("inspect-empty", EMPTY)])
def test_inspection(name: str, image: object) -> None:
    compare(f"{name}.txt", render_image(image, TOOL, Style()))
    document = inspect_document(image, TOOL)
    validate(document, "inspect-v1")
    compare(f"{name}.json", text(document))


def test_long_formula_is_cut_between_alternatives_unless_verbose() -> None:
    value = "cuda>=12.8 " + " ".join(f"brand=tesla,driver>={branch},driver<{branch + 1}" for branch in range(470, 570))
    image = replace(IMAGE, config=replace(IMAGE.config, env=(f"NVIDIA_REQUIRE_CUDA={value}",)))
    short, whole = render_image(image, TOOL, Style()), render_image(image, TOOL, Style(verbose=True))
    assert "NVIDIA_REQUIRE_CUDA=cuda>=12.8 brand=tesla,driver>=470" in short
    assert "(101 alternatives; --verbose" in " ".join(short.split())
    assert "driver<570" not in short
    assert "driver<570" in whole


@pytest.mark.parametrize(("name", "host"), [("host", HOST), ("host-unknown", NOBODY), ("host-asked", ASKED)])
def test_host(name: str, host: HostFacts) -> None:
    compare(f"{name}.txt", render_host(host, Style()))
    document = {"schema": HOST_SCHEMA, **host_document(host)}
    validate(document, "host-v1")
    compare(f"{name}.json", text(document))


@pytest.mark.parametrize("format_", CI_FORMATS)
@pytest.mark.parametrize("run", RUNS)
def test_formats_for_ci(run: str, format_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudacompat.report.sarif.__version__", "0.0.0")
    compare(f"ci-{run}.{CI_FORMATS[format_]}", renderer(format_)(RUNS[run], Style()))


def test_host_without_unicode() -> None:
    compare("host-asked-ascii.txt", render_host(ASKED, ASCII))
