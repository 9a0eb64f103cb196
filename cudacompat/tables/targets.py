"""What toolkits write and what drivers compile: machine code targets, PTX ISA versions, architectures."""

from __future__ import annotations

from cudacompat.tables.drivers import driver_cuda
from cudacompat.tables.store import Row, remembered, rows, sources
from cudacompat.tables.types import Architecture, Confidence, Known
from cudacompat.tables.versions import cuda_pair, driver_branch

_ORDER: tuple[Confidence, ...] = ("low", "medium", "high")


@remembered
def ptx_isa_for_cuda(cuda: str) -> Known:
    """The newest PTX ISA that a libcuda of this CUDA version compiles.

    A CUDA version without a row is answered by the next older one ("at least"), with low confidence.
    """
    wanted = cuda_pair(cuda)
    older = [row for row in _by_cuda() if cuda_pair(row["cuda"]) <= wanted]
    if not older:
        return Known(None, "low", f"CUDA {cuda} is older than every row of the table")
    newest = max(older, key=lambda row: cuda_pair(row["cuda"]))
    if cuda_pair(newest["cuda"]) == wanted:
        return _isa(newest, f"CUDA {newest['cuda']}")
    known = _isa(newest, f"CUDA {cuda} has no row; at least that of CUDA {newest['cuda']}")
    return Known(known.value, "low", known.basis, known.source)


def _by_cuda() -> list[Row]:
    return [row for row in rows("driver_ptx") if "cuda" in row]


def _isa(row: Row, basis: str) -> Known:
    return Known(row["ptx_isa"], "medium" if row.get("single_source") else "high", basis, sources("driver_ptx", row))


@remembered
def newest_ptx_isa_for_driver(driver: str) -> Known:
    """The newest PTX ISA that a Linux driver's own libcuda compiles: that of its CUDA version.

    Raises UsageError.
    """
    cuda = driver_cuda(driver)
    if cuda.value is None:
        return _by_branch(driver_branch(driver))
    isa = ptx_isa_for_cuda(cuda.value)
    weaker = min((cuda.confidence, isa.confidence), key=_ORDER.index)
    return Known(isa.value, weaker, f"{cuda.basis}, CUDA {cuda.value}", isa.source)


def _by_branch(number: int) -> Known:
    named = [row for row in rows("driver_ptx") if row.get("branch", number + 1) <= number]
    if not named:
        return Known(None, "low", f"branch {number} is older than every row of the table")
    known = _isa(max(named, key=lambda row: int(row["branch"])), f"branch {number}, by NVIDIA's PTX history")
    return Known(known.value, "low", known.basis, known.source)


@remembered
def cuda_for_ptx_isa(isa: str) -> Known:
    """The oldest CUDA version whose driver compiles a PTX ISA version; None when newer than the table."""
    wanted = cuda_pair(isa)
    found = [row for row in _by_cuda() if cuda_pair(row["ptx_isa"]) >= wanted]
    if not found:
        return Known(None, "low", f"PTX ISA {isa} is newer than the table")
    oldest = min(found, key=lambda row: cuda_pair(row["cuda"]))
    known = _isa(oldest, f"CUDA {oldest['cuda']} is the oldest whose driver takes PTX ISA {isa}")
    return Known(oldest["cuda"], known.confidence, known.basis, known.source)


@remembered
def toolkit_targets(cuda: str) -> tuple[str, ...] | None:
    """The real targets ("75", "90a") that a toolkit minor version assembles, None when not in the table."""
    row = toolkit_row(cuda)
    return tuple(row["targets"]) if row is not None and "targets" in row else None


def toolkit_row(cuda: str) -> Row | None:
    """A toolkit minor version's row, None without one."""
    return next((row for row in rows("toolkit_targets") if cuda_pair(row["toolkit"]) == cuda_pair(cuda)), None)


@remembered
def architectures() -> tuple[Architecture, ...]:
    """Every known compute capability, oldest first."""
    return tuple(
        Architecture(
            compute_capability=row["compute_capability"],
            name=row["architecture"],
            first_toolkit=row.get("first_toolkit"),
            last_toolkit=row.get("last_toolkit"),
            first_driver_branch=row.get("first_driver_branch"),
            last_driver_branch=row.get("last_driver_branch"),
            source=sources("architectures", row),
        )
        for row in rows("architectures")
    )


@remembered
def architecture(compute_capability: str) -> Architecture | None:
    """A compute capability's row ("8.6"), None when the table has none."""
    return next((known for known in architectures() if known.compute_capability == compute_capability), None)
