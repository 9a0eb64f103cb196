"""CUDA toolkit releases, the drivers they shipped with, and minor version compatibility."""

from __future__ import annotations

from cudacompat.tables.drivers import branch, branches
from cudacompat.tables.store import Row, remembered, rows, sources
from cudacompat.tables.types import Confidence, Known, Release
from cudacompat.tables.versions import cuda_pair, parse_version

_FIRST_WITH_MINOR_COMPAT = 11


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
            prerelease=row.get("prerelease", False),
            covers=tuple(row.get("covers", ())),
        )
        for row in rows("cuda_releases")
    )


@remembered
def release(version: str) -> Release | None:
    """The release of a toolkit version ("12.4.1"); for a CUDA version ("12.4") its first general release.

    A toolkit version without a row gets the first general release of its CUDA version; None where the
    CUDA version has none either. Raises UsageError.
    """
    return _exact(version) or _first_general(version)


def _exact(version: str) -> Release | None:
    wanted = parse_version(version)
    if len(wanted.release) < 3:
        return None
    for known in releases():
        if wanted in (parse_version(known.toolkit), *map(parse_version, known.covers)):
            return known
    return None


def _first_general(version: str) -> Release | None:
    same = [known for known in releases() if cuda_pair(known.cuda) == cuda_pair(version) and not known.prerelease]
    return min(same, key=lambda known: parse_version(known.toolkit), default=None)


@remembered
def toolkit_driver_minimum(version: str) -> Known:
    """The Linux driver that a toolkit release shipped with at least; for "12.4" that of the first release.

    Where NVIDIA names a branch only (CUDA 13.3 and newer), the branch's first known release. A version newer
    than the table is answered by the newest one of its major version, with low confidence.
    """
    known = release(version)
    if known is None:
        return _without_release(version)
    exact = len(parse_version(version).release) < 3 or _exact(version) is not None
    if known.linux_driver_min is not None:
        basis = f"release notes of CUDA {known.toolkit}" + ("" if exact else f"; {version} has no row of its own")
        return Known(known.linux_driver_min, "high" if exact else "medium", basis, known.source)
    row = branch(known.branch) if known.branch is not None else None
    if row is None or row.first_release is None:
        return Known(None, "low", f"no driver is named for CUDA {known.toolkit}", known.source)
    basis = f"first known release of branch {row.branch}, which the notes of CUDA {known.cuda} name"
    return Known(row.first_release, "medium", basis, known.source)


def _without_release(version: str) -> Known:
    """A driver may report a CUDA version that no toolkit ever had (12.7); else it is newer than the table."""
    for row in branches():
        if cuda_pair(row.cuda) == cuda_pair(version):
            basis = f"no toolkit {row.cuda} exists; first release of branch {row.branch}, which reports it"
            return Known(row.first_release, "medium", basis, row.source)
    newest = max((cuda_pair(known.cuda) for known in releases()), default=(0, 0))
    if cuda_pair(version)[0] == newest[0] and cuda_pair(version) > newest:
        nearest = toolkit_driver_minimum(f"{newest[0]}.{newest[1]}")
        basis = f"CUDA {version} is newer than the table; at least that of CUDA {newest[0]}.{newest[1]}"
        return Known(nearest.value, "low", basis, nearest.source)
    return Known(None, "low", f"CUDA {version} is not in the table")


@remembered
def minor_compat_floor(cuda: str) -> Known:
    """The oldest Linux driver that runs programs of this CUDA version by minor version compatibility.

    None for CUDA 10 and older, which have none, and for a major version newer than the table. A minor
    version newer than the table follows its major version's rule, with medium confidence.
    """
    major, minor = cuda_pair(cuda)
    for row in rows("minor_version_compat", "exception"):
        if cuda_pair(row["cuda"]) == (major, minor):
            return _floor(row, f"floor of CUDA {row['cuda']}", "high")
    for row in rows("minor_version_compat", "major"):
        if row["cuda_major"] == major:
            beyond = (major, minor) > max(cuda_pair(known.cuda) for known in releases())
            note = f"; {major}.{minor} is newer than the table" if beyond else ""
            return _floor(row, f"floor of CUDA {major}{note}", "medium" if beyond else "high")
    if major < _FIRST_WITH_MINOR_COMPAT:
        return Known(None, "high", f"CUDA {major} has no minor version compatibility")
    return Known(None, "low", f"CUDA {major} is newer than the table: its floor is not known")


def _floor(row: Row, basis: str, confidence: Confidence) -> Known:
    return Known(row["linux_min"], confidence, basis, sources("minor_version_compat", row))
