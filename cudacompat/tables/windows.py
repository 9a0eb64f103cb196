"""Windows driver branches, also those behind WSL: their numbers are not those of Linux."""

from __future__ import annotations

from cudacompat.tables.store import remembered, rows, sources
from cudacompat.tables.types import Known, WindowsDrivers
from cudacompat.tables.versions import cuda_pair, driver_branch, is_branch_only, parse_driver


@remembered
def windows_drivers() -> tuple[WindowsDrivers, ...]:
    """Every known range of Windows branches, oldest first."""
    return tuple(
        WindowsDrivers(
            first=row["first"],
            last=row["last"],
            cuda=row["cuda"],
            examples=tuple(row["examples"]),
            single_source=row.get("single_source", False),
            source=sources("windows_drivers", row),
        )
        for row in sorted(rows("windows_drivers"), key=lambda row: int(row["first"]))
    )


def windows_driver_cuda(driver: str) -> Known:
    """The CUDA version that a Windows driver reports, with bounds where its branch has no row."""
    number = driver_branch(driver)
    for known in windows_drivers():
        if known.first <= number <= known.last:
            return Known(known.cuda, "medium" if known.single_source else "high", _named(number), known.source)
    below = [known for known in windows_drivers() if known.last < number]
    above = [known for known in windows_drivers() if known.first > number]
    if below and above and below[-1].cuda == above[0].cuda:
        return Known(below[-1].cuda, "medium", f"{_named(number)} lies between two of one CUDA", below[-1].source)
    return _bounded(driver, below[-1] if below else None)


def _bounded(driver: str, below: WindowsDrivers | None) -> Known:
    """The greater of two lower bounds: the branch below, and the toolkits that shipped with older drivers."""
    number = driver_branch(driver)
    bounds = []
    if below is not None:
        basis = f"{_named(number)} has no row; at least that of branch {below.last}"
        bounds.append(Known(below.cuda, "low", basis, below.source))
    shipped = [row for row in rows("cuda_releases") if _is_older(row.get("windows_driver_min"), driver)]
    if shipped:
        row = max(shipped, key=lambda row: cuda_pair(row["cuda"]))
        basis = f"{_named(number)} has no row; CUDA {row['toolkit']} shipped with {row['windows_driver_min']}"
        bounds.append(Known(row["cuda"], "low", basis, sources("cuda_releases", row)))
    if not bounds:
        return Known(None, "low", f"{_named(number)} is older than every row of the table")
    return max(bounds, key=lambda bound: cuda_pair(bound.value or "0"))


def _is_older(shipped: str | None, driver: str) -> bool:
    if shipped is None:
        return False
    if is_branch_only(driver):
        return driver_branch(shipped) < driver_branch(driver)
    return parse_driver(shipped) <= parse_driver(driver)


def _named(number: int) -> str:
    return f"Windows driver branch {number}"
