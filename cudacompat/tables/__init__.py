"""Typed look-ups over data/. Versions are never compared as text or float.

A version that a table does not know is no error: look-ups answer with a bound, say what it rests on, and
lower the confidence.
"""

from __future__ import annotations

from datetime import date

from cudacompat.tables.bottlerocket import bottlerocket_driver
from cudacompat.tables.drivers import branch, branches, driver_cuda
from cudacompat.tables.errors import error, errors
from cudacompat.tables.forward import forward_compat
from cudacompat.tables.frameworks import default_cuda, framework_releases, wheel_kernels, wheel_variants
from cudacompat.tables.gpus import find_gpu, gpus
from cudacompat.tables.jetson import jetson_release, jetson_releases
from cudacompat.tables.releases import minor_compat_floor, release, releases, toolkit_driver_minimum
from cudacompat.tables.store import edition
from cudacompat.tables.targets import (
    architecture,
    architectures,
    cuda_for_ptx_isa,
    newest_ptx_isa_for_driver,
    ptx_isa_for_cuda,
    toolkit_targets,
)
from cudacompat.tables.types import (
    Architecture,
    Branch,
    ErrorEntry,
    GpuModel,
    JetsonRelease,
    Known,
    Release,
    WheelKernels,
    WindowsDrivers,
)
from cudacompat.tables.versions import cuda_pair, driver_branch, parse_driver, parse_version
from cudacompat.tables.windows import windows_drivers

__all__ = [
    "Architecture",
    "Branch",
    "ErrorEntry",
    "GpuModel",
    "JetsonRelease",
    "Known",
    "Release",
    "WheelKernels",
    "WindowsDrivers",
    "architecture",
    "architectures",
    "bottlerocket_driver",
    "branch",
    "branches",
    "cuda_for_ptx_isa",
    "cuda_pair",
    "default_cuda",
    "driver_branch",
    "driver_cuda",
    "edition",
    "edition_age_note",
    "error",
    "errors",
    "find_gpu",
    "forward_compat",
    "framework_releases",
    "gpus",
    "jetson_release",
    "jetson_releases",
    "minor_compat_floor",
    "newest_ptx_isa_for_driver",
    "parse_driver",
    "parse_version",
    "ptx_isa_for_cuda",
    "release",
    "releases",
    "toolkit_driver_minimum",
    "toolkit_targets",
    "wheel_kernels",
    "wheel_variants",
    "windows_drivers",
]

_OLD_AFTER_DAYS = 270


def edition_age_note(today: date) -> str | None:
    """A sentence when the tables in use, or a part of them, are older than 270 days, else None."""
    oldest = edition().partition("+")[0]
    year, _, month = oldest.partition("-")
    age = (today - date(int(year), int(month[:2]), 1)).days
    if age <= _OLD_AFTER_DAYS:
        return None
    return f"the bundled tables are of edition {oldest}, {age} days old: newer drivers are judged by bounds"
