"""What file names say, and which component a path belongs to."""

from __future__ import annotations

import pytest

from cudacompat.evidence import libraries, names
from cudacompat.evidence.libraries import by_name
from cudacompat.model import Component, SharedLibrary

LIB = "/usr/lib/x86_64-linux-gnu"
WHEEL = "/usr/lib/python3/site-packages/nvidia/cuda_runtime/lib"
TOOLKIT = "/usr/local/cuda-12.4/targets/x86_64-linux/lib"

RUNTIMES = [
    (f"{TOOLKIT}/libcudart.so.12.4.127", "12.4.127", "12.4"),
    (f"{WHEEL}/libcudart.so.12", None, "12"),
    (f"{WHEEL}/libcudart.so.13", None, "13"),
    (f"{WHEEL}/libcudart.so.11.0", None, "11"),
    ("/usr/local/cuda-11.8/lib64/libcudart.so.11.8.89", "11.8.89", "11.8"),
    ("/usr/local/cuda-10.2/lib64/libcudart.so.10.2", None, "10.2"),
    ("/usr/local/cuda-9.0/lib64/libcudart.so.9.0", None, "9.0"),
    ("/x/torch/lib/libcudart-d0da41ae.so.11.0", None, "11"),
    ("/x/torch/lib/libcudart-1b9df8b8.so.10.2", None, "10.2"),
    ("/x/some.libs/libcudart.faf08d9a.so.13", None, "13"),
    ("/x/some.libs/libcudart.faf08d9a.so.12.4.127", "12.4.127", "12.4"),
    ("/opt/conda/lib/libcudart.so.12.4.127", "12.4.127", "12.4"),
]


@pytest.mark.parametrize(("path", "version", "cuda"), RUNTIMES, ids=[row[0].rpartition("/")[2] for row in RUNTIMES])
def test_a_runtime_by_its_name(path: str, version: str | None, cuda: str) -> None:
    library, runtime = by_name(path, 700_000, "sha256:l")
    assert isinstance(library, SharedLibrary)
    assert isinstance(runtime, Component)
    assert (library.path, library.size, library.layer, library.machine) == (path, 700_000, "sha256:l", None)
    assert (runtime.name, runtime.version, runtime.cuda) == ("cudart", version, cuda)
    assert (runtime.found_by, runtime.path, runtime.linkage) == ("file-name", path, "dynamic")


@pytest.mark.parametrize(
    ("path", "size", "kinds"),
    [
        (f"{WHEEL}/libcudart.so.12", 0, ["SharedLibrary"]),
        (f"{TOOLKIT}/libcudart.so", 700_000, ["SharedLibrary"]),
        (f"{TOOLKIT}/libcudart_static.a", 700_000, []),
        (f"{TOOLKIT}/libcudadevrt.a", 700_000, []),
        (f"{LIB}/libcudnn.so.9.1.0", 9, ["SharedLibrary"]),
        (f"{LIB}/libcudnn_engines_precompiled.so.9", 9, ["SharedLibrary"]),
        (f"{LIB}/libnccl.so.2.21.5", 9, ["SharedLibrary"]),
        (f"{TOOLKIT}/libcublasLt.so.12", 9, ["SharedLibrary"]),
        (f"{TOOLKIT}/libnvJitLink.so.12.4.127", 9, ["SharedLibrary"]),
        (f"{TOOLKIT}/libnvrtc.so.12", 9, ["SharedLibrary"]),
        (f"{LIB}/libcuda.so.550.54.15", 9, ["SharedLibrary", "Component"]),
        (f"{LIB}/libcuda.so.550.54.15", 0, ["SharedLibrary"]),
        (f"{LIB}/libnvidia-ml.so.550.54.15", 9, ["SharedLibrary", "Component"]),
        (f"{LIB}/libnvidia-ptxjitcompiler.so.550.54.15", 9, ["SharedLibrary", "Component"]),
        ("/usr/local/cuda-12.4/compat/libcuda.so.550.54.15", 9, ["SharedLibrary"]),
        ("/usr/local/cuda-12.4/compat/lib.real/libcuda.so.550.54.15", 9, ["SharedLibrary"]),
        (f"{TOOLKIT}/stubs/libcuda.so", 9, ["SharedLibrary"]),
        (f"{TOOLKIT}/stubs/libcuda.so.550.54", 9, ["SharedLibrary"]),
        (f"{LIB}/libcuda.so.1", 9, ["SharedLibrary"]),
        (f"{LIB}/libcuda.so.1.1", 9, ["SharedLibrary"]),
        ("/usr/share/doc/libcudart.so.12.txt", 9, []),
        ("/x/mylibcuda.so.550.54.15", 9, []),
        ("/x/libcudartistic.so.12", 9, []),
        ("/x/libcudart.so.12/readme", 9, []),
        ("/x/libcuda.so.١٢٣.٤", 9, []),
        ("/x/libcudart.so." + "9" * 5000 + ".1", 9, ["SharedLibrary"]),
        ("/x/libcudart.so." + "1." * 5000 + "1", 9, ["SharedLibrary", "Component"]),
        ("/x/libcudart-" + "-" * 5000 + ".so.12", 9, ["SharedLibrary"]),
    ],
    ids=lambda value: value[-40:] if isinstance(value, str) else str(value),
)
def test_other_names(path: str, size: int, kinds: list[str]) -> None:
    assert [type(one).__name__ for one in by_name(path, size, "sha256:l")] == kinds


def test_driver_libraries_in_an_image_are_a_component_with_their_version() -> None:
    _, driver = by_name(f"{LIB}/libcuda.so.535.183.01", 30_000_000, "sha256:l")
    assert isinstance(driver, Component)
    assert (driver.name, driver.version, driver.cuda, driver.found_by) == ("driver", "535.183.01", None, "file-name")
    assert driver.evidence.where == driver.path == f"{LIB}/libcuda.so.535.183.01"


