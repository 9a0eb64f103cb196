"""What plain ``nvidia-smi`` prints: the table that people paste into tickets, and ``nvidia-smi -q``."""

from __future__ import annotations

import re

from cudacompat.errors import HostError
from cudacompat.host.boards import observed_gpu
from cudacompat.host.values import cuda_version, present, reported_driver
from cudacompat.model import HostFacts

# "Driver Version" became "KMD Version" and "CUDA Version" became "CUDA UMD Version" in 2026.
_DRIVER = re.compile(r"(?:Driver|KMD) Version\s*:\s*([0-9][0-9.]+)")
_CUDA = re.compile(r"CUDA (?:UMD )?Version\s*:\s*([0-9]+\.[0-9]+)")
_TABLE_ROW = re.compile(r"^\|\s+\d+\s{2,}(\S.*?)\s+(?:On|Off|N/A|TCC|WDDM|MCDM)\s*\|", re.MULTILINE)
_QUERY_NAME = re.compile(r"^\s+Product Name\s+:\s+(.+)$", re.MULTILINE)


def matches(text: str) -> bool:
    """Whether a text is one of the two."""
    return _DRIVER.search(text[:65536]) is not None


def parse(text: str, origin: str) -> HostFacts:
    """Host facts from the text. Raises HostError."""
    driver, cuda = _DRIVER.search(text), _CUDA.search(text)
    if driver is None:
        raise HostError(f"{origin}: nvidia-smi's text names no driver version")
    names = _TABLE_ROW.findall(text) or _QUERY_NAME.findall(text)
    seen = [observed_gpu(_whole(name)) for name in names if present(name)]
    return HostFacts(
        driver=reported_driver(driver[1], origin),
        driver_cuda=cuda_version(cuda[1]) if cuda else None,
        gpus=tuple(gpu for gpu, _ in seen) or None,
        origin=origin,
        notes=tuple(dict.fromkeys(note for _, note in seen if note)),
    )


def _whole(name: str) -> str:
    """A name without the dots of old releases, which cut long ones ("GeForce RTX 208...")."""
    return name.strip().removesuffix("...").strip()
