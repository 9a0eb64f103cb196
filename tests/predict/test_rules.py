"""The catalogue of findings and the code name the same rules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import cudacompat
from cudacompat.predict.rules import RULES

ROOM = Path(cudacompat.__file__).parent / "predict"


def raised_rules() -> set[str]:
    """The first argument of every Finding(...) in the room, where it is a literal or a local choice of two."""
    names = set()
    for file in ROOM.glob("*.py"):
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    names.add(first.value)
    return names


def test_every_finding_raised_has_an_entry() -> None:
    assert raised_rules() - set(RULES) == set()


def test_the_scan_sees_the_findings() -> None:
    assert {"driver-too-old", "compat-not-eligible", "requirement-refused"} <= raised_rules()


@pytest.mark.parametrize("name", sorted(RULES))
def test_an_entry_says_cause_confirmation_and_fix(name: str) -> None:
    rule = RULES[name]
    assert rule.name == name
    assert all(len(text) > 10 for text in (rule.title, rule.cause, rule.confirm, rule.fix))


@pytest.mark.parametrize("name", sorted(RULES))
def test_no_entry_is_without_a_place_that_raises_it(name: str) -> None:
    source = "".join(file.read_text() for file in ROOM.parent.rglob("*.py") if not file.name.startswith("rules_of"))
    assert f'"{name}"' in source
