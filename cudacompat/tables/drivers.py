"""Driver branches, the CUDA version each reports, and what a program needs of them."""

from __future__ import annotations

from typing import Literal

from cudacompat.tables.store import Row, remembered, rows, sources
from cudacompat.tables.types import Branch, Confidence, Known
from cudacompat.tables.versions import cuda_pair, driver_branch, parse_driver, parse_version

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
        return _windows(driver)
    if os == "jetson":
        return _jetson(driver)
    number = driver_branch(driver)
    known = branch(number)
    return _of_branch(driver, known) if known is not None else _between(number)


def _of_branch(driver: str, known: Branch) -> Known:
    row = next(row for row in rows("driver_branches") if row["branch"] == known.branch)
    cuda, confidence = known.cuda, _confidence(row)
    version = parse_driver(driver)
    for boundary in row.get("boundaries", []):
        if version >= parse_driver(boundary["from"]):
            cuda, confidence = boundary["cuda"], "medium"
    if _below_first_release(driver, known):
        return _previous(known, driver)
    return Known(cuda, confidence, f"driver branch {known.branch}", known.source)


def _confidence(row: Row) -> Confidence:
    return "medium" if row.get("single_source") else "high"


def _below_first_release(driver: str, known: Branch) -> bool:
    """Before CUDA 11 a branch's first releases did not carry its CUDA version yet (367.35 against 367.48)."""
    if cuda_pair(known.cuda) >= (11, 0) or known.first_release is None or "." not in driver:
        return False
    return parse_driver(driver) < parse_driver(known.first_release)


def _previous(known: Branch, driver: str) -> Known:
    older = [other for other in branches() if cuda_pair(other.cuda) < cuda_pair(known.cuda)]
    basis = f"{driver} is older than {known.first_release}, the first release with CUDA {known.cuda}"
    if older:
        return Known(older[0].cuda, "medium", basis, known.source)
    major, minor = cuda_pair(known.cuda)
    below = f"{major}.{minor - 1}" if minor else f"{major - 1}.5"
    return Known(below, "medium", basis, known.source)


def _between(number: int) -> Known:
    known = sorted(branches(), key=lambda row: row.branch)
    below = [row for row in known if row.branch < number]
    above = [row for row in known if row.branch > number]
    if not below:
        return Known(None, "low", f"branch {number} is older than every row of the table")
    if not above:
        basis = f"branch {number} is newer than the table; at least that of branch {below[-1].branch}"
        return Known(below[-1].cuda, "low", basis, below[-1].source)
    basis = f"between branches {below[-1].branch} and {above[0].branch}; at least the lower one's"
    confidence: Confidence = "medium" if below[-1].cuda == above[0].cuda else "low"
    return Known(below[-1].cuda, confidence, basis, below[-1].source)


def _windows(driver: str) -> Known:
    number = driver_branch(driver)
    for row in rows("windows_drivers"):
        if row["first"] <= number <= row["last"]:
            basis = f"Windows driver branch {number}"
            return Known(row["cuda"], "medium", basis, sources("windows_drivers", row))
    below = [row for row in rows("windows_drivers") if row["last"] < number]
    if not below:
        return Known(None, "low", f"Windows branch {number} is older than every row of the table")
    nearest = max(below, key=lambda row: int(row["last"]))
    basis = f"Windows branch {number} has no row; at least that of branch {nearest['last']}"
    return Known(nearest["cuda"], "low", basis, sources("windows_drivers", nearest))


def _jetson(driver: str) -> Known:
    for row in rows("jetson", "release"):
        if row.get("driver") and parse_version(driver) == parse_version(row["driver"]):
            return Known(row["cuda"], "medium", f"Jetson driver {driver}", sources("jetson", row))
    return Known(None, "low", f"Jetson driver {driver} has no row: its number is no desktop branch")


@remembered
def minor_compat_floor(cuda: str) -> Known:
    """The oldest Linux driver that runs programs of this CUDA version by minor version compatibility.

    None for CUDA 10 and older, which have none. A major version newer than the table has no floor either.
    """
    major, minor = cuda_pair(cuda)
    for row in rows("minor_version_compat", "exception"):
        if cuda_pair(row["minors"]) == (major, minor):
            return _floor(row)
    for row in rows("minor_version_compat", "major"):
        if row["cuda_major"] == major:
            return _floor(row)
    return Known(None, "high", f"CUDA {major} has no minor version compatibility in the table")


def _floor(row: Row) -> Known:
    basis = f"floor of CUDA {row.get('minors', row['cuda_major'])}"
    return Known(row["linux_min"], "high", basis, sources("minor_version_compat", row))
