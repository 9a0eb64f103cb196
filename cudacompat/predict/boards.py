"""What an unnamed board can be, and what a named one can report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cudacompat import tables
from cudacompat.model import Gpu, HostFacts, ImageFacts
from cudacompat.predict.brands import reported_brands
from cudacompat.predict.forward import board_is_eligible
from cudacompat.predict.kernel_sources import device_code
from cudacompat.stack import requirement_dialect

_BOARD_WORDS = {
    "datacenter": "a data center board",
    "geforce": "a GeForce board",
    "titan": "a TITAN board",
    "rtx-pro": "an RTX workstation board",
    "quadro": "a Quadro board",
    "jetson": "a Jetson module",
}


def gpu_matters(image: ImageFacts) -> bool:
    """Whether a GPU's brand, capability or class can change the answer for this image."""
    formulas = [entry.partition("=")[2].lower() for entry in image.config.env if entry.startswith("NVIDIA_REQUIRE_")]
    named = any("brand" in formula or "arch" in formula for formula in formulas)
    return named or bool(image.compat) or bool(device_code(image)[0])


def candidate_boards(host: HostFacts) -> Iterator[tuple[Gpu, dict[str, str], dict[str, str]]]:
    """Every kind of board that the host's driver could be driving, each once, with its facts and words."""
    jetson = host.os == "jetson"
    seen = set()
    for model in tables.gpus():
        if model.gpu_class not in _BOARD_WORDS or (model.gpu_class == "jetson") != jetson:
            continue
        kind = (model.gpu_class, model.compute_capability, model.brands, model.forward_compat)
        if kind in seen or not _driven(model.compute_capability, host):
            continue
        seen.add(kind)
        gpu = Gpu(None, model.compute_capability, model.brands, None, model.forward_compat, model.architecture)
        given = {"board": model.gpu_class, "compute_capability": model.compute_capability}
        words = {
            "board": _BOARD_WORDS[model.gpu_class],
            "compute_capability": f"compute capability {model.compute_capability}",
        }
        yield gpu, given, words


def _driven(capability: str, host: HostFacts) -> bool:
    architecture = tables.architecture(capability)
    if architecture is None or host.driver is None or host.os != "linux":
        return True
    branch = tables.driver_branch(host.driver)
    first, last = architecture.first_driver_branch, architecture.last_driver_branch
    return (first is None or branch >= first) and (last is None or branch <= last)


def variants(image: ImageFacts, host: HostFacts, gpu: Gpu) -> Iterator[tuple[Gpu, dict[str, str]]]:
    """The board with each brand it may report and each answer on eligibility, where these can matter."""
    for branded, given in _brands(image, host, gpu):
        for board, more in _eligibility(image, branded):
            yield board, {**given, **more}


def _brands(image: ImageFacts, host: HostFacts, gpu: Gpu) -> Iterator[tuple[Gpu, dict[str, str]]]:
    gpu = replace(gpu, brands=reported_brands(gpu, host))
    named = any("brand" in entry.lower() for entry in image.config.env if entry.startswith("NVIDIA_REQUIRE_"))
    if not named or requirement_dialect(host.injection or "none") != "c":
        yield gpu, {}
        return
    if not gpu.brands:
        for brand in sorted({brand for model in tables.gpus() for brand in model.brands}):
            yield replace(gpu, brands=(brand,)), {"brand": brand}
        return
    for brand in gpu.brands:
        yield replace(gpu, brands=(brand,)), {"brand": brand} if len(gpu.brands) > 1 else {}


def _eligibility(image: ImageFacts, gpu: Gpu) -> Iterator[tuple[Gpu, dict[str, str]]]:
    notes = {directory.note for directory in image.compat}
    decided = gpu.forward_compat is not None or all(board_is_eligible(gpu, note)[0] is not None for note in notes)
    if not image.compat or decided:
        yield gpu, {}
        return
    yield replace(gpu, forward_compat=True), {"forward_compat": "forward compatibility is supported"}
    yield replace(gpu, forward_compat=False), {"forward_compat": "forward compatibility is not supported"}
