"""``cudacompat fleet --slurm``: a real Slurm is asked; what nvidia-smi prints on its nodes is a sample's text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.machines import HOSTS, put
from tests.support.schemas import validate
from tests.support.slurm import Cluster, require_slurm, slurm

pytestmark = pytest.mark.slurm
EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "torch-cu130-on-cuda-12.8.tar"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    require_slurm()
    with slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running


def ask(cluster: Cluster, *arguments: object, path: str = "") -> dict[str, object]:
    command = [sys.executable, "-m", "cudacompat", "fleet", str(EXAMPLE), *map(str, arguments), "--format", "json"]
    environment = {**cluster.env, "PATH": path + cluster.env["PATH"]}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=400, check=False)
    assert done.returncode in (0, 1, 3), done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    validate(document, "fleet-v1")
    return document


def drivers(document: dict[str, object]) -> dict[str, str | None]:
    kinds = document["kinds"]
    return {row["node"]: kinds[row["kind"]]["host"]["driver"] for row in document["nodes"]}


def test_the_site_is_asked(cluster: Cluster) -> None:
    document = ask(cluster, "--slurm")
    assert drivers(document) == {"gpu01": "535", "gpu02": "550", "gpu03": None, "cpu01": None}
    assert {row["node"]: row["gpu_count"] for row in document["nodes"]} == {
        "gpu01": 4,
        "gpu02": 4,
        "gpu03": 2,
        "cpu01": 0,
    }


def test_a_node_of_each_type_is_asked_by_a_job(cluster: Cluster, tmp_path: Path) -> None:
    """Jobs take the caller's path with them, so the stand-in stands on every node."""
    sample = HOSTS / "a100.xml"
    program = f'#!/bin/sh\ncase "$*" in *-x*) cat {sample};; *) exit 1;; esac\n'
    put(tmp_path, "bin/nvidia-smi", program).chmod(0o755)
    version = sample.read_text().partition("<driver_version>")[2].partition("<")[0]
    document = ask(cluster, "--slurm", "--slurm-srun", path=f"{tmp_path}/bin:")
    assert drivers(document) == {"gpu01": version, "gpu02": version, "gpu03": version, "cpu01": None}
    assert {row["node"]: row["gpu_count"] for row in document["nodes"]}["gpu01"] == 4


def test_a_node_that_does_not_answer_stays_as_the_scheduler_knows_it(cluster: Cluster) -> None:
    cluster.run("scontrol", "update", "NodeName=gpu03", "State=DRAIN", "Reason=test")
    try:
        document = ask(cluster, "--slurm", "--slurm-srun")
    finally:
        cluster.run("scontrol", "update", "NodeName=gpu03", "State=RESUME")
    assert drivers(document)["gpu03"] is None
    assert {row["node"]: row["schedulable"] for row in document["nodes"]}["gpu03"] is False


def test_a_node_without_a_driver_is_told(cluster: Cluster) -> None:
    document = ask(cluster, "--slurm", "--slurm-srun")
    summary = document["summary"]
    assert any(note.startswith("gpu01: ") and "driver" in note for note in summary["notes"]), summary["notes"]
    assert drivers(document)["gpu01"] == "535"
