"""Whatever goes wrong: one line on stderr, nothing on stdout, the right exit code, never a traceback."""

from __future__ import annotations

import pytest

from tests.cli.conftest import DRIVER, Run

USAGE = [
    ("no target", ("check",), "Missing argument"),
    ("an unknown command", ("chekc",), "chekc"),
    ("an unknown option", ("check", "runs", "--drivr", "1"), "--driver"),
    ("a driver that is none", ("check", "runs", "--driver", "latest"), "535.183.01"),
    ("an unknown GPU", ("check", "runs", "--gpu", "Voodoo 2"), "not in the table"),
    ("an unknown format", ("check", "runs", "--format", "xml"), "json"),
    ("an unknown threshold", ("check", "runs", "--fail-on", "maybe"), "limited"),
    ("an unknown mode", ("check", "runs", "--injection", "magic"), "legacy"),
    ("an output folder", ("check", "runs", *DRIVER, "--output", "."), "is a folder"),
    ("an output in no folder", ("check", "runs", *DRIVER, "--output", "no/where"), "does not exist"),
    ("an unknown finding", ("explain", "requirement-refusd"), "requirement-refused"),
    ("a reference that is none", ("check", "nonsense", *DRIVER), "is no reference"),
]


def one_line(stderr: str) -> str:
    assert stderr.startswith("cudacompat: error: ")
    assert stderr.endswith("\n")
    assert stderr.count("\n") == 1
    assert "Traceback" not in stderr
    return stderr


@pytest.mark.parametrize(("arguments", "words"), [row[1:] for row in USAGE], ids=[row[0] for row in USAGE])
def test_wrong_usage(run: Run, arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in one_line(result.stderr)


def test_unreadable_target(run: Run) -> None:
    result = run("check", "gone", *DRIVER)
    assert result.exit_code == 4
    assert one_line(result.stderr) == "cudacompat: error: gone: there is no such image\n"
    assert run("inspect", "gone").exit_code == 4


def test_unreadable_host_file(run: Run) -> None:
    result = run("check", "runs", "--host", "gone.xml")
    assert result.exit_code == 4
    assert "gone.xml" in one_line(result.stderr)


def test_escape_sequences_in_an_error_are_spelled_out(run: Run) -> None:
    line = one_line(run("check", "hostile", *DRIVER).stderr)
    assert "\x1b" not in line
    assert "\\x1b[2J name" in line


def test_what_nobody_foresaw_asks_for_a_report(run: Run) -> None:
    result = run("check", "crash", *DRIVER)
    assert result.exit_code == 4
    assert "please report it" in one_line(result.stderr)


def test_debug_shows_where_it_happened(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDACOMPAT_DEBUG", "1")
    assert isinstance(run("check", "crash", *DRIVER).exception, RecursionError)


def test_interrupt_is_a_word_and_130(run: Run) -> None:
    result = run("check", "stopped", *DRIVER)
    assert result.exit_code == 130
    assert "interrupted" in result.stderr


def test_host_without_a_driver(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudacompat.host.local.local_host.__defaults__", ((), None))
    result = run("host")
    assert result.exit_code == 4
    assert "give --driver" in one_line(result.stderr)
