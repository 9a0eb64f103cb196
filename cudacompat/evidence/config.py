"""What an image's config tells: environment, labels, history."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

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
_CUDA = re.compile(r"v?([1-9]\d?\.\d{1,2})(?!\d)", re.ASCII)
_NUMBER = re.compile(r"\d{1,4}[.\d]{1,20}", re.ASCII)
_MOST_PARTS = 5000
_LONGEST_COMMAND = 100_000
_PIP = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]*(?:\[[\w,-]+\])?)==([\w.+!-]+)")
_INDEX = re.compile(r"download\.pytorch\.org/whl/(?:nightly/)?(cu\d+|cpu)\b")
_APT = re.compile(
    r"\b((?:cuda-(?:cudart|compat|nvrtc|toolkit)-\d+-\d+)|libcudnn\d+(?:-cuda-\d+)?|libnccl2)(?:=([\w.+~:-]+))?"
)
_CONDA = re.compile(r"\b(pytorch-cuda|cudatoolkit|cuda-version)={1,2}(\d{1,2}\.\d{1,2})", re.ASCII)


def environment(config: ImageConfig) -> Iterator[Evidence]:
    """The variables that matter, of duplicates the last one."""
    values = dict(entry.split("=", 1) for entry in config.env if "=" in entry)
    for name, value in values.items():
        if _TOLD.fullmatch(name):
            yield Evidence("env", name, value)


def components(config: ImageConfig) -> Iterator[Component]:
    """Parts that the config announces; every one of them is weaker than a file or a package record."""
    return islice(chain(_of_env(config), _of_labels(config), _of_history(config)), _MOST_PARTS)


def _of_env(config: ImageConfig) -> Iterator[Component]:
    values = dict(entry.split("=", 1) for entry in config.env if "=" in entry)
    runtime = values.get("NV_CUDA_CUDART_VERSION", "")
    for name in ("CUDA_VERSION", "NV_CUDA_CUDART_VERSION"):
        announced = _CUDA.match(values.get(name, ""))
        if announced:
            # CUDA_VERSION is the toolkit's version: 12.4.1 brings the runtime 12.4.127.
            version = names.bare_version(runtime) if _CUDA.match(runtime) else None
            evidence = Evidence("env", name, values[name])
            yield Component("cudart", version, announced[1], "env", evidence, linkage="dynamic")
            break
    for name, part in _ENV_PARTS.items():
        value = values.get(name, "")
        if _NUMBER.match(value):
            version = value if part == "torch" else names.bare_version(value)
            yield Component(part, version, None, "env", Evidence("env", name, value))


def _of_labels(config: ImageConfig) -> Iterator[Component]:
    for label, part in (("com.nvidia.cuda.version", "cudart"), ("com.nvidia.cudnn.version", "cudnn")):
        value = config.labels.get(label, "")
        pair = _CUDA.match(value)
        if pair:
            cuda = pair[1] if part == "cudart" else None
            yield Component(part, value, cuda, "label", Evidence("label", label, value))


def _of_history(config: ImageConfig) -> Iterator[Component]:
    for number, command in enumerate(config.history):
        yield from _of_command(command[:_LONGEST_COMMAND], number)


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
