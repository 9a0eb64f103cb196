"""What an image's config tells: environment, labels, history."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from cudacompat.evidence.config import components, environment
from cudacompat.model import Component, ImageConfig
from tests.support.evidence import brief


def of_env(*entries: str) -> list[Component]:
    return list(components(ImageConfig("linux/amd64", entries)))


def of_history(*commands: str) -> list[Component]:
    return list(components(ImageConfig("linux/amd64", history=commands)))


ENV = [
    (["CUDA_VERSION=12.4.1", "NV_CUDA_CUDART_VERSION=12.4.127-1"], ("cudart", "12.4.127", "12.4"), "CUDA_VERSION"),
    (["CUDA_VERSION=12.4.1"], ("cudart", None, "12.4"), "CUDA_VERSION"),
    (["CUDA_VERSION=12.8.0.038"], ("cudart", None, "12.8"), "CUDA_VERSION"),
    (["CUDA_VERSION=10.2"], ("cudart", None, "10.2"), "CUDA_VERSION"),
    (["CUDA_VERSION=v11.8"], ("cudart", None, "11.8"), "CUDA_VERSION"),
    (["NV_CUDA_CUDART_VERSION=11.4.148-1"], ("cudart", "11.4.148", "11.4"), "NV_CUDA_CUDART_VERSION"),
    (["CUDA_VERSION=", "NV_CUDA_CUDART_VERSION=11.4.148-1"], ("cudart", "11.4.148", "11.4"), "NV_CUDA_CUDART_VERSION"),
    (["CUDA_VERSION=x", "NV_CUDA_CUDART_VERSION=11.4.148-1"], ("cudart", "11.4.148", "11.4"), "NV_CUDA_CUDART_VERSION"),
    (["CUDA_VERSION=12.4.1", "NV_CUDA_CUDART_VERSION=junk"], ("cudart", None, "12.4"), "CUDA_VERSION"),
    (["CUDA_VERSION=11.0", "CUDA_VERSION=12.4.1"], ("cudart", None, "12.4"), "CUDA_VERSION"),
    (["NV_CUDNN_VERSION=9.1.0.70-1"], ("cudnn", "9.1.0.70", None), "NV_CUDNN_VERSION"),
    (["NV_LIBNCCL_PACKAGE_VERSION=2.21.5-1"], ("nccl", "2.21.5", None), "NV_LIBNCCL_PACKAGE_VERSION"),
    (["NV_LIBCUBLAS_VERSION=12.4.5.8-1"], ("cublas", "12.4.5.8", None), "NV_LIBCUBLAS_VERSION"),
    (["PYTORCH_VERSION=2.4.0"], ("torch", "2.4.0", None), "PYTORCH_VERSION"),
    (["PYTORCH_VERSION=2.6.0a0+ecf3bae40a"], ("torch", "2.6.0a0+ecf3bae40a", None), "PYTORCH_VERSION"),
]


@pytest.mark.parametrize(("entries", "expected", "where"), ENV, ids=[" ".join(row[0]) for row in ENV])
def test_a_variable_announces_a_part(
    entries: list[str], expected: tuple[str, str | None, str | None], where: str
) -> None:
    (part,) = of_env(*entries)
    assert (part.name, part.version, part.cuda) == expected
    values = dict(entry.split("=", 1) for entry in entries)
    assert (part.found_by, part.evidence.kind, part.evidence.where) == ("env", "env", where)
    assert part.evidence.value == values[where]


@pytest.mark.parametrize(
    "entries",
    [
        ["CUDA_VERSION="],
        ["CUDA_VERSION=latest"],
        ["CUDA_VERSION=12"],
        ["CUDA_VERSION=0.1"],
        ["CUDA_VERSION=999999.1"],
        ["CUDA_VERSION=12.4000"],
        ["CUDA_VERSION=١٢.٤"],
        ["CUDA_VERSION=" + "9" * 10_000],
        ["CUDA_VERSION"],
        ["=12.4"],
        [""],
        ["PYTORCH_VERSION=nightly"],
        ["NV_CUDNN_VERSION=$X"],
        ["CUDA_VERSION=12.4.1", "CUDA_VERSION="],
    ],
    ids=lambda entries: " ".join(entries)[:40],
)
def test_variables_that_announce_nothing(entries: list[str]) -> None:
    assert of_env(*entries) == []


def test_of_a_variable_twice_the_last_counts_as_evidence() -> None:
    env = ("PATH=/bin", "NVIDIA_REQUIRE_CUDA=cuda>=11", "A=b", "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=x", "NOT", "=x")
    found = list(environment(ImageConfig("linux/amd64", env)))
    assert [(one.kind, one.where, one.value, one.layer) for one in found] == [
        ("env", "NVIDIA_REQUIRE_CUDA", "cuda>=12.4 brand=x", None)
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("NVIDIA_VISIBLE_DEVICES", True),
        ("NVIDIA_DRIVER_CAPABILITIES", True),
        ("NVIDIA_DISABLE_REQUIRE", True),
        ("NV_CUDA_LIB_VERSION", True),
        ("CUDA_HOME", True),
        ("LD_LIBRARY_PATH", True),
        ("LD_PRELOAD", True),
        ("_CUDA_COMPAT_PATH", True),
        ("TORCH_CUDA_ARCH_LIST", True),
        ("PATH", False),
        ("MY_CUDA_VERSION", False),
        ("NVM_DIR", False),
        ("LD_LIBRARY_PATH_OLD", False),
        ("SECRET", False),
    ],
)
def test_which_variables_are_evidence(name: str, told: bool) -> None:
    assert bool(list(environment(ImageConfig("linux/amd64", (f"{name}=x=y",))))) is told


@pytest.mark.parametrize(
    ("label", "value", "expected"),
    [
        ("com.nvidia.cuda.version", "9.0.176", [("cudart", "9.0.176", "9.0")]),
        ("com.nvidia.cudnn.version", "7.6.5.32", [("cudnn", "7.6.5.32", None)]),
        ("com.nvidia.cuda.version", "none", []),
        ("com.nvidia.volumes.needed", "nvidia_driver", []),
    ],
)
def test_labels(label: str, value: str, expected: list[tuple[str, str, str | None]]) -> None:
    found = list(components(ImageConfig("linux/amd64", labels=MappingProxyType({label: value}))))
    assert brief(found) == expected
    assert all((part.found_by, part.evidence.where, part.evidence.value) == ("label", label, value) for part in found)


INDEX = "--index-url https://download.pytorch.org/whl"
HISTORY = [
    ("RUN /bin/sh -c pip install torch==2.4.0+cu124 # buildkit", [("torch", "2.4.0+cu124", "12.4", "cu124")]),
    (f"RUN pip3 install torch==2.1.0 {INDEX}/cu118", [("torch", "2.1.0", "11.8", "cu118")]),
    (f"RUN pip install torch==2.6.0 {INDEX}/nightly/cu126", [("torch", "2.6.0", "12.6", "cu126")]),
    (f"RUN pip install torch==2.1.0 {INDEX}/cpu", [("torch", "2.1.0", None, "cpu")]),
    (f"RUN pip install torch==2.1.0+cu121 {INDEX}/cu118", [("torch", "2.1.0+cu121", "12.1", "cu121")]),
    ("RUN uv pip install 'vllm[cuda]==0.6.3' \"numpy==1.26\"", [("vllm", "0.6.3", None, None)]),
    ("RUN pip install tensorflow[and-cuda]==2.18.0", [("tensorflow", "2.18.0", None, None)]),
    ("RUN pip install torch", []),
    ("RUN pip install torch>=2.4", []),
    ("ENV X=torch==2.4.0", []),
    (
        "RUN /bin/sh -c apt-get update && apt-get install -y cuda-cudart-12-4=${NV_CUDA_CUDART_VERSION} cuda-compat-12-4",
        [("cudart", None, "12.4", None), ("libcuda-compat", None, "12.4", None)],
    ),
    ("RUN apt-get install -y libcudnn9-cuda-12=9.1.0.70-1", [("cudnn", "9.1.0.70", "12", None)]),
    ("RUN dnf install -y libnccl2=2.21.5-1+cuda12.4", [("nccl", "2.21.5", "12.4", None)]),
    ("COPY cuda-cudart-12-4 /x", []),
    ("RUN conda install pytorch-cuda=12.4 -c nvidia", [("pytorch-cuda", "12.4", "12.4", None)]),
    ("RUN mamba install cudatoolkit==11.8", [("cudart", "11.8", "11.8", None)]),
    ("", []),
    ("\x00\xff", []),
]


@pytest.mark.parametrize(("command", "expected"), HISTORY, ids=[row[0][:60] for row in HISTORY])
def test_a_command_announces_parts(
    command: str, expected: list[tuple[str, str | None, str | None, str | None]]
) -> None:
    found = of_history("FROM x", command)
    assert [(part.name, part.version, part.cuda, part.variant) for part in found] == expected
    assert all((part.found_by, part.evidence.where) == ("history", "history[1]") for part in found)
    assert all(command.startswith(part.evidence.value) and len(part.evidence.value) <= 400 for part in found)


def test_a_history_of_millions_of_installs_is_cut() -> None:
    line = "pip install " + "torch==2.4.0 " * 7000
    assert len(of_history(*[line] * 10)) == 5000
