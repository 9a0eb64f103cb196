"""inspect, host, explain and the help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cudacompat._version import __version__
from cudacompat.cli.app import COMMANDS
from tests.cli.conftest import DRIVER, Run
from tests.support.schemas import validate


def test_inspect(run: Run) -> None:
    text = run("inspect", "fails")
    assert text.exit_code == 0
    assert "cudart" in text.stdout
    document = json.loads(run("inspect", "fails", "--format", "json").stdout)
    validate(document, "inspect-v1")
    assert document["image"]["components"][0]["cuda"] == "13.0"


def test_host_json_is_read_back(run: Run) -> None:
    assert run("host", *DRIVER, "--format", "json", "--output", "node.json").exit_code == 0
    written = json.loads(Path("node.json").read_text())
    validate(written, "host-v1")
    again = json.loads(run("host", "--host", "node.json", "--format", "json").stdout)
    assert again == {**written, "origin": "node.json"}
    assert "NVIDIA" in run("host", "--driver", "535.183.01", "--gpu", "L4").stdout


def test_explain(run: Run) -> None:
    assert run("explain", "804").stdout.startswith("804 CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE")
    assert "requirement-refused" in run("explain").stdout
    for arguments in (("explain",), ("explain", "804"), ("explain", "driver-too-old")):
        validate(json.loads(run(*arguments, "--format", "json").stdout), "explain-v1")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_starts_with_the_job_and_an_example(run: Run, name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    assert lines[1].endswith(".")
    assert any(line.startswith(f"cudacompat {name}") for line in lines[2:6])


def test_help_of_the_group(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in COMMANDS)
    assert "Exit codes" in result.stdout


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"cudacompat, version {__version__}\n"
