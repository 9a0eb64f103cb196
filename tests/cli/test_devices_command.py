"""``cudacompat devices`` as people call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cudacompat.cli.app import cli
from tests.support.schemas import validate


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["devices", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "indices"),
    [
        (("--cuda-visible-devices", "2,3"), 0, [2, 3]),
        (("--cuda-visible-devices", "2,3", "--nvidia-visible-devices", "2,3"), 1, []),
        (("--cuda-visible-devices", "0,1", "--nvidia-visible-devices", "2,3"), 0, [2, 3]),
        (("--slurm-gpus", "1,2", "--constrain-devices", "yes"), 0, [1, 2]),
        (("--slurm-gpus", "1-2", "--constrain-devices", "no"), 0, [1, 2]),
        (("--slurm-gpus", "1,2", "--constrain-devices", "yes", "--cuda-visible-devices", "1,2"), 0, [2]),
        (("--slurm-gpus", "none", "--constrain-devices", "yes"), 1, []),
        ((), 0, [0, 1, 2, 3]),
    ],
)
def test_the_devices_a_program_sees(arguments: tuple[str, ...], code: int, indices: list[int]) -> None:
    exit_code, out, _ = run(*arguments, "--gpus", "4", "--format", "json")
    document = json.loads(out)
    validate(document, "devices-v1")
    assert exit_code == code
    assert [device["host_index"] for device in document["devices"]] == indices


def test_uuids_come_from_a_host_file(tmp_path: Path) -> None:
    gpus = [
        {"name": "NVIDIA A100-SXM4-40GB", "compute_capability": "8.0", "brands": [], "uuid": f"GPU-{n}"} for n in "ab"
    ]
    file = tmp_path / "node.json"
    file.write_text(json.dumps({"schema": "cudacompat/host/v1", "driver": "535.104.05", "gpus": gpus}))
    code, out, _ = run("--cuda-visible-devices", "1", "--host", str(file))
    assert code == 0
    assert "GPU-b" in out
    assert "GPU-a" not in out


def test_where_a_list_is_cut_is_said() -> None:
    _, out, _ = run("--cuda-visible-devices", "0,7,1", "--gpus", "4")
    assert "sees 1 of the host's 4 GPUs" in " ".join(out.split())
    assert "cut at 7" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--gpus", "2", "--slurm-gpus", "0"), "--constrain-devices"),
        (("--gpus", "2", "--slurm-gpus", "9", "--constrain-devices", "yes"), "no GPU 9"),
        (("--gpus", "2", "--slurm-gpus", "x", "--constrain-devices", "yes"), "numbers such as"),
        (("--gpus", "2", "--nvidia-visible-devices", "5"), "names none"),
        (("--gpus", "2", "--host", "x"), "exclude each other"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
