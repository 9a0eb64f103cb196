"""One row per way a launch can go: image and host in, outcome, stage, error code and path out."""

from __future__ import annotations

import pytest

from cudacompat.model import HostFacts, ImageFacts, SharedLibrary
from cudacompat.predict import predict
from tests.support.facts import compat, component, cudart, host, image, kernels, torch

COMPAT_FIRST = {"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/usr/local/nvidia/lib64"}
LISTED = {"NVIDIA_REQUIRE_CUDA": "cuda>=12.8 brand=tesla,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536"}
NOTE = '{"CUDA version": "13.0", "driver": [535, 550, 570, 580], "device": [1, 2, 12, 13, 14]}'
ORIN_NOTE = '{"CUDA version": "13.2"}'
TESLA = {
    "NVIDIA_REQUIRE_CUDA": "cuda>=11.6 brand=tesla,driver>=450,driver<451 brand=tesla,driver>=470,driver<471 brand=tesla,driver>=535,driver<536"
}
STUB = SharedLibrary(
    "/usr/local/cuda-12.4/lib64/stubs/libcuda.so",
    ("/usr/local/cuda-12.4/lib64/stubs/libcuda.so.1",),
    "libcuda.so.1",
    None,
    size=60_000,
)
BAKED = SharedLibrary(
    "/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.10",
    ("/usr/lib/x86_64-linux-gnu/libcuda.so.1",),
    "libcuda.so.1",
    "570.86.10",
    size=9_000_000,
)
LINKED = SharedLibrary(
    "/s/torch/lib/libtorch_cuda.so", (), "libtorch_cuda.so", size=9_000_000, needed=("libc.so.6", "libcudnn.so.9")
)
CUDNN = SharedLibrary("/s/nvidia/cudnn/lib/libcudnn.so.9", (), "libcudnn.so.9", size=9_000)
NAMELESS = SharedLibrary("/opt/driver/libcuda.so.1", (), "libcuda.so.1", None, size=9_000_000)
OLD = SharedLibrary(
    "/opt/driver/libcuda.so.418.87.00", ("/opt/driver/libcuda.so.1",), "libcuda.so.1", "418.87.00", size=9_000_000
)
EMPTY = SharedLibrary(
    "/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.10", ("/usr/lib/x86_64-linux-gnu/libcuda.so.1",), None, "570.86.10"
)

