"""Every rule on docker run lines, Compose files and Dockerfiles, and Docker's own answers on --gpus."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cudacompat.workloads import Inventory, check_command, check_text
from cudacompat.workloads.docker.command import read_gpus

NONE = Inventory()
OLD = Inventory(compose_version=(2, 27), runtimes=frozenset({"runc"}))
NEW = Inventory(compose_version=(2, 35), runtimes=frozenset({"runc", "nvidia"}))
RECORDED = (Path(__file__).parent.parent / "data" / "docker_gpus_flag.txt").read_text()


def service(body: str, name: str = "s") -> str:
    return (
        "services:\n  " + name + ":\n    image: a/b:1\n" + "".join(f"    {line}\n" for line in body.split("|") if line)
    )


def devices(entry: str, place: str = "reservations") -> str:
    return f"deploy: {{resources: {{{place}: {{devices: [{entry}]}}}}}}"


GPU = devices("{driver: nvidia, count: 1, capabilities: [gpu]}")
BAD = [
    ("D01", "docker run --gpus device=0,1 a/b:1", NONE),
    ("D02", "docker run --gpus 0,1 a/b:1", NONE),
    ("D03", "docker run --gpus 0 a/b:1", NONE),
    ("D04", "docker run --gpus 2 a/b:1", NONE),
    ("D05", "docker run --gpus all,capabilities=compute,utility a/b:1", NONE),
    ("D06", "docker run --gpus all,capabilities=utility a/b:1", NONE),
    ("D06", "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=utility a/b:1", NONE),
    ("D07", "docker run -e NVIDIA_VISIBLE_DEVICES=all a/b:1", NONE),
    ("D08", "docker run --device /dev/nvidia0 a/b:1", NONE),
    ("D09", "docker run --runtime=nvidia --gpus all a/b:1", NONE),
    ("D10", "docker run -it --rm a/b:1 --gpus all", NONE),
    ("D10", "docker run -it --rm a/b:1 --gpus 2", NONE),
    ("D10", "docker run -it --rm a/b:1 nvidia-smi --gpus=all", NONE),
    ("D10", "docker run -it --rm a/b:1 bash --gpus '\"device=0,1\"'", NONE),
    ("D11", "docker run --gpus '\"device=2,3\"' -e CUDA_VISIBLE_DEVICES=2,3 a/b:1", NONE),
    ("D11", "podman run --device nvidia.com/gpu=2 -e CUDA_VISIBLE_DEVICES=2 a/b:1", NONE),
    ("D12", "docker run --gpus ALL a/b:1", NONE),
    ("D12", "docker run --gpus 1.5 a/b:1", NONE),
    ("D13", "docker run --gpus all vllm/vllm-openai:v0.8.5 --model m --tensor-parallel-size 1", NONE),
    ("D13", "docker run --gpus all ghcr.io/huggingface/text-generation-inference:2.0 --model-id m --num-shard 1", NONE),
    ("D13", "docker run --gpus all a/b:1 torchrun --nproc_per_node=1 t.py", NONE),
    ("D14", "podman run --gpus all a/b:1", NONE),
    ("D15", "docker run --gpus all -e NVIDIA_DISABLE_REQUIRE=1 a/b:1", NONE),
    ("V01", "docker run --gpus all -e CUDA_VISIBLE_DEVICES=0,0 a/b:1", NONE),
    ("X03", "docker run --gpus all a/b", NONE),
    ("C01", service(devices("{driver: nvidia, count: 1}")), NONE),
    ("C02", service(devices("{count: 1, device_ids: ['0'], capabilities: [gpu]}")), NONE),
    ("C03", service(devices("{driver: nvidia, capabilities: [gpu]}")), NONE),
    ("C04", service("environment: {NVIDIA_VISIBLE_DEVICES: all}"), NONE),
    ("C04", service("environment: [NVIDIA_VISIBLE_DEVICES=all]"), NONE),
    ("C05", service("gpus: all"), OLD),
    ("C06", service(GPU + "|environment: [NVIDIA_DRIVER_CAPABILITIES=utility]"), NONE),
    ("C07", service(devices("{count: 1, capabilities: [gpu]}", "limits")), NONE),
    ("C08", service("runtime: nvidia"), OLD),
    ("C09", service(devices("{device_ids: ['1'], capabilities: [gpu]}") + "|environment: {CUDA_VISIBLE_DEVICES: '1'}"), NONE),
    ("C10", "services:\n  s:\n    environment: {A: b}\n", NONE),
    ("C11", service("deploy: {placement: {constraints: [a]}, resources: {reservations: {devices: [{count: 1, capabilities: [gpu]}]}}}"), NONE),
    ("C12", service(GPU + "|command: --model m --tensor-parallel-size 2"), NONE),
    ("D15", service(GPU + "|environment: {NVIDIA_DISABLE_REQUIRE: 'true'}"), NONE),
    ("X03", service(GPU).replace("a/b:1", "${IMAGE:-a/b:latest}"), NONE),
    ("V02", service(GPU + "|environment: {CUDA_VISIBLE_DEVICES: ''}"), NONE),
    ("F01", "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN pip install torch --index-url https://download.pytorch.org/whl/cu128\n", NONE),
    ("F02", "FROM a/b:1\nENV LD_LIBRARY_PATH=/opt/lib\n", NONE),
    ("F03", "FROM a/b:1\nENV NVIDIA_VISIBLE_DEVICES=0,1\n", NONE),
    ("F04", "FROM a/b:1\nENV NVIDIA_DRIVER_CAPABILITIES utility\n", NONE),
    ("F05", "FROM ubuntu:22.04\nRUN apt-get update && \\\n    apt-get install -y nvidia-driver-535\n", NONE),
    ("D15", "FROM a/b:1\nENV NVIDIA_DISABLE_REQUIRE=1\n", NONE),
    ("V06", "FROM a/b:1\nENV CUDA_VISIBLE_DEVICES=all\n", NONE),
    ("X03", "ARG BASE=nvidia/cuda\nFROM ${BASE} AS build\nRUN true\nFROM build\n", NONE),
    ("D15", "docker run --gpus all --env NVIDIA_DISABLE_REQUIRE=true a/b:1", NONE),
    ("D07", "docker run --env NVIDIA_VISIBLE_DEVICES=all a/b:1", NONE),
    ("X03", 'docker run --gpus all --env "HF_TOKEN=x" --ipc=host vllm/vllm-openai:latest --model m', NONE),
    ("D01", "#!/bin/bash\ndocker run $EXTRA_ARGS --gpus device=0,1 a/b:1", NONE),
    ("D12", "#!/bin/bash\ndocker run --rm $OPTS --gpus ALL a/b:1", NONE),
    ("C06", service(devices("{driver: nvidia, count: 1, capabilities: [gpu, utility]}")), NONE),
    ("C09", service("runtime: nvidia|environment: {NVIDIA_VISIBLE_DEVICES: '1', CUDA_VISIBLE_DEVICES: '1'}"), NONE),
]  # fmt: skip
GOOD = [
    ("D01", "docker run --gpus '\"device=0,1\"' a/b:1", NONE),
    ("D02", "docker run --gpus device=0 a/b:1", NONE),
    ("D03", "docker run --gpus all a/b:1", NONE),
    ("D04", "docker run --gpus device=1 a/b:1", NONE),
    ("D05", "docker run --gpus 'all,\"capabilities=compute,utility\"' a/b:1", NONE),
    ("D06", "docker run --gpus 'all,\"capabilities=compute,utility\"' a/b:1", NONE),
    ("D07", "docker run --gpus all -e NVIDIA_VISIBLE_DEVICES=all a/b:1", NONE),
    ("D07", "docker run -e NVIDIA_VISIBLE_DEVICES=void a/b:1", NONE),
    ("D08", "docker run --device nvidia.com/gpu=all a/b:1", NONE),
    ("D09", "docker run --gpus all a/b:1", NONE),
    ("D10", "docker run --gpus all a/b:1 prog --gpus 2", NONE),
    ("D10", "docker run a/b:1 python t.py --gpus 2", NONE),
    ("D11", "docker run --gpus '\"device=2,3\"' -e CUDA_VISIBLE_DEVICES=0,1 a/b:1", NONE),
    ("D11", "podman run --device nvidia.com/gpu=all -e CUDA_VISIBLE_DEVICES=2 a/b:1", NONE),
    ("D12", "docker run --gpus=all a/b:1", NONE),
    ("D13", "docker run --gpus all vllm/vllm-openai:v0.8.5 --model m", NONE),
    ("D14", "podman run --device nvidia.com/gpu=all a/b:1", NONE),
    ("D15", "docker run --gpus all a/b:1", NONE),
    ("V01", "docker run --gpus all -e CUDA_VISIBLE_DEVICES=0,1 a/b:1", NONE),
    ("X03", "docker run --gpus all a/b:1", NONE),
    ("C01", service(GPU), NONE),
    ("C02", service(devices("{device_ids: ['0'], capabilities: [gpu]}")), NONE),
    ("C03", service(devices("{count: all, capabilities: [gpu]}")), NONE),
    ("C04", service(GPU + "|environment: {NVIDIA_VISIBLE_DEVICES: all}"), NONE),
    ("C05", service("gpus: all"), NEW),
    ("C06", service(GPU + "|environment: ['NVIDIA_DRIVER_CAPABILITIES=compute,utility']"), NONE),
    ("C07", service(GPU), NONE),
    ("C08", service("runtime: nvidia"), NEW),
    ("C09", service(devices("{device_ids: ['1'], capabilities: [gpu]}") + "|environment: {CUDA_VISIBLE_DEVICES: '0'}"), NONE),
    ("C10", "services:\n  s: {build: .}\n", NONE),
    ("C11", service(GPU), NONE),
    ("C12", service(devices("{count: 2, capabilities: [gpu]}") + "|command: --model m --tensor-parallel-size 2"), NONE),
    ("X03", service("environment: {A: b}").replace("a/b:1", "redis"), NONE),
    ("F01", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN pip install torch --index-url https://download.pytorch.org/whl/cu128\n", NONE),
    ("F02", "FROM a/b:1\nENV LD_LIBRARY_PATH=/opt/lib:${LD_LIBRARY_PATH}\n", NONE),
    ("F03", "FROM a/b:1\nENV NVIDIA_VISIBLE_DEVICES=all\n", NONE),
    ("F04", 'FROM a/b:1\nENV NVIDIA_DRIVER_CAPABILITIES="compute,utility"\n', NONE),
    ("F05", "FROM ubuntu:22.04 AS tools\nRUN apt-get install -y nvidia-driver-535\nFROM ubuntu:22.04\nRUN apt-get install -y curl\n", NONE),
    ("X03", "FROM a/b@sha256:" + "0" * 64 + "\nRUN true\n", NONE),
    ("X03", "#!/bin/bash\ndocker run --rm $DOCKER_ARGS a/b:1 python t.py", NONE),
    ("D10", "#!/bin/bash\ndocker run --rm $EXTRA --gpus all a/b:1 python t.py", NONE),
    ("C06", service(devices("{driver: nvidia, count: 1, capabilities: [gpu, compute]}") + "|environment: [NVIDIA_DRIVER_CAPABILITIES=utility]"), NONE),
    ("C09", service("runtime: nvidia|environment: {NVIDIA_VISIBLE_DEVICES: all, CUDA_VISIBLE_DEVICES: '1'}"), NONE),
]  # fmt: skip


def rules_of(text: str, inventory: Inventory) -> set[str]:
    name = "Dockerfile" if text.startswith(("FROM", "ARG")) else "x.yaml" if "services:" in text else "run.sh"
    return {finding.rule for finding in check_text(text, name, inventory=inventory).findings}


@pytest.mark.parametrize(("rule", "text", "inventory"), BAD, ids=[f"{r[0]} {r[1]!r:.60}" for r in BAD])
def test_the_rule_names(rule: str, text: str, inventory: Inventory) -> None:
    assert rule in rules_of(text, inventory)


@pytest.mark.parametrize(("rule", "text", "inventory"), GOOD, ids=[f"{r[0]} {r[1]!r:.60}" for r in GOOD])
def test_the_rule_leaves_alone(rule: str, text: str, inventory: Inventory) -> None:
    assert rule not in rules_of(text, inventory)


def _recorded() -> list[tuple[str, str]]:
    """(--gpus value, Docker's answer) for the lines of the recording that use --gpus once."""
    found = []
    for command, answer in re.findall(
        r"^\$ docker create/start --network none (--gpus.*) empty:1\n(.*)$", RECORDED, re.M
    ):
        if command.count("--gpus") == 1 and "-e " not in command:
            value = re.sub(r"^--gpus[ =]", "", command)
            found.append((value, answer))
    return found


@pytest.mark.parametrize(("value", "answer"), _recorded(), ids=[repr(v) for v, _ in _recorded()])
def test_gpus_values_are_read_as_docker_reads_them(value: str, answer: str) -> None:
    flag = read_gpus(value)
    if answer.startswith("invalid argument"):
        assert flag.refused
        assert not flag.refused_by_daemon
        return
    request = json.loads(answer.split("] runtime=", maxsplit=1)[0] + "]")[0]
    assert flag.count == request["Count"]
    assert list(flag.device_ids) == (request["DeviceIDs"] or [])
    assert [*flag.capabilities, "gpu"] == request["Capabilities"][0]
    assert flag.driver == request["Driver"]


def test_a_command_line_split_by_the_shell() -> None:
    report = check_command(["docker", "run", "--gpus", '"device=0,1"', "a/b"])
    assert [f.rule for f in report.findings] == ["X03"]
    assert [use.target for use in report.images] == ["image://a/b"]


def test_an_array_of_options_is_followed() -> None:
    text = '#!/bin/bash\nOPTS=(--gpus 0,1 --rm)\ndocker run "${OPTS[@]}" a/b:1\n'
    assert {f.rule for f in check_text(text, "run.sh").findings} == {"D02"}


def test_a_docker_line_that_cannot_work_is_named_inside_a_slurm_job_too() -> None:
    text = "#!/bin/bash\n#SBATCH --gpus-per-node=2\ndocker run --gpus device=0,1 a/b:1\n"
    assert "D01" in {f.rule for f in check_text(text, "job.sh").findings}


def test_extends_and_anchors_are_followed() -> None:
    text = (
        "x-gpu: &gpu\n  deploy: {resources: {reservations: {devices: [{driver: nvidia, capabilities: [gpu]}]}}}\n"
        "services:\n  base:\n    image: a/b:1\n    <<: *gpu\n  s:\n    extends: base\n    environment: {A: b}\n"
    )
    report = check_text(text, "compose.yaml")
    assert [f.rule for f in report.findings] == ["C03", "C03"]
    assert [use.gpus for use in report.images] == [True, True]


def test_the_base_image_is_that_of_the_last_stage() -> None:
    text = (
        "ARG TAG=12.4.1-devel-ubuntu22.04\nFROM nvidia/cuda:${TAG} AS base\nRUN nvcc x.cu\n"
        "FROM golang:1.22 AS tools\nRUN go build\nFROM base\nCOPY --from=tools /x /x\n"
    )
    report = check_text(text, "Dockerfile")
    assert [(use.reference, use.line) for use in report.images] == [("nvidia/cuda:12.4.1-devel-ubuntu22.04", 2)]


def test_a_heredoc_belongs_to_its_instruction() -> None:
    text = "FROM nvidia/cuda:11.8.0-base\nRUN <<EOF\npip install torch==2.4.0+cu124\nEOF\nCMD x\n"
    assert [(f.rule, f.location and f.location.line) for f in check_text(text, "Dockerfile").findings] == [("F01", 2)]