SITE = "/usr/lib/python3.11/dist-packages"
PLACES = [
    (f"{SITE}/torch/lib/libtorch_cuda.so", "torch"),
    (f"{SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so", "torch"),
    (f"{SITE}/torchvision/_C.so", "torchvision"),
    (f"{SITE}/tensorflow/libtensorflow_cc.so.2", "tensorflow"),
    (f"{SITE}/jaxlib/xla_extension.so", "jax"),
    (f"{SITE}/jax_plugins/xla_cuda12/xla_cuda_plugin.so", "jax"),
    (f"{SITE}/jax_cuda12_plugin/_solver.so", "jax"),
    (f"{SITE}/onnxruntime/capi/libonnxruntime_providers_cuda.so", "onnxruntime-gpu"),
    (f"{SITE}/paddle/libs/libphi_core.so", "paddlepaddle-gpu"),
    (f"{SITE}/cupy/_core/core.so", "cupy"),
    (f"{SITE}/cupy_backends/cuda/api/driver.so", "cupy"),
    (f"{SITE}/flash_attn/flash_attn_2_cuda.so", "flash-attn"),
    (f"{SITE}/sgl_kernel/common_ops.so", "sgl-kernel"),
    (f"{SITE}/vllm/_C.abi3.so", "vllm"),
    (f"{SITE}/My_Package/x.so", "my-package"),
    (f"{SITE}/flash_attn_2_cuda.so", None),
    (f"{SITE}/nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9", "cudnn"),
    (f"{SITE}/nvidia/cu13/lib/libcublasLt.so.13", "cublas"),
    (f"{SITE}/torch/lib/libcudnn.so.8", "cudnn"),
    (f"{LIB}/libnccl.so.2.21.5", "nccl"),
    (f"{TOOLKIT}/libnvJitLink.so.12", "nvjitlink"),
    (f"{TOOLKIT}/libcufftw.so.11", "cufft"),
    ("/opt/conda/lib/libtorch_cuda.so", "torch"),
    ("/opt/conda/lib/libc10_cuda.so", "torch"),
    ("/opt/libtorch/lib/libtorch_cuda_linalg.so", "torch"),
    ("/usr/local/lib/tensorflow/libtensorflow_cc.so.2", "tensorflow"),
    ("/opt/lib/libonnxruntime_providers_cuda.so", "onnxruntime-gpu"),
    ("/opt/app/libmine.so", None),
    ("/opt/app/libtorchserve_plugin.so.txt", None),
    ("/opt/app/program", None),
]


@pytest.mark.parametrize(("path", "component"), PLACES, ids=[row[0][-50:] for row in PLACES])
def test_the_component_of_a_path(path: str, component: str | None) -> None:
    assert libraries.component_of(path) == component


@pytest.mark.parametrize(
    ("path", "compat"),
    [
        ("/usr/local/cuda-12.4/compat/libcuda.so.1", True),
        ("/usr/local/cuda/compat_orin/libcuda.so.1.1", True),
        ("/usr/local/cuda/compat/lib.real/libcuda.so.1", True),
        ("/usr/local/cuda/lib64/compat", False),
        ("/usr/lib/libcuda.so.1", False),
        ("/usr/incompatible/libcuda.so.1", False),
    ],
)
def test_compat_folders(path: str, compat: bool) -> None:
    assert libraries.is_compat(path) is compat


@pytest.mark.parametrize(
    ("path", "decides"),
    [
        (f"{SITE}/torch/lib/libtorch_cuda.so", True),
        ("/opt/app/program", True),
        (f"{TOOLKIT}/libcudadevrt.a", False),
        (f"{TOOLKIT}/libcublas_static.a", False),
        ("/x/kernel.o", False),
        ("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12", False),
        ("/opt/nvidia/nsight-compute/2024.1/target/x", False),
        ("/usr/local/cuda/compute-sanitizer/libsanitizer.so", False),
        ("/usr/local/cuda/bin/cuobjdump", False),
        (f"{SITE}/triton/backends/nvidia/bin/ptxas", False),
        (f"{LIB}/libnvperf_host.so", False),
    ],
)
def test_tools_decide_nothing(path: str, decides: bool) -> None:
    assert libraries.decides(path) is decides


@pytest.mark.parametrize(
    ("tag", "cuda"),
    [
        ("cu124", "12.4"),
        ("cu130", "13.0"),
        ("cu118", "11.8"),
        ("cu102", "10.2"),
        ("cu92", "9.2"),
        ("cu12", "12"),
        ("cu13", "13"),
        ("cu10", "10"),
        ("cu124.torch", "12.4"),
        ("cu124_x", "12.4"),
        ("cu1", None),
        ("cu1240", None),
        ("cpu", None),
        ("rocm6.1", None),
        ("", None),
    ],
)
def test_the_cuda_version_of_a_build_tag(tag: str, cuda: str | None) -> None:
    assert names.cuda_of_tag(tag) == cuda


@pytest.mark.parametrize(
    ("version", "bare"),
    [
        ("12.4.127-1", "12.4.127"),
        ("2.21.5-1+cuda12.4", "2.21.5"),
        ("1:2.21.5-1", "2.21.5"),
        ("11.8.89~11.8.0-5~deb12u1", "11.8.89"),
        ("550.54.15-0ubuntu1", "550.54.15"),
        ("9.1.0.70", "9.1.0.70"),
        ("", ""),
    ],
)
def test_a_package_version_without_its_revision(version: str, bare: str) -> None:
    assert names.bare_version(version) == bare
