"""The driver API version that the loaded libcuda offers, and how well that is known."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from cudacompat import tables
from cudacompat.model import Finding
from cudacompat.model.prediction import Confidence
from cudacompat.predict.launch import Launch


@dataclass(frozen=True, slots=True)
class Offer:
    """``cuda`` is "major.minor" or None; ``driver`` the version whose branch decides.

    ``forward`` tells that a compat library newer than the kernel driver is loaded. ``tegra`` and
    ``by_cuda_only`` mark hosts whose driver numbers say nothing about Linux branches (Jetson, WSL).
    """

    cuda: str | None
    driver: str
    confidence: Confidence
    basis: str
    forward: bool = False
    tegra: bool = False
    by_cuda_only: bool = False
    findings: tuple[Finding, ...] = ()

    def words(self, launch: Launch) -> str:
        """Half a sentence that names the library and its CUDA version."""
        if self.forward:
            return f"the compat libcuda {self.driver} offers CUDA {self.cuda}"
        return (
            f"driver {launch.host.driver} offers CUDA {self.cuda}"
            if self.driver
            else f"the driver offers CUDA {self.cuda}"
        )


def offered(launch: Launch) -> Offer:
    """The offer of whichever libcuda was chosen. Call it only when the driver or its CUDA version is known."""
    found, host = launch.libcuda, launch.host
    driver = host.driver or ""
    if found.kind == "compat" and found.version and found.version != driver:
        return _of_compat(launch, found.version)
    if host.driver is None:
        return Offer(
            host.driver_cuda, driver, "high", "as the host reports it", tegra=host.os == "jetson", by_cuda_only=True
        )
    if host.driver_cuda is not None:
        known = tables.driver_cuda(driver, os=host.os)
        derived = known.value == host.driver_cuda
        confidence: Confidence = known.confidence if derived else "high"
        basis = known.basis if derived else "as the host reports it"
        return Offer(
            host.driver_cuda,
            driver,
            confidence,
            basis,
            tegra=host.os == "jetson",
            by_cuda_only=host.os == "wsl2",
            findings=_outside_table(driver, basis) if derived and confidence == "low" else (),
        )
    known = tables.driver_cuda(driver, os=host.os)
    low = _outside_table(driver, known.basis) if known.confidence == "low" else ()
    return Offer(known.value, driver, known.confidence, known.basis, findings=low)


def _of_compat(launch: Launch, version: str) -> Offer:
    library = launch.libcuda.library
    noted = note_cuda(library.compat_note if library else None)
    if noted is not None:
        basis = "the compat library's own note"
        return Offer(noted, version, "high", basis, forward=True, tegra=launch.host.os == "jetson")
    if not is_driver_version(version):
        return Offer(None, version, "low", "the compat library's file name tells no driver version", forward=True)
    known = tables.driver_cuda(version)
    return Offer(known.value, version, known.confidence, known.basis, forward=True)


def is_driver_version(version: str) -> bool:
    """Whether a file name's version is a driver version: Tegra's libcuda.so.1.1 has none."""
    return re.fullmatch(r"[1-9][0-9]{2,3}(?:\.[0-9]{1,6}){1,3}", version, re.ASCII) is not None


def note_cuda(note: str | None) -> str | None:
    """The "CUDA version" of a forward compatibility note ("13.0"), None when it has none."""
    value = note_fields(note).get("cuda version")
    return value if isinstance(value, str) and re.fullmatch(r"\d+\.\d+", value) else None


def note_fields(note: str | None) -> dict[str, object]:
    """The note's keys in lower case: NVIDIA's reader takes them in any case. Empty when unreadable."""
    try:
        parsed = json.loads(note or "{}")
    except (ValueError, RecursionError):
        return {}
    return {str(key).lower(): value for key, value in parsed.items()} if isinstance(parsed, dict) else {}


def _outside_table(driver: str, basis: str) -> tuple[Finding, ...]:
    message = f"driver {driver} is not a row of the bundled table; its CUDA version is a bound: {basis}"
    fix = "Give the value that nvidia-smi prints (--driver-cuda), or import a newer table edition."
    return (Finding("driver-outside-table", "note", "init", message, fix),)
