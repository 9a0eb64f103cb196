"""What a file's name says: NVIDIA's libraries, tools that no program's kernels depend on, versions."""

from __future__ import annotations

import posixpath
import re

# auditwheel puts a hash into the names of the copies it makes: libcudart-d0da41ae.so.11.0.
_NVIDIA = re.compile(
    r"lib(?:cuda|cudart|cudadebugger|cudadevrt|cublas|cudnn|cudss|cufft|cufile|cuinj|cupti|curand|cusolver|cusparse"
    r"|cutensor|custatevec|cudensitymat|cutlass|checkpoint|nccl|npp|nv)[\w+-]*(?:[.-][0-9a-f]{8})?\.so(?:\.\d+)*",
    re.ASCII,
)
_NVIDIA_NEEDED = re.compile(
    r"lib(?:cuda|cudart|cublas|cublasLt|cudnn\w*|cufft|curand|cusolver|cusparse|cusparseLt|cupti|nccl|nv\w+)[.-].*"
)
_CUDART = re.compile(r"libcudart(?:[.-][0-9a-f]{8})?\.so(?:\.[\d.]+)?", re.ASCII)
_TOOL = re.compile(
    r".*/(?:compute-sanitizer|nsight[\w.-]*|CUPTI|demo_suite|nsight_\w+)/.*"
    r"|.*/(?:libcupti|libnvperf_|libcuinj|libaccinj|libcheckpoint|libsanitizer-|libToolsInjection|libInterceptor)[^/]*"
)
# NVIDIA's compilers are linked without the runtime; so are the tools.
_COMPILER = re.compile(r"lib(?:nvrtc|nvJitLink|nvptxcompiler|nvvm)[\w.-]*", re.ASCII)
_ALL_CODE = 1 << 62
_PLAIN_CODE = 16 << 20
_VERSION = re.compile(r".*\.so\.(\d+(?:\.\d+)+)")


def is_nvidia_library(path: str) -> bool:
    """Whether the name is that of a CUDA or driver library."""
    return _NVIDIA.fullmatch(posixpath.basename(path)) is not None


def is_cuda_library(soname: str) -> bool:
    """Whether a NEEDED entry names a CUDA or driver library."""
    return _NVIDIA_NEEDED.fullmatch(soname) is not None


def is_cudart(path: str) -> bool:
    """Whether the name is that of the shared CUDA runtime."""
    return _CUDART.fullmatch(posixpath.basename(path)) is not None


def is_tool(path: str) -> bool:
    """Whether the file belongs to a profiler, debugger or checker."""
    return _TOOL.fullmatch(path) is not None


def runtime_reach(path: str) -> int:
    """In how many bytes of a file's code, from its end, a copy of the CUDA runtime is worth looking for."""
    if is_tool(path) or _COMPILER.fullmatch(posixpath.basename(path)):
        return 0
    return _ALL_CODE if is_nvidia_library(path) else _PLAIN_CODE


def version_in_name(path: str) -> str | None:
    """The version behind ".so." when it has more than one number: "550.54.15" of libcuda.so.550.54.15."""
    match = _VERSION.fullmatch(posixpath.basename(path))
    return match[1] if match else None
