"""CUDA toolkit releases, PTX ISA versions, targets and architectures."""

from __future__ import annotations

from cudacompat.tables.drivers import branch, branches
from cudacompat.tables.store import Row, remembered, rows, sources
from cudacompat.tables.types import Architecture, Known, Release
from cudacompat.tables.versions import cuda_pair, driver_branch, parse_version


@remembered
def releases() -> tuple[Release, ...]:
    """Every known toolkit release, newest first."""
    return tuple(
        Release(
            toolkit=row["toolkit"],
            cuda=row["cuda"],
            linux_driver_min=row.get("linux_driver_min"),
            windows_driver_min=row.get("windows_driver_min"),
            branch=row.get("branch"),
            source=sources("cuda_releases", row),
        )
        for row in rows("cuda_releases")
    )


@remembered
def release(version: str) -> Release | None:
    """The release of an exact toolkit version ("12.4.1"), or the first one of a CUDA version ("12.4")."""
    wanted = parse_version(version)
    exact = next((known for known in releases() if parse_version(known.toolkit) == wanted), None)
    if exact is not None and len(wanted.release) > 2:
        return exact
    same = [known for known in releases() if cuda_pair(known.cuda) == cuda_pair(version)]
    return min(same, key=lambda known: parse_version(known.toolkit)) if same else exact


@remembered
def toolkit_driver_minimum(version: str) -> Known:
    """The Linux driver that a toolkit release shipped with at least; for "12.4" that of the first release.

    Where NVIDIA names a branch only (CUDA 13.3 and newer), the branch's first known release.
    """
    known = release(version)
    if known is None:
        return Known(None, "low", f"CUDA {version} is not in the table")
    if known.linux_driver_min is not None:
        return Known(known.linux_driver_min, "high", f"CUDA {known.toolkit} release notes", known.source)
    row = branch(known.branch) if known.branch is not None else None
    if row is None or row.first_release is None:
        return Known(None, "low", f"no driver is named for CUDA {known.toolkit}", known.source)
    return Known(row.first_release, "medium", f"first known release of branch {row.branch}", known.source)


@remembered
def ptx_isa_for_cuda(cuda: str) -> Known:
    """The newest PTX ISA that a libcuda of this CUDA version compiles.

    A CUDA version newer than the table is answered by the newest row, with low confidence.
    """
    wanted = cuda_pair(cuda)
    found = [row for row in _ptx_rows() if cuda_pair(row["cuda"]) == wanted]
    if found:
        return _isa(found[-1], f"CUDA {cuda}")
    older = [row for row in _ptx_rows() if cuda_pair(row["cuda"]) < wanted]
    if not older:
        return Known(None, "low", f"CUDA {cuda} is older than every row of the table")
    newest = max(older, key=lambda row: cuda_pair(row["cuda"]))
    known = _isa(newest, f"CUDA {cuda} has no row; at least that of CUDA {newest['cuda']}")
    return Known(known.value, "low", known.basis, known.source)


def _ptx_rows() -> list[Row]:
    return [row for row in rows("driver_ptx") if row.get("ptx_isa_max") and "cuda" in row]


def _isa(row: Row, basis: str) -> Known:
    confidence = "medium" if row.get("single_source") else "high"
    return Known(row["ptx_isa_max"], "medium" if confidence == "medium" else "high", basis, sources("driver_ptx", row))


@remembered
def newest_ptx_isa_for_driver(driver: str) -> Known:
    """The newest PTX ISA that a driver's own libcuda compiles. Raises UsageError."""
    number = driver_branch(driver)
    found = next((row for row in _ptx_rows() if row["driver_branch"] == number), None)
    if found is not None:
        return _isa(found, f"driver branch {number}")
    below = [known for known in branches() if known.branch < number]
    if not below:
        return Known(None, "low", f"branch {number} is older than every row of the table")
    nearest = max(below, key=lambda known: known.branch)
    known = ptx_isa_for_cuda(nearest.cuda)
    return Known(known.value, "low", f"branch {number} has no row; at least that of {nearest.branch}", known.source)


@remembered
def cuda_for_ptx_isa(isa: str) -> Known:
    """The oldest CUDA version whose driver compiles a PTX ISA version; None when newer than the table."""
    wanted = cuda_pair(isa)
    found = [row for row in _ptx_rows() if cuda_pair(row["ptx_isa_max"]) >= wanted]
    if not found:
        return Known(None, "low", f"PTX ISA {isa} is newer than the table")
    oldest = min(found, key=lambda row: cuda_pair(row["cuda"]))
    return Known(oldest["cuda"], "high", f"PTX ISA {isa}", sources("driver_ptx", oldest))


@remembered
def toolkit_targets(cuda: str) -> tuple[str, ...] | None:
    """The real targets ("75", "90a") that a toolkit minor version assembles, None when not in the table."""
    for row in rows("toolkit_targets"):
        if cuda_pair(row["toolkit"]) == cuda_pair(cuda) and "targets" in row:
            named = [*row["targets"], *row.get("specific_targets", [])]
            return tuple(target.removeprefix("sm_") for target in named)
    return None


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
