"""The command itself on this machine, with NVML's stand-in before the loader: what it writes, ``check`` reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.host.test_nvml import A100
from tests.support.schemas import validate

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "torch-cu130-on-cuda-12.8.tar"


def cudacompat(library: Path, folder: Path, *arguments: str, **said: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUDACOMPAT_")}
    environment |= {f"NVML_{key}": value for key, value in {**A100, **said}.items()}
    environment |= {"LD_LIBRARY_PATH": str(library), "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "cudacompat", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def test_host_is_written_and_read_back(tmp_path: Path, library: Path) -> None:
    done = cudacompat(library, tmp_path, "host", "--format", "json", "--output", "node.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    written = json.loads((tmp_path / "node.json").read_text())
    validate(written, "host-v1")
    assert (written["driver"], written["driver_cuda"], written["gpus"][0]["uuid"]) == (
        "535.183.01",
        "12.2",
        A100["gpu0_uuid"],
    )
    again = json.loads(cudacompat(library, tmp_path, "host", "--host", "node.json", "--format", "json").stdout)
    assert {**again, "origin": None} == {**written, "origin": None}


def test_check_asks_the_machine_it_runs_on(tmp_path: Path, library: Path) -> None:
    done = cudacompat(library, tmp_path, "check", str(EXAMPLE), "--quiet")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("✗ FAILS  at init, error 35")
    assert cudacompat(library, tmp_path, "check", str(EXAMPLE), driver="580.65.06", cuda="13000").returncode == 0


def test_text_for_a_person(tmp_path: Path, library: Path) -> None:
    text = cudacompat(library, tmp_path, "host", gpu0_name="NVIDIA \x1b[2J").stdout
    assert text.startswith("driver              535.183.01 (CUDA 12.2)\n")
    assert "How containers get GPUs" in text
    assert "\x1b" not in text


@pytest.mark.gpu
def test_the_real_driver_of_this_machine(tmp_path: Path) -> None:
    if not Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has no NVIDIA driver")
    done = subprocess.run(
        [sys.executable, "-m", "cudacompat", "host", "--format", "json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    host = json.loads(done.stdout)
    shown = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version,uuid,compute_cap", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=True,
    )
    driver, uuid, capability = (value.strip() for value in shown.stdout.splitlines()[0].split(","))
    assert (host["driver"], host["gpus"][0]["uuid"], host["gpus"][0]["compute_capability"]) == (
        driver,
        uuid,
        capability,
    )
