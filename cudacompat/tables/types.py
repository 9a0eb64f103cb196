"""Rows of the bundled tables as typed values, and answers that say what they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Known:
    """A looked-up text with its grounds.

    ``value`` None: the table cannot say. ``confidence`` is "high" for a row of the table, "medium" for a
    single-source or derived row, "low" for a bound taken from neighbours or a newer-than-table version.
    ``basis`` is half a sentence for a person ("driver branch 550", "between branches 545 and 550").
    """

    value: str | None
    confidence: Confidence
    basis: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """A Linux driver branch: the first number of its versions and what it brings."""

    branch: int
    cuda: str
    designation: str | None
    eol: str | None
    first_release: str | None
    newest_seen: str | None
    oldest_compute_capability: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Release:
    """A CUDA toolkit release. Drivers are the ones it shipped with, not what a program needs.

    ``covers`` are other toolkit versions that NVIDIA's table names with this row.
    """

    toolkit: str
    cuda: str
    linux_driver_min: str | None
    windows_driver_min: str | None
    branch: int | None
    source: str
    prerelease: bool = False
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowsDrivers:
    """A range of Windows driver branches that report one CUDA version, with drivers seen."""

    first: int
    last: int
    cuda: str
    examples: tuple[str, ...]
    single_source: bool
    source: str


@dataclass(frozen=True, slots=True)
class JetsonRelease:
    """An L4T release ("36.4"), its JetPack and the CUDA version it brings."""

    l4t: str
    jetpack: str
    cuda: str
    driver: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Architecture:
    """A compute capability's life: toolkits that target it and driver branches that run it (None: open)."""

    compute_capability: str
    name: str
    first_toolkit: str | None
    last_toolkit: str | None
    first_driver_branch: int | None
    last_driver_branch: int | None
    source: str


@dataclass(frozen=True, slots=True)
class GpuModel:
    """A product by the name drivers print. ``forward_compat`` None: the documents do not decide."""

    name: str
    compute_capability: str
    architecture: str
    gpu_class: str
    brands: tuple[str, ...]
    forward_compat: bool | None
    source: str


@dataclass(frozen=True, slots=True)
class WheelKernels:
    """Device code of a framework wheel: real targets ("80", "90a") and PTX targets ("90").

    ``ptx`` None: unknown or contradictory. ``ptx_isa`` is the PTX ISA the build's toolkit writes.
    """

    framework: str
    release: str
    cuda: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...] | None
    ptx_isa: str | None
    confidence: Confidence
    source: str


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """A CUDA error: number, names, the message programs print, what it means, what to do."""

    code: int
    driver_name: str | None
    runtime_name: str | None
    message: str
    meaning: str
    causes: str
    advice: str
    source: str
