"""Workflow commands, read back the way GitHub's runner reads a line of a log."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.model import Finding, Location
from cudacompat.report import Other, Result, Style, Unread, renderer
from tests.report.test_hostile import ATTACKS, attacked
from tests.support.reports import REPORTS
from tests.support.results import CLEAN, COMMAND_LINE, RUNS, SCRIPT, WORKLOAD


@dataclass(frozen=True)
class Annotation:
    """One command as the runner understands it."""

    command: str
    properties: dict[str, str]
    message: str


def read(line: str) -> Annotation:
    """A line in the runner's grammar: ``::command name=value,name=value::message``."""
    assert line.startswith("::")
    head, _, message = line[2:].partition("::")
    command, _, given = head.partition(" ")
    pairs = [part.partition("=") for part in given.split(",")]
    properties = {name: unescaped(value, {"%3A": ":", "%2C": ","}) for name, _, value in pairs}
    assert len(properties) == len(pairs)
    return Annotation(command, properties, unescaped(message, {}))


def unescaped(text: str, more: dict[str, str]) -> str:
    for code, char in ({"%0D": "\r", "%0A": "\n"} | more | {"%25": "%"}).items():
        text = text.replace(code, char)
    return text


def annotations(results: list[Result]) -> list[Annotation]:
    text = renderer("github")(results, Style())
    # Whatever any reader takes for a line's end must be the end of a command.
    lines = text.splitlines()
    assert text == "".join(f"{line}\n" for line in lines)
    found = [read(line) for line in lines]
    for item in found:
        assert item.command in ("error", "warning", "notice")
        assert set(item.properties) <= {"file", "line", "title"} and item.properties["title"]
        assert item.message and len(item.message) <= 4096 and len(item.properties["title"]) <= 255
        assert "line" not in item.properties or "file" in item.properties
        assert int(item.properties.get("line", "1")) >= 1
    return found


def only(message: str, fix: str = "", path: str = SCRIPT, level: str = "error") -> Other:
    finding = Finding("S04", level, None, message, fix, (), Location(path, 7))  # type: ignore[arg-type]
    return replace(WORKLOAD, reference=path, findings=(finding,), silenced=(), images=(), waiting=())


@pytest.mark.parametrize("name", RUNS)
def test_every_run_is_commands_alone(name: str) -> None:
    assert annotations(RUNS[name])


def test_a_finding_stands_on_its_line() -> None:
    first = annotations([WORKLOAD])[0]
    assert first.command == "error"
    assert first.properties == {"file": SCRIPT, "line": "6", "title": "cudacompat S04"}
    assert first.message.startswith("srun starts 4 copies") and first.message.endswith(
        "What to do: --ntasks-per-node=1"
    )


def test_an_image_of_a_file_stands_on_the_line_that_names_it() -> None:
    told = [(item.properties["line"], item.command, item.message[:22]) for item in annotations([WORKLOAD])[4:]]
    assert told == [("8", "error", "registry:repo/app:1.2:"), ("10", "warning", "gone:latest: gone: the")]


def test_silenced_findings_are_not_shown() -> None:
    assert not any("one socket" in item.message for item in annotations([WORKLOAD]))


@pytest.mark.parametrize(("level", "command"), [("error", "error"), ("warning", "warning"), ("note", "notice")])
def test_levels(level: str, command: str) -> None:
    assert annotations([only("a message", level=level)])[0].command == command


@pytest.mark.parametrize("path", ["./jobs/train.sbatch", "jobs//train.sbatch", "jobs/x/../train.sbatch"])
def test_a_file_has_the_name_that_the_checkout_gives_it(path: str) -> None:
    assert annotations([only("a message", path=path)])[0].properties["file"] == SCRIPT
    assert annotations([replace(CLEAN, reference=path)])[0].properties["file"] == SCRIPT


def test_a_command_line_is_no_file() -> None:
    (item,) = annotations([COMMAND_LINE])
    assert "file" not in item.properties
    assert item.message.startswith("command line on profile prod: ")


@pytest.mark.parametrize(
    ("report", "command", "title"),
    [
        ("runs", "notice", "cudacompat runs"),
        ("no-cuda", "notice", "cudacompat no-cuda"),
        ("minor-version", "notice", "cudacompat verdict-runs-limited"),
        ("depends", "warning", "cudacompat verdict-depends"),
        ("unknown", "warning", "cudacompat verdict-unknown"),
        ("init-fails", "error", "cudacompat verdict-fails"),
        ("refused", "error", "cudacompat requirement-refused"),
    ],
)
def test_every_outcome_is_said(report: str, command: str, title: str) -> None:
    first = annotations([REPORTS[report]])[0]
    assert (first.command, first.properties["title"]) == (command, title)


@pytest.mark.parametrize(
    ("text", "in_message", "in_property"),
    [
        ("50%", "50%25", "50%25"),
        ("%0A::error::x", "%250A::error::x", "%250A%3A%3Aerror%3A%3Ax"),
        ("a:b,c", "a:b,c", "a%3Ab%2Cc"),
        ("a\nb", "a\\nb", "a\\nb"),
        ("a\rb", "a\\rb", "a\\rb"),
        ("a=b", "a=b", "a=b"),
    ],
)
def test_escaping(text: str, in_message: str, in_property: str) -> None:
    line = renderer("github")([only(text, path=text)], Style())
    assert line == f"::error file={in_property},line=7,title=cudacompat S04::{in_message}\n"


COMMANDS = [
    ("a second command", "x\n::error::y"),
    ("a second command after CRLF", "x\r\n::set-output name=a::b"),
    ("an escaped line break", "x%0A::add-mask::y"),
    ("the older spelling", "x\n##[error]y"),
    ("the end of the properties", "x,line=1::error::y"),
]


@pytest.mark.parametrize("text", [row[1] for row in ATTACKS + COMMANDS], ids=[row[0] for row in ATTACKS + COMMANDS])
def test_hostile_texts(text: str) -> None:
    assert len(annotations([only(text, text, text)])) == 1
    annotations([attacked(text), Unread(text, text), replace(CLEAN, reference=text, place=text)])


@given(st.text(st.characters() | st.sampled_from("\r\n\x85\u2028%:,=#[]"), max_size=60))
def test_any_text_stays_in_its_command_and_comes_back_whole(text: str) -> None:
    (item,) = annotations([only(f"[{text}]", path=f"x{text}")])
    assert item.message == f"[{Style().clean(text)}]"
    assert item.properties["line"] == "7"
    annotations([attacked(text), Unread(text, text)])
