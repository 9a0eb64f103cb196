"""The examples of docs/ci.md: YAML that parses, and commands that the command line takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from cudacompat.cli.check import command

TEXT = (Path(__file__).parent.parent.parent / "docs" / "ci.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
CALLS = [match for _, block in BLOCKS for match in re.findall(r"cudacompat check ([^'\n]*?)(?: \|\||'|&&|>>|$)", block, re.MULTILINE)]  # fmt: skip


def test_yaml_parses() -> None:
    documents = [yaml.safe_load(block) for kind, block in BLOCKS if kind == "yaml"]
    assert [len(document) for document in documents] == [4, 1]


@pytest.mark.parametrize("call", CALLS)
def test_commands_are_taken(call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(re.sub(r"\$\{\{.*?\}\}|\$\w+", "x", call))
    context = command.make_context("check", words)
    assert isinstance(context, click.Context)
    assert context.params["targets"] and context.params["all_profiles"]


def test_every_call_of_the_page_is_tried() -> None:
    assert len(CALLS) == 7
