"""Package and library names of the CUDA world, and the component each one is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cudacompat.model import Component, Evidence

# No real name or version comes near; an image may write anything.
_LONGEST = 200
# Wheels whose own version is the CUDA version that they belong to.
_OWN_VERSION_IS_CUDA = ("cudart", "nvrtc", "nvjitlink", "cupti", "cuda-toolkit", "nvcc", "nvtx")
_FRAMEWORKS = {
    "torch": "torch",
    "tensorflow": "tensorflow",
    "tensorflow-gpu": "tensorflow",
    "tensorflow-cpu": "tensorflow",
    "jax": "jax",
    "jaxlib": "jaxlib",
    "onnxruntime-gpu": "onnxruntime-gpu",
    "onnxruntime": "onnxruntime",
    "paddlepaddle-gpu": "paddlepaddle-gpu",
    "vllm": "vllm",
    "mxnet": "mxnet",
    "triton": "triton",
    "numba": "numba",
    "numba-cuda": "numba-cuda",
    "bitsandbytes": "bitsandbytes",
    "flash-attn": "flash-attn",
    "xformers": "xformers",
    "sgl-kernel": "sgl-kernel",
    "xgboost": "xgboost",
    "cuda-python": "cuda-python",
    "cuda-bindings": "cuda-bindings",
    "cuda-toolkit": "cuda-toolkit",
    "tensorrt": "tensorrt",
    "torchvision": "torchvision",
    "torchaudio": "torchaudio",
    "pytorch": "torch",
    "pytorch-cuda": "pytorch-cuda",
    "cuda-version": "cuda-version",
    "cudatoolkit": "cudart",
    "cuda-cudart": "cudart",
    "cudnn": "cudnn",
    "nccl": "nccl",
}
_WHEEL_PARTS = {"cuda-runtime": "cudart", "cuda-nvrtc": "nvrtc", "cuda-cupti": "cupti", "cuda-nvcc": "nvcc"}
_SYSTEM = (
    (re.compile(r"cuda-cudart-(\d+)-(\d+)"), "cudart"),
    # Debian's and Ubuntu's own package; the others are NVIDIA's.
    (re.compile(r"libcudart\d+(?:\.\d+)?()()"), "cudart"),
    (re.compile(r"cuda-compat-(?:orin-)?(\d+)-(\d+)"), "libcuda-compat"),
    (re.compile(r"cuda-nvrtc-(\d+)-(\d+)"), "nvrtc"),
    (re.compile(r"libnvjitlink-(\d+)-(\d+)"), "nvjitlink"),
    (re.compile(r"libcublas-(\d+)-(\d+)"), "cublas"),
    (re.compile(r"libcufft-(\d+)-(\d+)"), "cufft"),
    (re.compile(r"libcurand-(\d+)-(\d+)"), "curand"),
    (re.compile(r"libcusparse-(\d+)-(\d+)"), "cusparse"),
    (re.compile(r"libcusolver-(\d+)-(\d+)"), "cusolver"),
    (re.compile(r"cuda-toolkit-(\d+)-(\d+)"), "cuda-toolkit"),
    (re.compile(r"libcudnn\d+-cuda-(\d+)()"), "cudnn"),
    (re.compile(r"libcudnn\d+()()"), "cudnn"),
    (re.compile(r"libnccl2?()()"), "nccl"),
    (re.compile(r"(?:libnvinfer\d*|tensorrt)()()"), "tensorrt"),
    (
        re.compile(
            r"(?:libcuda1|cuda-drivers(?:-\d+)?|nvidia-utils(?:-\d+(?:-server)?)?|libnvidia-compute-\d+(?:-server)?"
            r"|nvidia-driver-cuda-libs|nvidia-driver(?:-\d+(?:-server)?(?:-open)?)?)()()"
        ),
        "driver",
    ),
)


@dataclass(frozen=True, slots=True)
class Named:
    """A component by its package name. ``cuda`` may be a major version alone ("12")."""

    name: str
    version: str
    cuda: str | None
    variant: str | None = None


def system_package(name: str, version: str) -> Named | None:
    """A Debian, RPM or Alpine package, None when it is no CUDA part."""
    if len(name) > _LONGEST or len(version) > _LONGEST:
        return None
    for pattern, component in _SYSTEM:
        match = pattern.fullmatch(name)
        if match:
            bare = bare_version(version)
            cuda = ".".join(part for part in match.groups() if part) or _own_cuda(component, bare)
            tagged = re.search(r"\+cuda(\d+\.\d+)", version)
            return Named(component, bare, tagged[1] if tagged else cuda)
    return None


def bare_version(version: str) -> str:
    """A package version without epoch, revision and build tag: "1:2.21.5-1+cuda12.4" is "2.21.5"."""
    return re.split(r"[-+~]", version.partition(":")[2] or version, maxsplit=1)[0]


def wheel(name: str, version: str) -> Named | None:
    """A Python distribution, None when it is no CUDA part. Names count in any spelling of PEP 503."""
    if len(name) > _LONGEST or len(version) > _LONGEST:
        return None
    name = re.sub(r"[-_.]+", "-", name).lower()
    bare, _, tag = version.partition("+")
    cupy = re.fullmatch(r"cupy(?:-cuda(\d+)x?)?", name)
    if cupy:
        return Named("cupy", bare, _cuda_of_digits(cupy[1]))
    plugin = re.fullmatch(r"jax-cuda(\d+)-(?:plugin|pjrt)", name)
    if plugin:
        return Named("jax-cuda", bare, plugin[1])
    known = _FRAMEWORKS.get(name)
    if known is not None:
        cuda = _own_cuda(known, version) or cuda_of_tag(tag)
        return Named(known, version, cuda, _variant(name, tag))
    return _nvidia_wheel(name, version)


def _variant(name: str, tag: str) -> str | None:
    if name.endswith("-cpu"):
        return "cpu"
    tag = tag.split(".", maxsplit=1)[0]
    return tag if re.fullmatch(r"cpu|cu\d+|rocm.*|xpu", tag) else None


def _nvidia_wheel(name: str, version: str) -> Named | None:
    match = re.fullmatch(r"nvidia-(.+?)(?:-cu(\d+))?", name)
    # Beside CUDA's own libraries NVIDIA publishes clients, indexes and monitors under this name.
    if match is None or (match[2] is None and not match[1].startswith(("cu", "nccl", "npp", "nv"))):
        return None
    part = _WHEEL_PARTS.get(match[1], match[1])
    return Named(part, version, _own_cuda(part, version) or match[2])


def _own_cuda(part: str, version: str) -> str | None:
    """The CUDA version of a part that carries it as its own."""
    return ".".join(version.split(".")[:2]) if part in _OWN_VERSION_IS_CUDA else None


def cuda_of_tag(tag: str) -> str | None:
    """The CUDA version of a build tag: "cu124" is "12.4", "cu130" is "13.0"; None for other tags."""
    match = re.match(r"cu(\d{2,3})(?:\D|$)", tag)
    return _cuda_of_digits(match[1]) if match else None


def _cuda_of_digits(digits: str | None) -> str | None:
    if digits is None:
        return None
    if int(digits) < 20:
        return digits
    return f"{digits[:-1]}.{digits[-1]}"


def component(named: Named, found_by: str, evidence: Evidence, path: str | None) -> Component:
    """A named part as the model's component."""
    return Component(
        name=named.name,
        version=named.version or None,
        cuda=named.cuda,
        found_by=found_by,
        evidence=evidence,
        path=path,
        layer=evidence.layer,
        linkage="dynamic" if named.name == "cudart" else None,
        variant=named.variant,
    )
