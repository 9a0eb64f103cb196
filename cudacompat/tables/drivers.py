"""Driver branches and the CUDA version that each reports."""

from __future__ import annotations

from typing import Literal

from cudacompat.tables.jetson import jetson_branches, jetson_driver_cuda
from cudacompat.tables.store import Row, remembered, rows, sources
from cudacompat.tables.types import Branch, Confidence, Known
from cudacompat.tables.versions import cuda_pair, driver_branch, is_branch_only, parse_driver
from cudacompat.tables.windows import windows_driver_cuda

HostOs = Literal["linux", "wsl2", "jetson"]


@remembered
def branches() -> tuple[Branch, ...]:
    """Every Linux driver branch whose CUDA version is known, newest first."""
    return tuple(_branch(row) for row in rows("driver_branches") if "cuda" in row)


def _branch(row: Row) -> Branch:
    return Branch(
        branch=row["branch"],
        cuda=row["cuda"],
        designation=row.get("designation"),
        eol=row.get("eol"),
        first_release=row.get("first_release"),
        newest_seen=row.get("newest_seen"),
        oldest_compute_capability=row.get("oldest_compute_capability"),
        source=sources("driver_branches", row),
    )


@remembered
def branch(number: int) -> Branch | None:
    """A branch's row, None when the table has none."""
    return next((known for known in branches() if known.branch == number), None)


@remembered
def driver_cuda(driver: str, os: HostOs = "linux") -> Known:
    """The CUDA version that a driver's own libcuda reports.

    A branch without a row is bounded by its neighbours, and one newer than the table by the newest row;
    both with low confidence. Raises UsageError when the text is no driver version.
    """
    if os == "wsl2":
        return windows_driver_cuda(driver)
    if os == "jetson":
        return jetson_driver_cuda(driver)
    number = driver_branch(driver)
    known = branch(number)
    if known is not None:
        return _of_branch(driver, known)
    return jetson_driver_cuda(driver) if number in jetson_branches() else _between(number)


def _of_branch(driver: str, known: Branch) -> Known:
    row = next(row for row in rows("driver_branches") if row["branch"] == known.branch)
    if "observed" in row and not is_branch_only(driver):
        return _observed(driver, row)
    start = _cuda_starts_at(known)
    if start is not None and not is_branch_only(driver) and parse_driver(driver) < parse_driver(start):
        return _previous(driver, known, start)
    unsure = row.get("single_source") or "observed" in row or (start is not None and is_branch_only(driver))
    return Known(known.cuda, "medium" if unsure else "high", f"driver branch {known.branch}", known.source)


def _observed(driver: str, row: Row) -> Known:
    """A branch whose CUDA version changed inside it: what the nearest single drivers were seen to report."""
    version = parse_driver(driver)
    below = [item for item in row["observed"] if parse_driver(item["driver"]) <= version]
    above = [item for item in row["observed"] if parse_driver(item["driver"]) > version]
    seen = [*below[-1:], *above[:1]]
    least = min(seen, key=lambda item: cuda_pair(item["cuda"]))
    same = len({item["cuda"] for item in seen}) == 1 or (below and parse_driver(below[-1]["driver"]) == version)
    value = below[-1]["cuda"] if below and same else least["cuda"]
    basis = f"branch {row['branch']} changed its CUDA version; seen near {driver}: " + ", ".join(
        f"{item['driver']} with {item['cuda']}" for item in seen
    )
    return Known(value, "medium" if same else "low", basis, sources("driver_branches", row))


def _cuda_starts_at(known: Branch) -> str | None:
    """The oldest driver of a branch with its CUDA version: before CUDA 11 not every release had it."""
    if cuda_pair(known.cuda) >= (11, 0):
        return None
    shipped = [row.get("linux_driver_min") for row in rows("cuda_releases") if row["branch"] == known.branch]
    starts = [driver for driver in (*shipped, known.first_release) if driver is not None]
    return min(starts, key=parse_driver) if starts else None


def _previous(driver: str, known: Branch, start: str) -> Known:
    """367.35 is older than 367.48, the first with CUDA 8.0: what the branch before it had."""
    basis = f"{driver} is older than {start}, the oldest with CUDA {known.cuda}"
    older = [other for other in branches() if other.branch < known.branch]
    if older:
        return Known(older[0].cuda, "medium", basis, f"{known.source}; {older[0].source}")
    before = _by_ptx_history(known.branch)
    return Known(before.value, "medium", basis, known.source)


def _between(number: int) -> Known:
    below = [row for row in branches() if row.branch < number]
    above = [row for row in branches() if row.branch > number]
    if not below:
        return _by_ptx_history(number)
    nearest = below[0]
    if not above:
        listed = any(row["branch"] == number for row in rows("driver_branches"))
        state = "is in the table without its CUDA version" if listed else "is newer than the table"
        basis = f"branch {number} {state}; at least that of branch {nearest.branch}"
        return Known(nearest.cuda, "low", basis, nearest.source)
    basis = f"between branches {nearest.branch} and {above[-1].branch}; at least the lower one's"
    confidence: Confidence = "medium" if nearest.cuda == above[-1].cuda else "low"
    return Known(nearest.cuda, confidence, basis, nearest.source)


def _by_ptx_history(number: int) -> Known:
    """Branches older than the branch table: NVIDIA's PTX history names the CUDA version of some.

    It names the first branch of CUDA 8.0 by an internal number, so only older CUDA versions count.
    """
    oldest = cuda_pair(branches()[-1].cuda)
    named = [row for row in rows("driver_ptx") if row.get("branch", number + 1) <= number and "cuda" in row]
    found = [row for row in named if cuda_pair(row["cuda"]) < oldest]
    if not found:
        return Known(None, "low", f"branch {number} is older than every row of the table")
    row = max(found, key=lambda row: int(row["branch"]))
    basis = f"branch {number} is older than the branch table; by NVIDIA's PTX history at least CUDA {row['cuda']}"
    return Known(row["cuda"], "low", basis, sources("driver_ptx", row))
