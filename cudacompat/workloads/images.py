"""What an image's reference says by itself: tag, CUDA version, flavour. Hints, until the image is read.

A name is evidence of its author's intention only: every message built on it says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from cudacompat.errors import UsageError
from cudacompat.tables import architecture, find_gpu

_CU_TAG = re.compile(r"(?:^|[-_.+])cu(?:da)?[-_]?(\d{2})[._]?(\d)(?:\.?\d)?(?![\d.])")
_CUDA_DOTTED = re.compile(r"(?:^|[-_.])cuda[-_]?(\d{1,2})\.(\d)(?:\.\d+)?")
_NVIDIA_CUDA = re.compile(r"(\d{1,2})\.(\d)(?:\.\d+)?(?:-|$)")
_MONTHLY = re.compile(r"(\d{2})\.(0[1-9]|1[0-2])(?:[-.]|$)")
_SQUASH = re.compile(r"(.+)[_+](\d[\w.-]*|latest)\.(?:sqsh|squashfs|sif|simg)$")
_UNEXPANDED = re.compile(r"\$\{?\w|\$\(|\{\{|<[A-Za-z_-]+>|^\W*$")
SQUASH_SUFFIXES = (".sqsh", ".squashfs", ".sqfs")
SIF_SUFFIXES = (".sif", ".simg", ".img")

# Images that serve or train on GPUs whatever the tag says, unless it says cpu (their own documentation).
_GPU_REPOSITORIES = re.compile(
    r"(?:^|/)(?:nvidia/cuda|vllm/vllm-openai|lmsysorg/sglang|huggingface/text-generation-inference|"
    r"nvidia/(?:pytorch|tensorflow|jax|tritonserver|nemo|pytorch-geometric|mxnet|tensorrt|modulus|dgl|cuda))$"
)
# Plain systems and services without CUDA.
_PLAIN_REPOSITORIES_NAMES = """
    ubuntu debian alpine busybox centos fedora rockylinux almalinux amazonlinux archlinux python node golang
    openjdk redis postgres mysql nginx httpd memcached rabbitmq traefik
"""
_PLAIN_REPOSITORIES = frozenset(_PLAIN_REPOSITORIES_NAMES.split())
# Repositories that name their GPU builds in the tag: a tag without the word is a CPU build.
_FLAVOURED = {
    "rayproject/ray": re.compile(r"gpu|cu\d{2,3}|tpu"),
    "rayproject/ray-ml": re.compile(r"gpu|cu\d{2,3}"),
    "tensorflow/tensorflow": re.compile(r"gpu"),
    "pytorch/torchserve": re.compile(r"gpu|cu\d{2,3}"),
    "ghcr.io/ggml-org/llama.cpp": re.compile(r"cuda|rocm|vulkan|musa|intel"),
    "localai/localai": re.compile(r"cuda|gpu|cublas|aio"),
}
# The month a toolkit came out that was the first for an architecture (developer.nvidia.com/cuda-toolkit-archive).
_TOOLKIT_MONTHS = {"11.0": (2020, 7), "11.1": (2020, 9), "11.8": (2022, 10), "12.8": (2025, 1), "12.9": (2025, 5)}
# NVIDIA's monthly images carried a toolkit up to this many months before its general release.
_EARLY_MONTHS = 2


@dataclass(frozen=True, slots=True)
class Reference:
    """An image reference in parts: repository (with registry), tag and digest, None where not written."""

    repository: str
    tag: str | None
    digest: str | None


def split_reference(text: str) -> Reference:
    """Split a reference; a scheme ("docker://") and enroot's "#" after the registry are understood."""
    plain = re.sub(r"^[a-z][a-z-]*://", "", text).replace("#", "/")
    plain = re.sub(r"^[^/@]+@(?=[^/]+/)(?!sha\d+:)", "", plain)
    name, _, digest = plain.partition("@")
    head, slash, last = name.rpartition("/")
    repository, colon, tag = last.partition(":")
    return Reference(head + slash + repository, tag if colon else None, digest or None)


