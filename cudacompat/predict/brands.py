"""Which NVML brand a board reports on a driver, as far as public `nvidia-smi -q` outputs tell.

The boards' lists in the table are what a product family may report; these narrow them: Kepler to Volta data
center boards say Tesla on every driver seen (375 to 570), newer ones NVIDIA on the drivers seen (530 to 560),
GeForce RTX boards GeForce (470 to 570), RTX workstation boards NVIDIA RTX (520). nvml.h calls GeForceRTX and
TitanRTX unused, and got the brands from QuadroRTX on with the 46x drivers (CUDA 11.2 and 11.3). Before 1.9 the
container library knew none of these and called them unknown (NVIDIA/libnvidia-container, changelog of 1.9.0).
"""

from __future__ import annotations

from cudacompat import tables
from cudacompat.model import Gpu, HostFacts
from cudacompat.predict.targets import split_capability
from cudacompat.stack.releases import release

_TURING = (7, 5)
_AMPERE = (8, 0)
_NEW_BRANDS_FROM = 460
_SEEN_FROM = 525
_LEARNED_IN = (1, 9)
_LEARNED = (
    "vapps",
    "vpc",
    "vcs",
    "vws",
    "cloudgaming",
    "quadrortx",
    "nvidiartx",
    "nvidia",
    "geforcertx",
    "titanrtx",
)


def reported_brands(gpu: Gpu, host: HostFacts) -> tuple[str, ...]:
    """The brands that the container stack may be told for this board on this host."""
    narrowed = _narrowed(gpu, host) if len(gpu.brands) > 1 else gpu.brands
    toolkit = release(host.toolkit)
    if toolkit is None or toolkit >= _LEARNED_IN:
        return narrowed
    return tuple(dict.fromkeys("unknown" if brand in _LEARNED else brand for brand in narrowed))


def _narrowed(gpu: Gpu, host: HostFacts) -> tuple[str, ...]:
    kinds = set(gpu.brands)
    for plain, unused in (("geforce", "geforcertx"), ("titan", "titanrtx")):
        if kinds == {plain, unused}:
            return (plain,)
    capability = split_capability(gpu.compute_capability) if gpu.compute_capability else None
    if capability is None or host.driver is None or host.os != "linux":
        return gpu.brands
    branch = tables.driver_branch(host.driver)
    if kinds == {"tesla", "nvidia"}:
        if capability < _TURING or branch < _NEW_BRANDS_FROM:
            return ("tesla",)
        return ("nvidia",) if branch >= _SEEN_FROM else gpu.brands
    if kinds == {"quadro", "nvidiartx"} and capability >= _AMPERE:
        return ("nvidiartx",) if branch >= _SEEN_FROM else gpu.brands
    return gpu.brands
