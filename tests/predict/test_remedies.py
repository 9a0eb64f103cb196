"""What is advised: it helps, it exists, and the cheapest comes first."""

from __future__ import annotations

import pytest

from cudacompat.model import HostFacts, ImageFacts
from cudacompat.predict import predict
from tests.support.facts import compat, cudart, host, image, torch

LISTED = {"NVIDIA_REQUIRE_CUDA": "cuda>=12.8 brand=tesla,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536"}
COMPAT_FIRST = {"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/usr/local/nvidia/lib64"}
PACKAGE = compat("580.65.06")

# What is asked: image, host, a text that some remedy holds, a text that none may hold.
Row = tuple[str, ImageFacts, HostFacts, str, str]
ROWS: list[Row] = [
    ("a board newer than the wheel needs a newer release", image(torch("2.6.0", "12.4")), host("570.86.16", "RTX 5090"), "torch 2.7 or newer in its cu128 build", "driver"),
    ("another build of the same release comes before a newer one", image(torch("2.8.0", "12.8")), host("570.133.07", "GTX 1080 Ti"), "cu126 build of torch 2.8.0", "or newer in its"),
    ("a base image that exists", image(cudart("12.8"), env=LISTED), host("565.57.01", "RTX 3090"), "CUDA 12.6 base image", "12.7"),
    ("no CUDA 13 driver for a board that it drops", image(cudart("12.8"), compat_package=compat("590.44.01", cuda="13.1"), env=COMPAT_FIRST), host("535.183.01", "V100"), "CUDA 12.2 base image", "driver"),
    ("the host's library before a compat folder that the hook takes", image(cudart("13.0"), compat_package=PACKAGE), host("575.57.08", "RTX 3090", injection="cdi", toolkit="1.18.1"), "install NVIDIA driver 580.65.06", "install NVIDIA driver 590"),
    ("a base image that still targets the board", image(cudart("13.0")), host("580.65.06", "V100"), "CUDA 12.9 base image", "driver"),
    ("no second path where one is enough", image(cudart("13.0"), compat_package=PACKAGE, env=COMPAT_FIRST), host("595.45.04", "RTX 5090", injection="cdi"), "take the compat folder out", "host's libcuda come first"),
    ("a path that puts the host's library first", image(cudart("12.4"), compat_package=compat("550.54.15", cuda="12.4"), ld_so_conf=["/usr/local/cuda/compat"]), host("575.57.08", "H100"), "let the host's libcuda come first", "driver"),
    ("GKE needs its path and no compat package", image(cudart("12.4")), host("535.183.06", "Tesla T4", injection="gke"), "set LD_LIBRARY_PATH=/usr/local/nvidia/lib64", "cuda-compat"),
    ("the check is not skipped where CUDA itself would fail", image(cudart("13.0"), env={"NVIDIA_REQUIRE_CUDA": "cuda>=13.0"}), host("535.104.05", "RTX 3090"), "install NVIDIA driver 580.65.06", "NVIDIA_DISABLE_REQUIRE"),
    ("the compat package stays where 35 would follow", image(cudart("13.0"), compat_package=PACKAGE, env=COMPAT_FIRST), host("535.104.05", "RTX 3090"), "install NVIDIA driver 580.65.06", "remove the cuda-compat"),
    ("Windows drivers for WSL", image(cudart("12.8"), env=LISTED), host("560.94", "RTX 3080", os="wsl2"), "install Windows driver", "install NVIDIA driver"),
    ("data center boards may take the compat package", image(torch("2.9.1", "13.0")), host("570.86.10", "H200"), "install cuda-compat-13-0", "590"),
]  # fmt: skip
ORDER = ("option", "package", "base-image", "driver")


@pytest.mark.parametrize(("facts", "machine", "some", "none"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_advice(facts: ImageFacts, machine: HostFacts, some: str, none: str) -> None:
    texts = [remedy.change.text for remedy in predict(facts, machine).remedies]
    assert any(some in text for text in texts), texts
    assert not any(none in text for text in texts), texts


@pytest.mark.parametrize(("facts", "machine"), [row[1:3] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_costs_least_comes_first(facts: ImageFacts, machine: HostFacts) -> None:
    kinds = [remedy.change.kind for remedy in predict(facts, machine).remedies]
    options = [kind for kind in kinds if kind == "option"]
    assert kinds[: len(options)] == options
    assert "driver" not in kinds[:-1]


def test_a_driver_that_drops_boards_is_no_cure_where_nobody_named_the_board() -> None:
    kinds = {remedy.change.kind for remedy in predict(image(torch("2.9.1", "13.0")), host("570.86.10")).remedies}
    assert "driver" not in kinds
