"""What an image's config tells: environment, labels, history."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cudacompat.evidence import names
from cudacompat.model import Component, Evidence, ImageConfig

_TOLD = re.compile(
    r"NVIDIA_.*|NV_.*|CUDA_.*|CUDNN_.*|NCCL_.*|LD_LIBRARY_PATH|LD_PRELOAD|PYTORCH_.*|TORCH_.*|TF_.*|TRITON_.*"
    r"|_CUDA_COMPAT.*"
)
_ENV_PARTS = {
    "NV_CUDNN_VERSION": "cudnn",
    "NV_LIBNCCL_PACKAGE_VERSION": "nccl",
    "NV_LIBCUBLAS_VERSION": "cublas",
    "PYTORCH_VERSION": "torch",
    "NCCL_VERSION": "nccl",
    "CUDNN_VERSION": "cudnn",
}
_PIP = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]*(?:\[[\w,-]+\])?)==([\w.+!-]+)")
_INDEX = re.compile(r"download\.pytorch\.org/whl/(?:nightly/)?(cu\d+|cpu)\b")
_APT = re.compile(
    r"\b((?:cuda-(?:cudart|compat|nvrtc|toolkit)-\d+-\d+)|libcudnn\d+(?:-cuda-\d+)?|libnccl2)(?:=([\w.+~:-]+))?"
)
_CONDA = re.compile(r"\b(pytorch-cuda|cudatoolkit|cuda-version)={1,2}(\d+\.\d+)")


def environment(config: ImageConfig) -> Iterator[Evidence]:
    """The variables that matter, of duplicates the last one."""
    values = dict(entry.split("=", 1) for entry in config.env if "=" in entry)
    for name, value in values.items():
        if _TOLD.fullmatch(name):
            yield Evidence("env", name, value)


def components(config: ImageConfig) -> Iterator[Component]:
    """Parts that the config announces; every one of them is weaker than a file or a package record."""
    yield from _of_env(config)
    yield from _of_labels(config)
    for number, command in enumerate(config.history):
        yield from _of_command(command[:100_000], number)


def _of_env(config: ImageConfig) -> Iterator[Component]:
    values = dict(entry.split("=", 1) for entry in config.env if "=" in entry)
    runtime = values.get("NV_CUDA_CUDART_VERSION", "")
    announced = re.match(r"v?(\d+\.\d+)", values.get("CUDA_VERSION", "")) or re.match(r"(\d+\.\d+)", runtime)
    if announced:
        name = "CUDA_VERSION" if values.get("CUDA_VERSION") else "NV_CUDA_CUDART_VERSION"
        evidence = Evidence("env", name, values[name])
        version = names.bare_version(runtime) if runtime else values[name]
        yield Component("cudart", version, announced[1], "env", evidence, linkage="dynamic")
    for name, part in _ENV_PARTS.items():
        if re.match(r"\d", values.get(name, "")):
            version = names.bare_version(values[name])
            yield Component(part, version, None, "env", Evidence("env", name, values[name]))


def _of_labels(config: ImageConfig) -> Iterator[Component]:
    for label, part in (("com.nvidia.cuda.version", "cudart"), ("com.nvidia.cudnn.version", "cudnn")):
        value = config.labels.get(label, "")
        pair = re.match(r"\d+\.\d+", value)
        if pair:
            cuda = pair[0] if part == "cudart" else None
            yield Component(part, value, cuda, "label", Evidence("label", label, value))


def _of_command(command: str, number: int) -> Iterator[Component]:
    """Exact versions in an install command; what is not pinned cannot be known."""
    evidence = Evidence("history", f"history[{number}]", command[:400])
    index = _INDEX.search(command)
    if re.search(r"\bpip3?\b|\buv\b", command):
        for name, version in _PIP.findall(command):
            named = names.wheel(name.partition("[")[0], version)
            if named is not None:
                yield _tagged(named, index[1] if index else None, evidence)
    for package, version in _APT.findall(command):
        named = names.system_package(package, version)
        if named is not None and re.search(r"\b(?:apt|apt-get|dnf|yum|microdnf|zypper)\b", command):
            yield names.component(named, "history", evidence, None)
    for name, version in _CONDA.findall(command):
        part = "cudart" if name == "cudatoolkit" else name
        yield Component(part, version, version, "history", evidence)


def _tagged(named: names.Named, index: str | None, evidence: Evidence) -> Component:
    """PyTorch's package index names the CUDA variant where the version does not."""
    if named.name == "torch" and named.variant is None and index is not None:
        named = names.Named(named.name, named.version, names.cuda_of_tag(index), index)
    return names.component(named, "history", evidence, None)
