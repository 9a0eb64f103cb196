"""JUnit XML: what Jenkins' and GitLab's readers take, with counts that agree with the cases."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.model import Finding, Location
from cudacompat.report import Other, Result, Style, Unread, renderer
from tests.report.test_hostile import ATTACKS, attacked
from tests.support.reports import REPORTS
from tests.support.results import RUNS, WORKLOAD

# Element -> attributes that must and may be there, and the elements inside, by the schema of Jenkins' xUnit plugin
# (junit-10.xsd). It knows no "skipped" on testsuites.
RULES = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"skipped", "time", "timestamp", "hostname", "id", "package", "file", "log", "url", "group"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name"},
        {"classname", "time", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}
BAD = ("failure", "error", "skipped")


def junit(results: list[Result]) -> ElementTree.Element:
    """The root, once the document is known to keep the rules."""
    text = renderer("junit")(results, Style())
    assert text.isascii() and text.endswith("</testsuites>\n")
    root = ElementTree.fromstring(text)
    check(root)
    assert [suite.tag for suite in root] == ["testsuite"] * len(results)
    cases = list(root.iter("testcase"))
    check_counts(root, cases, ("failures", "errors"))
    for suite in root:
        check_counts(suite, list(suite.iter("testcase")), ("failures", "errors", "skipped"))
    # GitLab tells cases by these two and shows the first of several alone.
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)
    return root


def check(element: ElementTree.Element) -> None:
    must, may, inside = RULES[element.tag]
    assert must <= set(element.attrib) <= must | may, element.tag
    if inside:
        assert not (element.text or "").strip(), element.tag
    for child in element:
        assert child.tag in inside
        check(child)


def check_counts(element: ElementTree.Element, cases: list[ElementTree.Element], names: tuple[str, ...]) -> None:
    assert element.get("tests") == str(len(cases))
    for name in names:
        tag = {"failures": "failure", "errors": "error"}.get(name, name)
        assert element.get(name) == str(sum(case.find(tag) is not None for case in cases)), name


def bad_cases(results: list[Result]) -> dict[str, str]:
    """Name -> failure, error or skipped, of cases that are not plainly passed."""
    cases = junit(results).iter("testcase")
    return {case.get("name", ""): child.tag for case in cases for child in case if child.tag in BAD}


@pytest.mark.parametrize("name", RUNS)
def test_every_run_keeps_the_rules(name: str) -> None:
    junit(RUNS[name])


@pytest.mark.parametrize(
    ("report", "bad"),
    [
        ("runs", {"libraries": "skipped"}),
        ("no-cuda", {}),
        ("minor-version", {}),
        ("refused", {"verdict": "failure", "start": "failure", "init": "skipped"}),
        ("depends", {"verdict": "failure", "start": "error"}),
        ("unknown", {"verdict": "error", "init": "error"}),
    ],
)
def test_a_report_is_green_only_where_it_runs(report: str, bad: dict[str, str]) -> None:
    assert bad_cases([REPORTS[report]]) == bad


def test_an_unread_target_is_an_error() -> None:
    (case,) = junit([Unread("gone:latest", "no such image")]).iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("gone:latest", "read")
    assert case.find("error").attrib == {"type": "target-not-read", "message": "no such image"}


def test_a_file_has_a_case_for_each_finding_and_those_of_its_images() -> None:
    bad = bad_cases([WORKLOAD])
    title = "Launcher processes and GPUs do not match."
    assert bad[f"S04 line 6 {title}"] == bad[f"S04 line 6 {title} (2)"] == "failure"
    assert bad["S12 line 3"] == bad["S15 a GPU type that the site does not have"] == "skipped"
    assert bad["read"] == "error"
    groups = {case.get("classname") for case in junit([WORKLOAD]).iter("testcase")}
    assert "jobs/train.sbatch: registry:repo/app:1.2 (line 8)" in groups


def test_the_text_of_a_failure_says_what_to_do() -> None:
    failure = next(junit([REPORTS["refused"]]).iter("failure"))
    assert failure.get("type") == "fails"
    assert "What helps: install driver 570.26 or newer" in failure.text.splitlines()


def test_the_same_target_twice_has_cases_of_its_own() -> None:
    junit([REPORTS["runs"], REPORTS["runs"], WORKLOAD, WORKLOAD])


def hostile_file(text: str) -> Other:
    finding = Finding(text, "error", None, text, text, (), Location(text, 3))
    return replace(WORKLOAD, reference=text, findings=(finding,), place=text)


ILLEGAL = [
    ("markup", "</failure><x a=\"'>&amp;]]>"),
    ("characters that XML has no place for", "\0\x0b\ufffe\uffff\ud800"),
]


@pytest.mark.parametrize("text", [row[1] for row in ATTACKS + ILLEGAL], ids=[row[0] for row in ATTACKS + ILLEGAL])
def test_hostile_texts(text: str) -> None:
    junit([attacked(text), Unread(text, text), hostile_file(text)])


def test_markup_arrives_as_text() -> None:
    error = next(junit([Unread("a", "</error> & \"'<b>")]).iter("error"))
    assert error.get("message") == error.text == "</error> & \"'<b>"


@given(st.text(st.characters(), max_size=60))
def test_any_text_at_any_place(text: str) -> None:
    junit([attacked(text), Unread(text, text), hostile_file(text)])
    written = renderer("junit")([attacked(text)], Style())
    numbers = [int(number) for number in re.findall(r"&#(\d+);", written)]
    assert all(number in (9, 10, 13) or 0x20 <= number <= 0xFFFD or number >= 0x10000 for number in numbers)
