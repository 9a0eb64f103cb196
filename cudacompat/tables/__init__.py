"""Typed look-ups over data/. Versions are never compared as text or float.

Being written; the names below are fixed.
"""

from cudacompat.tables.types import (
    Architecture,
    Branch,
    ErrorEntry,
    GpuModel,
    Known,
    Release,
    WheelKernels,
)

__all__ = ["Architecture", "Branch", "ErrorEntry", "GpuModel", "Known", "Release", "WheelKernels"]
