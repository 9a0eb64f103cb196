"""CUDA errors as a program would print them, worded by the bundled table."""

from __future__ import annotations

from cudacompat import tables
from cudacompat.model import CudaError


def cuda_error(code: int) -> CudaError:
    """The error of this number. Numbers that the table lacks keep an empty text."""
    entry = tables.error(code)
    if entry is None:
        return CudaError(code, None, "")
    # 35 is what the runtime reports by itself; most other codes come up from the driver API.
    name = entry.runtime_name if code == 35 else entry.driver_name
    return CudaError(code, name or entry.runtime_name, entry.message)
