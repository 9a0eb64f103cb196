"""What the name of a shared library says, and which component a path belongs to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from cudacompat.evidence.interface import Observation
from cudacompat.model import Component, Evidence, SharedLibrary

# Libraries whose presence and place the loader's view, the compat choice and the libraries stage need.
INTERESTING = re.compile(
    r"lib(?:cuda|cudart[-.0-9a-f]*|cudnn\w*|nccl|cublas\w*|cufft|curand|cusparse\w*|cusolver|nvrtc|nvJitLink|cupti"
    r"|nvidia-[\w-]+)\.so(?:\.\d[\d.]*)?",
    re.ASCII,
)
_VERSIONED = re.compile(r"(lib[\w-]+(?:\.[0-9a-f]+)?)\.so\.(\d+(?:\.\d+)+)", re.ASCII)
# auditwheel puts a hash into the name of what it copies: libcudart-faf08d9a.so.13, of late with a dot.
_CUDART = re.compile(r"libcudart(?:[-.][0-9a-f]+)?\.so\.(\d{1,4}(?:\.\d{1,6})*)", re.ASCII)
_DRIVER_FILE = re.compile(r"lib(?:cuda|nvidia-ml|nvidia-ptxjitcompiler)\.so\.\d{3,4}\.[\d.]+", re.ASCII)
# Frameworks' libraries whose name tells where they belong: conda puts them into lib/, builds from source anywhere.
_FRAMEWORK = re.compile(
    r"lib(?:(torch_cuda|torch_cpu|torch|c10_cuda|c10|caffe2)|(tensorflow)|(onnxruntime)|(paddle))[\w-]*\.so(?:\.[\d.]+)?",
    re.ASCII,
)
_FRAMEWORKS = ("torch", "tensorflow", "onnxruntime-gpu", "paddlepaddle-gpu")
_PACKAGES = {
    "torch": "torch",
    "tensorflow": "tensorflow",
    "jaxlib": "jax",
    "jax_plugins": "jax",
    "jax_cuda12_plugin": "jax",
    "jax_cuda13_plugin": "jax",
    "onnxruntime": "onnxruntime-gpu",
    "paddle": "paddlepaddle-gpu",
    "flash_attn": "flash-attn",
    "sgl_kernel": "sgl-kernel",
    "cupy_backends": "cupy",
}
_LIBRARY = re.compile(
    r"lib(cublas|cudnn|nccl|cufft|curand|cusparse|cusolver|nvjpeg|npp|nvshmem|cufile|nvrtc|nvJitLink|cupti)"
)
_TOOLS = re.compile(
    r"cupti|nsight|compute-sanitizer|libcuinj|libaccinj|cuobjdump|nvdisasm|nvprof|nvperf|cudadebugger|cuda-gdb"
    r"|/samples/|/triton/backends/|libcudadevrt"
)


def by_name(path: str, size: int, layer: str) -> Iterator[Observation]:
    """Observations that need no byte of the file: a library's place and the version in its name."""
    name = posixpath.basename(path)
    match = INTERESTING.fullmatch(name)
    if match is None:
        return
    versioned = _VERSIONED.fullmatch(name)
    yield SharedLibrary(path, version=versioned[2] if versioned else None, size=size, layer=layer)
    yield from _cudart(path, name, size, layer)
    if size and _DRIVER_FILE.fullmatch(name) and not is_compat(path) and "/stubs/" not in path:
        evidence = Evidence("file", path, "driver library in the image", layer)
        yield Component("driver", versioned[2] if versioned else None, None, "file-name", evidence, path, layer)


def _cudart(path: str, name: str, size: int, layer: str) -> Iterator[Component]:
    """libcudart's file name: a full version tells the minor one, a soname the major one alone."""
    match = _CUDART.fullmatch(name)
    if match is None or not size:
        return
    version = match[1]
    parts = version.split(".")
    # CUDA 11 shares the soname "11.0" among all its minor versions.
    cuda = ".".join(parts[:2]) if len(parts) > 2 or (len(parts) == 2 and int(parts[0]) < 11) else parts[0]
    evidence = Evidence("file", path, name, layer)
    full = version if len(parts) > 2 else None
    yield Component("cudart", full, cuda, "file-name", evidence, path, layer, "dynamic")


def is_compat(path: str) -> bool:
    """Whether a path lies in a forward compatibility folder."""
    return any(part.startswith("compat") for part in path.split("/")[:-1])


def component_of(path: str) -> str | None:
    """The component that a file belongs to by its place: "torch", "cudnn" ...; None for a program's own."""
    name = posixpath.basename(path)
    library = _LIBRARY.match(name)
    if library:
        return library[1].lower()
    match = re.search(r"/(?:site|dist)-packages/([^/]+)/", path)
    if match is None:
        framework = _FRAMEWORK.fullmatch(name)
        return _FRAMEWORKS[framework.lastindex - 1] if framework and framework.lastindex else None
    package = match[1]
    return _PACKAGES.get(package, package.replace("_", "-").lower())


def decides(path: str) -> bool:
    """Whether a program's kernels may come from this file: not for profilers, tools and static archives."""
    return not path.endswith((".a", ".o")) and _TOOLS.search(path) is None
