"""Rooms import only in the allowed directions, and the public surface is what it says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import cudacompat

PACKAGE = Path(cudacompat.__file__).parent
BASE = {"model", "errors", "_version"}
ALLOWED = {
    "model": {"report"},  # Report.to_dict, inside the method
    "binaries": BASE | {"layers", "tables"},
    "layers": BASE,
    "tables": BASE,
    "stack": BASE,
    "evidence": BASE | {"layers", "binaries", "tables", "stack"},
    "predict": BASE | {"stack", "tables"},
    "host": BASE | {"tables", "stack"},
    "inventory": BASE | {"host", "tables"},
    "sources": BASE | {"layers"},
    "cache": BASE,
    "workloads": BASE | {"tables", "report"},
    "report": BASE | {"predict", "tables"},
}


def imported_rooms(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cudacompat"):
            parts = node.module.split(".")
            found.update([parts[1]] if len(parts) > 1 else [alias.name for alias in node.names])
    return found


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_room_imports_only_what_it_may(room: str) -> None:
    for file in (PACKAGE / room).rglob("*.py"):
        extra = imported_rooms(file) - ALLOWED[room] - {room}
        assert not extra, f"{file.relative_to(PACKAGE)} imports {sorted(extra)}"


def test_prediction_and_stack_do_no_input_or_output() -> None:
    for room in ("predict", "stack", "model"):
        for file in (PACKAGE / room).rglob("*.py"):
            source = file.read_text()
            for word in ("open(", "subprocess", "requests", "import os", "pathlib", "socket"):
                assert word not in source, f"{file.name} uses {word}"


def test_files_stay_short() -> None:
    long = {file.name: len(file.read_text().splitlines()) for file in PACKAGE.rglob("*.py")}
    assert {name: lines for name, lines in long.items() if lines > 420} == {}


def test_public_names_exist() -> None:
    for name in cudacompat.__all__:
        assert getattr(cudacompat, name) is not None


def test_predict_is_the_function() -> None:
    import cudacompat.predict

    assert callable(cudacompat.predict)
