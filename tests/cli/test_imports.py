"""What a command does not use, it does not import: `check --quick` must start fast."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import click
before = set(sys.modules)
from cudacompat.cli.app import cli
cli.get_command(click.Context(cli), {name!r})
print(" ".join(set(sys.modules) - before))
"""
HEAVY = ["jsonschema", "docker", "requests", "xml.etree", "csv", "subprocess", "zstandard", "isal", "ssl", "tomllib"]


@pytest.mark.parametrize("name", ["check", "inspect", "host", "explain"])
def test_command_starts_light(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(name=name)], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "cudacompat.cli.app" in loaded
    assert not loaded.intersection(HEAVY)
    others = {"check", "inspect", "host", "explain", "data"} - {name}
    assert not loaded.intersection(f"cudacompat.cli.{other}" for other in others)