def short_repository(reference: Reference) -> str:
    """The repository as Docker Hub's users write it."""
    name = reference.repository
    for prefix in ("docker.io/", "index.docker.io/", "library/"):
        name = name.removeprefix(prefix)
    return name


def is_unexpanded(text: str) -> bool:
    """Whether a template or a variable stands in the text."""
    return _UNEXPANDED.search(text) is not None


def is_file(text: str) -> bool:
    """Whether the text names an image file, by its suffix."""
    return text.lower().endswith(SQUASH_SUFFIXES + SIF_SUFFIXES)


def is_floating(text: str) -> bool:
    """Whether the tag can move by its nature: "latest" or none, without a digest."""
    reference = split_reference(text)
    return reference.digest is None and reference.tag in (None, "latest")


def guess_from_file(name: str) -> str | None:
    """The reference that an enroot file name was probably made from, None when the name has no such form."""
    match = _SQUASH.fullmatch(name.rsplit("/", 1)[-1])
    if match is None:
        return None
    parts = re.split(r"[_+]", match[1])
    return f"{'/'.join(parts)}:{match[2]}" if len(parts) > 1 else None


def tag_cuda(text: str) -> str | None:
    """The CUDA version that the reference names ("13.0" of ...-cu130), None when it names none."""
    reference = split_reference(text)
    tag = reference.tag or ""
    if short_repository(reference).endswith("nvidia/cuda") and (match := _NVIDIA_CUDA.match(tag)):
        return f"{match[1]}.{match[2]}"
    for pattern in (_CUDA_DOTTED, _CU_TAG):
        match = pattern.search(tag) or pattern.search(reference.repository.rsplit("/", 1)[-1])
        if match:
            return f"{match[1]}.{match[2]}"
    return None


def brings_cuda(text: str) -> bool | None:
    """Whether the reference names an image with CUDA; None when the name does not tell."""
    reference = split_reference(text)
    tag, name = reference.tag or "", short_repository(reference)
    if re.search(r"(?:^|[-_.])cpu(?:$|[-_.])", tag):
        return False
    if tag_cuda(text) is not None or _GPU_REPOSITORIES.search(reference.repository):
        return True
    flavours = _FLAVOURED.get(name)
    if flavours is not None:
        return flavours.search(tag) is not None
    if re.search(r"(?:^|[-_.])(?:gpu|cuda)(?:$|[-_.\d])", tag):
        return True
    return False if name in _PLAIN_REPOSITORIES else None


@lru_cache(maxsize=256)
def capability_of_label(product: str) -> str | None:
    """The compute capability of a GPU as a node label names it ("nvidia-l4"), None when unknown."""
    text = product.removeprefix("nvidia-").replace("_", "-")
    for name in (text, text.removeprefix("tesla-")):
        try:
            return find_gpu(name).compute_capability
        except UsageError:
            continue
    return None


def too_old_for(text: str, capability: str) -> str | None:
    """Half a sentence on why the named image has no machine code for the GPU; None when the name does not tell."""
    known = architecture(capability)
    if known is None or known.first_toolkit is None:
        return None
    first = known.first_toolkit
    named = tag_cuda(text)
    if named is not None:
        return f"its tag names CUDA {named}" if _pair(named) < _pair(first) else None
    month = _month(text)
    out = _TOOLKIT_MONTHS.get(first)
    if month is None or out is None:
        return None
    if _months(*month) < _months(*out) - _EARLY_MONTHS:
        return f"its tag names the month {month[0]}-{month[1]:02}, before CUDA {first} came out"
    return None


def first_toolkit(capability: str) -> str | None:
    """The first toolkit that targets a compute capability."""
    known = architecture(capability)
    return None if known is None else known.first_toolkit


def _month(text: str) -> tuple[int, int] | None:
    reference = split_reference(text)
    if not reference.repository.startswith("nvcr.io/nvidia/"):
        return None
    match = _MONTHLY.match(reference.tag or "")
    return (2000 + int(match[1]), int(match[2])) if match else None


def _months(year: int, month: int) -> int:
    return year * 12 + month


def _pair(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor or 0)