Row = tuple[str, ImageFacts, HostFacts, str, str | None, int | None, str | None]
ROWS: list[Row] = [
    # init by the host's own driver
    ("same CUDA runs natively", image(cudart("12.4")), host("550.54.15"), "runs", None, None, "native"),
    ("older major runs natively", image(cudart("11.8")), host("580.65.06"), "runs", None, None, "native"),
    ("newer minor runs with limits", image(cudart("12.8")), host("535.104.05"), "runs-limited", None, None, "minor-version"),
    ("newer major is 35", image(cudart("13.0")), host("570.86.10"), "fails", "init", 35, None),
    ("no minor compat before 11", image(cudart("10.2")), host("418.56"), "fails", "init", 35, None),
    ("patch level counts for CUDA 8", image(cudart("8.0")), host("367.35"), "fails", "init", 35, None),
    ("CUDA 8 on its minimum", image(cudart("8.0")), host("367.48"), "runs", None, None, "native"),
    ("11.4 below the floor of minor compat", image(cudart("11.4")), host("450.51.06"), "fails", "init", 35, None),
    ("11.4 from the floor on", image(cudart("11.4")), host("450.80.02"), "runs-limited", None, None, "minor-version"),
    ("12.x below 525.60.13", image(cudart("12.4")), host("525.53"), "fails", "init", 35, None),
    ("wheel needs more than the base", image(cudart("12.8"), torch("2.9.1", "13.0")), host("570.195.03", "A100"), "fails", "init", 35, None),
    ("base needs more than the wheel", image(cudart("13.0"), torch("2.7.0", "12.6")), host("550.54.15", "A100"), "runs-limited", None, None, "minor-version"),
    ("GPU newer than the driver branch", image(cudart("12.4")), host("550.54.15", "RTX 5090"), "fails", "init", 100, None),
    ("GPU dropped by the driver branch", image(cudart("12.4")), host("590.44.01", "V100"), "fails", "init", 100, None),
    # compat
    ("compat first on a data center board", image(cudart("13.0"), compat_package=compat("580.65.06"), env=COMPAT_FIRST), host("575.57.08", "A100"), "runs", None, None, "forward-compat"),
    ("compat first on GeForce is 804", image(cudart("13.0"), compat_package=compat("580.65.06"), env=COMPAT_FIRST), host("575.57.08", "RTX 3090"), "fails", "init", 804, None),
    ("compat older than the driver is 803", image(cudart("13.1"), compat_package=compat("590.44.01", cuda="13.1"), env=COMPAT_FIRST), host("595.58.03", "RTX 5090", injection="cdi"), "fails", "init", 803, None),
    ("compat of the driver's own version", image(cudart("13.0"), compat_package=compat("580.65.06"), env=COMPAT_FIRST), host("580.65.06", "RTX 5090"), "runs", None, None, "native"),
    ("CDI hook takes newer compat", image(cudart("13.2"), compat_package=compat("595.45.04", cuda="13.2")), host("580.159.03", "RTX 3090", injection="cdi", toolkit="1.18.1"), "fails", "init", 804, None),
    ("CDI hook leaves older compat", image(cudart("12.6"), compat_package=compat("560.35.03", cuda="12.6")), host("580.159.03", "RTX 3090", injection="cdi", toolkit="1.18.1"), "runs", None, None, "native"),
    ("note's branch list refuses 545 to the hook", image(cudart("13.0"), compat_package=compat("580.65.06", note=NOTE)), host("545.23.08", "A100", injection="cdi", toolkit="1.20.0"), "fails", "init", 35, None),
    ("compat off in toolkit 1.17.4", image(cudart("12.1"), compat_package=compat("530.30.02", cuda="12.1")), host("525.147.05", "RTX 3060", toolkit="1.17.4"), "runs-limited", None, None, "minor-version"),
    ("compat mounted before 1.17.4", image(cudart("12.1"), compat_package=compat("530.30.02", cuda="12.1")), host("525.147.05", "RTX 3060", toolkit="1.14.3"), "fails", "init", 804, None),
    ("branch that the package does not accept", image(cudart("10.0"), compat_package=compat("410.129", cuda="10.0")), host("396.26", "Tesla P4", toolkit="1.0.5"), "fails", "init", 803, None),
    ("Orin's compat library offers its note's CUDA version", image(cudart("13.2"), compat_package=compat("1.1", cuda="13.2", note=ORIN_NOTE, folder="compat_orin"), platform="linux/arm64"), host("540.4.0", "Jetson AGX Orin", injection="csv", toolkit="1.20.0", os="jetson", driver_cuda="12.6"), "runs", None, None, "forward-compat"),
    ("before 1.19 nothing puts Orin's compat library in front", image(cudart("13.2"), compat_package=compat("1.1", cuda="13.2", note=ORIN_NOTE, folder="compat_orin"), platform="linux/arm64"), host("540.4.0", "Jetson AGX Orin", injection="csv", toolkit="1.18.1", os="jetson", driver_cuda="12.6"), "fails", "init", 35, None),
    ("Orin does not take the servers' compat folder", image(cudart("13.2"), compat_package=compat("1.1", cuda="13.2", note=ORIN_NOTE), platform="linux/arm64"), host("540.4.0", "Jetson AGX Orin", injection="csv", toolkit="1.20.0", os="jetson", driver_cuda="12.6"), "fails", "init", 35, None),
    ("Thor takes the servers' compat folder", image(cudart("13.2"), compat_package=compat("1.1", cuda="13.2", note=ORIN_NOTE), platform="linux/arm64"), host("580.00", "NVIDIA Thor", injection="csv", toolkit="1.20.0", os="jetson", driver_cuda="13.0"), "runs", None, None, "forward-compat"),
    ("JetPack 5 has no NVML for the compat hook", image(cudart("13.2"), compat_package=compat("1.1", cuda="13.2", note=ORIN_NOTE, folder="compat_orin"), platform="linux/arm64"), host("540.0", "Jetson AGX Orin", injection="csv", toolkit="1.20.0", os="jetson", driver_cuda="11.4"), "fails", "init", 35, None),
    ("a compat library without a readable version", image(cudart("13.0"), compat_package=compat("999999999999.1"), env=COMPAT_FIRST), host("575.57.08", "A100"), "unknown", None, None, None),
    ("a compat library of an older major version is 35 on any driver", image(torch("2.9.1", "13.0"), compat_package=compat("550.54.15", cuda="12.4"), env=COMPAT_FIRST), host("595.45.04", "H100"), "fails", "init", 35, None),
    ("a compat library of the same major version is 803", image(torch("2.9.0", "12.8"), compat_package=compat("550.54.15", cuda="12.4"), env=COMPAT_FIRST), host("595.45.04", "H100"), "fails", "init", 803, None),
    ("the compat library's own branch must drive the board", image(cudart("13.1"), compat_package=compat("590.44.01", cuda="13.1"), env=COMPAT_FIRST), host("535.183.01", "V100"), "fails", "init", None, None),
    ("an older release of the driver's own branch is 803", image(cudart("13.0"), compat_package=compat("580.82.07"), env=COMPAT_FIRST), host("580.126.16", "H100"), "fails", "init", 803, None),
    ("an absolute link on the way to the compat folder, before libnvidia-container 1.3.1", image(cudart("11.3"), compat_package=compat("465.19.01", cuda="11.3")), host("460.80", "GTX 1650", toolkit="1.3.0"), "runs-limited", None, None, "minor-version"),
    ("the same from 1.3.1 on", image(cudart("11.3"), compat_package=compat("465.19.01", cuda="11.3")), host("460.80", "GTX 1650", toolkit="1.4.0"), "fails", "init", 804, None),
    # libcuda of the image
    ("stub in the library path is 34", image(cudart("12.4"), libraries=[STUB], env={"LD_LIBRARY_PATH": "/usr/local/cuda-12.4/lib64/stubs"}), host("550.54.15"), "fails", "driver-library", 34, None),
    ("stub out of the path does not matter", image(cudart("12.4"), libraries=[STUB]), host("550.54.15"), "runs", None, None, "native"),
    ("newer driver library in the image is 803", image(cudart("12.4"), libraries=[BAKED]), host("550.54.15"), "fails", "init", 803, None),
    ("older driver library in the image loses", image(cudart("12.4"), libraries=[BAKED]), host("580.65.06"), "runs", None, None, "native"),
    ("empty driver library is skipped", image(cudart("12.4"), libraries=[EMPTY]), host("550.54.15"), "runs", None, None, "native"),
    ("driver library stops WSL", image(cudart("12.4"), libraries=[BAKED]), host("560.94", os="wsl2"), "fails", "start", None, None),
    ("a driver library without a version that comes first", image(cudart("12.4"), libraries=[NAMELESS], env={"LD_LIBRARY_PATH": "/opt/driver"}), host("550.54.15"), "unknown", None, None, None),
    ("an old driver library that comes first is 35", image(cudart("12.4"), libraries=[OLD], env={"LD_LIBRARY_PATH": "/opt/driver"}), host("550.54.15"), "fails", "init", 35, None),
    # request
    ("nobody asks for a GPU", image(cudart("12.4")), host("550.54.15", injection="none"), "fails", "request", 35, None),
    ("utility alone", image(cudart("12.4"), env={"NVIDIA_DRIVER_CAPABILITIES": "utility"}), host("550.54.15"), "fails", "request", 35, None),
    ("utility alone under CDI", image(cudart("12.4"), env={"NVIDIA_DRIVER_CAPABILITIES": "utility"}), host("550.54.15", injection="cdi"), "runs", None, None, "native"),
    ("enroot without the variable", image(cudart("12.4")), host("550.54.15", injection="enroot"), "fails", "request", 35, None),
    ("enroot with utility only by default", image(cudart("12.4"), env={"NVIDIA_VISIBLE_DEVICES": "all"}), host("550.54.15", injection="enroot"), "fails", "request", 35, None),
    ("GKE without its library path", image(cudart("12.4")), host("550.54.15", injection="gke"), "fails", "driver-library", 35, None),
    ("GKE with its library path", image(cudart("12.4"), env={"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64"}), host("550.54.15", injection="gke"), "runs", None, None, "native"),
    ("apptainer finds the host's library", image(cudart("12.4")), host("550.54.15", injection="apptainer"), "runs", None, None, "native"),
    ("apptainer after the image's compat", image(cudart("12.4"), compat_package=compat("550.54.15", cuda="12.4"), env=COMPAT_FIRST), host("580.65.06", "A100", injection="apptainer"), "fails", "init", 803, None),
    ("enroot with none for devices", image(cudart("12.4"), env={"NVIDIA_VISIBLE_DEVICES": "none", "NVIDIA_DRIVER_CAPABILITIES": "all"}), host("550.54.15", "A100", injection="enroot"), "fails", "request", 100, None),
    ("video brings libcuda too", image(cudart("12.4"), env={"NVIDIA_DRIVER_CAPABILITIES": "video"}), host("550.54.15"), "runs", None, None, "native"),
    # start
    ("a board that may report one of two brands", image(cudart("11.6"), env=TESLA), host("470.57.02", "A100"), "depends", None, None, None),
    ("a Volta board says Tesla on every driver", image(cudart("11.6"), env=TESLA), host("470.57.02", "V100"), "runs-limited", None, None, "minor-version"),
    ("no board says NVIDIA on an old driver", image(cudart("11.6"), env=TESLA), host("450.80.02", "Tesla T4"), "runs-limited", None, None, "minor-version"),
    ("an older container library knows no brand NVIDIA", image(cudart("11.6"), env=TESLA), host("470.57.02", "A100", toolkit="1.8.0"), "depends", None, None, None),
    ("refused on an unlisted branch", image(cudart("12.8"), env=LISTED), host("550.54.15", "A100"), "fails", "start", None, None),
    ("listed branch starts", image(cudart("12.8"), env=LISTED), host("535.104.05", "A100"), "runs-limited", None, None, "minor-version"),
    ("GeForce is not in the list", image(cudart("12.8"), env=LISTED), host("535.104.05", "RTX 3090"), "fails", "start", None, None),
    ("CDI does not look", image(cudart("12.8"), env=LISTED), host("535.104.05", "RTX 3090", injection="cdi"), "runs-limited", None, None, "minor-version"),
    ("the check is switched off", image(cudart("12.8"), env={**LISTED, "NVIDIA_DISABLE_REQUIRE": "1"}), host("535.104.05", "RTX 3090"), "runs-limited", None, None, "minor-version"),
    ("yes does not switch it off", image(cudart("12.8"), env={**LISTED, "NVIDIA_DISABLE_REQUIRE": "yes"}), host("535.104.05", "RTX 3090"), "fails", "start", None, None),
    ("four-part CUDA_VERSION of a legacy image", image(cudart("12.3"), env={"CUDA_VERSION": "12.3.2.001"}), host("550.54.15"), "fails", "start", None, None),
    ("unknown capability", image(cudart("12.4"), env={"NVIDIA_DRIVER_CAPABILITIES": "gpu"}), host("550.54.15"), "fails", "start", None, None),
    ("one GeForce beside an RTX card", image(cudart("12.8"), env=LISTED), host("535.104.05", "A100", "RTX 3090"), "fails", "start", None, None),
    # platform
    ("wrong architecture", image(cudart("12.4"), platform="linux/arm64"), host("550.54.15", machine="amd64"), "fails", "platform", None, None),
    ("Grace board implies arm64", image(cudart("13.0")), host("580.95.05", "NVIDIA GB10"), "fails", "platform", None, None),
    # kernels
    ("no target for the GPU", image(torch("2.5.1", "12.4")), host("570.124.06", "NVIDIA B200"), "fails", "kernel", 209, None),
    ("dropped target", image(torch("2.9.0", "12.8")), host("575.64.03", "GTX 1070"), "fails", "kernel", 209, None),
    ("same major, newer minor", image(torch("2.13.0", "13.0"), platform="linux/arm64"), host("580.95.05", "NVIDIA GB10"), "runs", None, None, "native"),
    ("PTX is compiled", image(cudart("12.4"), kernels=[kernels("/app/x", "80", "90:8.4")]), host("570.124.06", "NVIDIA B200"), "runs-limited", None, None, "native"),
    ("PTX is too new", image(cudart("12.8"), kernels=[kernels("/app/x", "80", "90:8.7")]), host("550.54.15", "H100", ), "fails", "kernel", 222, None),
    ("exact target does not carry over", image(cudart("12.9"), kernels=[kernels("/app/x", "90a")]), host("580.65.06", "RTX 5090"), "fails", "kernel", 209, None),
    ("family target carries over", image(cudart("12.9"), kernels=[kernels("/app/x", "100f")]), host("580.95.05", "NVIDIA B300"), "runs", None, None, "native"),
    ("side library lacks code", image(torch("2.8.0", "12.8"), kernels=[kernels("/usr/lib/python3/site-packages/torch/lib/libtorch_cuda.so", "75 80 90 120", component="torch"), kernels("/x/flash.so", "80 90", component="flash-attn")]), host("580.65.06", "RTX 5090"), "runs-limited", None, None, "native"),
    ("Orin runs no machine code of servers", image(cudart("12.6"), kernels=[kernels("/app/x", "80 90")], platform="linux/arm64"), host("540.4.0", "Jetson AGX Orin", injection="csv", os="jetson", driver_cuda="12.6"), "fails", "kernel", 209, None),
    ("Orin runs its own", image(cudart("12.6"), kernels=[kernels("/app/x", "80 87")], platform="linux/arm64"), host("540.4.0", "Jetson AGX Orin", injection="csv", os="jetson", driver_cuda="12.6"), "runs", None, None, "native"),
    ("Orin compiles PTX", image(cudart("12.6"), kernels=[kernels("/app/x", "90", "80:8.4")], platform="linux/arm64"), host("540.4.0", "Jetson AGX Orin", injection="csv", os="jetson", driver_cuda="12.6"), "runs-limited", None, None, "native"),
    ("a server runs no machine code of Orin", image(cudart("12.6"), kernels=[kernels("/app/x", "87")]), host("570.86.10", "RTX 4090"), "fails", "kernel", 209, None),
    ("a CUDA 13 driver runs servers' code on Orin", image(cudart("13.0"), kernels=[kernels("/app/x", "80")], platform="linux/arm64"), host("595.00", "Jetson AGX Orin", injection="csv", os="jetson", driver_cuda="13.2"), "runs", None, None, "native"),
    ("Thor's code under its older name", image(cudart("12.9"), kernels=[kernels("/app/x", "101")], platform="linux/arm64"), host("580.00", "NVIDIA Thor", injection="csv", os="jetson", driver_cuda="13.0"), "runs", None, None, "native"),
    ("PTX of the driver's own ISA is compiled", image(cudart("12.4"), kernels=[kernels("/app/x", "", "80:8.4")]), host("550.54.15", "H100"), "runs-limited", None, None, "native"),
    ("machine code of a newer minor version does not run", image(cudart("12.4"), kernels=[kernels("/app/x", "89")]), host("550.54.15", "RTX 3090"), "fails", "kernel", 209, None),
    ("the worst of two installed frameworks decides", image(torch("2.5.1", "12.4"), component("onnxruntime-gpu", "1.20.0", "12.4", found_by="pip"), kernels=[kernels("/s/torch/lib/libtorch_cuda.so", "80 90", component="torch"), kernels("/s/o/libonnxruntime_providers_cuda.so", "75", component="onnxruntime-gpu")]), host("550.54.15", "H100"), "fails", "kernel", 209, None),
    ("a toolkit that dropped the board", image(cudart("13.0")), host("580.65.06", "V100"), "fails", "kernel", 209, None),
    ("the last toolkit for the board", image(cudart("12.9")), host("580.65.06", "V100"), "runs", None, None, "native"),
    ("a wheel of an older toolkit beside it", image(cudart("13.0"), torch("2.9.0", "12.6")), host("580.65.06", "V100"), "runs", None, None, "native"),
    ("a toolkit that dropped boards, on nobody's board", image(cudart("13.0")), host("580.65.06"), "runs", None, None, "native"),
    ("TensorFlow's published targets", image(component("tensorflow", "2.16.1", None, found_by="pip"), cudart("12.3")), host("550.54.15", "A100"), "runs", None, None, "native"),
    ("TensorFlow's PTX for a newer board", image(component("tensorflow", "2.16.1", None, found_by="pip"), cudart("12.3")), host("570.86.10", "RTX 5090"), "runs-limited", None, None, "native"),
    ("TensorFlow too new for the board", image(component("tensorflow", "2.19.0", "12.5", found_by="pip")), host("570.86.10", "Tesla M60"), "fails", "kernel", 209, None),
    # libraries
    ("a library that torch needs is nowhere", image(torch("2.5.1", "12.4"), libraries=[LINKED], kernels=[kernels("/s/torch/lib/libtorch_cuda.so", "90", component="torch")]), host("550.54.15", "H100"), "fails", "libraries", None, None),
    ("a library that torch needs is there", image(torch("2.5.1", "12.4"), libraries=[LINKED, CUDNN], kernels=[kernels("/s/torch/lib/libtorch_cuda.so", "90", component="torch")]), host("550.54.15", "H100"), "runs", None, None, "native"),
    ("what is missing in a partial reading may be in the rest", image(torch("2.5.1", "12.4"), libraries=[LINKED], kernels=[kernels("/s/torch/lib/libtorch_cuda.so", "90", component="torch")], complete=False), host("550.54.15", "H100"), "runs", None, None, "native"),
    # nothing to judge
    ("no CUDA at all", image(), host("550.54.15", "A100"), "no-cuda", None, None, None),
    ("CPU build only", image(component("torch", "2.9.1+cpu", None, variant="cpu")), host("550.54.15", "A100"), "no-cuda", None, None, None),
    ("a ROCm build only", image(component("torch", "2.9.1+rocm6.4", None, variant="rocm6")), host("550.54.15", "A100"), "no-cuda", None, None, None),
    ("a CPU build on a CUDA base", image(component("torch", "2.9.1+cpu", None, variant="cpu"), cudart("12.4")), host("550.54.15", "A100"), "runs-limited", None, None, "native"),
    ("a ROCm build on a CUDA base", image(component("torch", "2.9.1+rocm6.4", None, variant="rocm6"), cudart("12.4")), host("550.54.15", "A100"), "runs-limited", None, None, "native"),
    ("nothing found in part of an image", image(complete=False), host("550.54.15", "A100"), "unknown", None, None, None),
    ("no driver given", image(cudart("12.4")), host(None, "A100"), "unknown", None, None, None),
    ("kernels that no table lists", image(component("cupy", "14.2.0", "12.9", found_by="pip")), host("580.65.06", "A100"), "unknown", None, None, None),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "machine", "outcome", "stage", "code", "path"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])  # fmt: skip
def test_launch(
    facts: ImageFacts, machine: HostFacts, outcome: str, stage: str | None, code: int | None, path: str | None
) -> None:
    verdict = predict(facts, machine).verdict
    got = (verdict.outcome, verdict.stage, verdict.error.code if verdict.error else None, verdict.path)
    assert got == (outcome, stage, code, path), verdict.summary
