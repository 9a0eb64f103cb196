"""``cudacompat matrix`` as a program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "torch-cu130-on-cuda-12.8.tar"


def matrix(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cudacompat", "matrix", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_given_drivers_and_boards() -> None:
    done = matrix(str(EXAMPLE), "--driver", "580.65.06", "--driver", "550", "--gpu", "A100", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    told = {(cell["driver"], cell["gpu"]): cell["verdict"]["outcome"] for cell in document["cells"]}
    assert told == {("580.65.06", "A100"): "runs", ("550", "A100"): "fails"}


def test_page_in_a_file(tmp_path: Path) -> None:
    done = matrix(str(EXAMPLE), "--format", "html", "--output", str(tmp_path / "page.html"))
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_what_cannot_be_read_or_understood() -> None:
    assert matrix("/nowhere/image.tar").returncode == 4
    assert matrix(str(EXAMPLE), "--driver", "banana").returncode == 2
    assert matrix(str(EXAMPLE), "--gpu", "Voodoo").returncode == 2
