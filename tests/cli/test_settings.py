"""Option > variable > config file > default."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from cudacompat.cli.app import COMMANDS, cli
from tests.cli.conftest import Run

OLD, NEW = "535.183.01", "580.65.06"


def driver_of(run: Run, *options: str) -> str | None:
    result = run("check", "runs", "--format", "json", "--gpu", "A100", *options)
    assert result.exit_code in (0, 1, 3), result.stderr
    driver: str | None = json.loads(result.stdout)["host"]["driver"]
    return driver


def test_order(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert driver_of(run) is None
    Path("cudacompat.toml").write_text('[check]\ndriver = "550.54.15"\n')
    assert driver_of(run) == "550.54.15"
    monkeypatch.setenv("CUDACOMPAT_DRIVER", OLD)
    assert driver_of(run) == OLD
    assert driver_of(run, "--driver", NEW) == NEW


def test_named_config_file_counts_instead_of_the_folders(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cudacompat.toml").write_text(f'[check]\ndriver = "{OLD}"\n')
    Path("other.toml").write_text(f'[check]\ndriver = "{NEW}"\n')
    monkeypatch.setenv("CUDACOMPAT_CONFIG", "other.toml")
    assert driver_of(run) == NEW


def test_lists_and_flags_in_the_file(run: Run) -> None:
    Path("cudacompat.toml").write_text(
        f'[check]\ndriver = "{OLD}"\ngpu = ["A100", "RTX 4090"]\nquiet = true\nfail_on = "limited"\n[host]\ndriver = "x"\n'
    )
    result = run("check", "limited")
    assert result.exit_code == 1
    assert result.stdout.count("\n") == 1


def test_several_gpus_in_the_variable_are_separated_by_commas(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDACOMPAT_GPU", "NVIDIA A100-SXM4-80GB, RTX 4090")
    monkeypatch.setenv("CUDACOMPAT_FORMAT", "json")
    gpus = json.loads(run("host").stdout)["gpus"]
    assert [gpu["compute_capability"] for gpu in gpus] == ["8.0", "8.9"]


BROKEN = [
    ("an unknown option", '[check]\ndrivr = "1"\n', "did you mean 'driver'"),
    ("a number", "[check]\ndriver = 535.1\n", "text in quotes"),
    ("a text for a flag", '[check]\nquick = "yes"\n', "true or false"),
    ("no TOML", "[check\n", "no TOML"),
    ("no table", "check = 1\n", "must be a table"),
    ("a choice that is none", '[check]\nformat = "xml"\n', "json"),
    ("an output chosen by a checkout", '[check]\noutput = "/tmp/x"\n', "CUDACOMPAT_CONFIG"),
    ("a machine chosen by a checkout", '[check]\nhost = "ssh://evil"\n', "CUDACOMPAT_CONFIG"),
    ("results chosen by a checkout", '[check]\ncache-dir = "results"\n', "CUDACOMPAT_CONFIG"),
    ("trust chosen by a checkout", '[check]\ninsecure = ["evil:5000"]\n', "CUDACOMPAT_CONFIG"),
]


@pytest.mark.parametrize(("text", "words"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_broken_config_file_is_wrong_usage(run: Run, text: str, words: str) -> None:
    Path("cudacompat.toml").write_text(text)
    result = run("check", "runs")
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_output_is_fine_in_a_file_that_was_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine.toml").write_text(f'[check]\noutput = "report.txt"\ndriver = "{OLD}"\n')
    monkeypatch.setenv("CUDACOMPAT_CONFIG", "mine.toml")
    assert run("check", "runs", "--gpu", "A100").exit_code == 0
    assert Path("report.txt").exists()


def test_named_config_file_must_exist(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDACOMPAT_CONFIG", "gone.toml")
    assert run("check", "runs").exit_code == 2


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "data"])
def test_every_option_has_its_variable(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for option in command.params:
        if isinstance(option, click.Option):
            long = next(text for text in option.opts if text.startswith("--"))
            assert option.envvar == "CUDACOMPAT_" + long[2:].upper().replace("-", "_")
            assert option.help, f"{long} has no help"
