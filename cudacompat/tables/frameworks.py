"""Framework wheels: which CUDA they are built for and which device code they carry."""

from __future__ import annotations

from typing import Literal

from cudacompat.tables.releases import toolkit_targets
from cudacompat.tables.store import Row, remembered, rows, sources
from cudacompat.tables.types import Known, WheelKernels
from cudacompat.tables.versions import cuda_pair, parse_version

Machine = Literal["amd64", "arm64"]


@remembered
def wheel_kernels(framework: str, release: str, cuda: str, machine: str = "amd64") -> WheelKernels | None:
    """The device code of a published wheel, None where the table has no row for it.

    A row covers a minor release ("2.7" for "2.7.1"); ``cuda`` is the variant's CUDA version.
    """
    row = _wheel_row(framework, release, cuda)
    code = row.get(machine) if row is not None else None
    if row is None or code is None:
        return None
    unclear = code["ptx"] is None
    targets = code["sass"]
    return WheelKernels(
        framework=framework,
        release=row["release"],
        cuda=row["cuda"],
        sass=tuple(targets),
        ptx=None if unclear else ((targets[-1],) if code["ptx"] else ()),
        ptx_isa=_isa_of(cuda),
        confidence="low" if row.get("single_source") else "medium",
        source=sources("frameworks", row),
    )


def _isa_of(cuda: str) -> str | None:
    for row in rows("toolkit_targets"):
        if cuda_pair(row["toolkit"]) == cuda_pair(cuda):
            return str(row["ptx_isa"])
    return None


def _wheel_row(framework: str, release: str, cuda: str) -> Row | None:
    wanted = parse_version(release).release[:2]
    for row in rows("frameworks", "wheel"):
        same = row["framework"] == framework and parse_version(row["release"]).release[:2] == wanted
        if same and cuda_pair(row["cuda"]) == cuda_pair(cuda):
            return row
    return None


@remembered
def wheel_variants(framework: str, release: str, machine: str = "amd64") -> tuple[str, ...]:
    """The CUDA versions that a framework release was built for, newest first."""
    wanted = parse_version(release).release[:2]
    found = [
        str(row["cuda"])
        for row in rows("frameworks", "wheel")
        if row["framework"] == framework and machine in row and parse_version(row["release"]).release[:2] == wanted
    ]
    return tuple(sorted(found, key=cuda_pair, reverse=True))


@remembered
def default_cuda(framework: str, release: str, machine: str = "amd64") -> Known:
    """The CUDA variant that a plain `pip install` of a release brings; "cpu" for a CPU build."""
    wanted = parse_version(release)
    for row in rows("frameworks", "default"):
        if row["framework"] == framework and parse_version(row["release"]) == wanted:
            value = row.get(machine) or (row.get("cuda") if machine == "amd64" else None)
            return Known(value, "high", f"PyPI's default wheel of {framework} {release}", sources("frameworks", row))
    return _default_of_minor(framework, release, machine)


def _default_of_minor(framework: str, release: str, machine: str) -> Known:
    wanted = parse_version(release).release[:2]
    for row in rows("frameworks", "default"):
        if row["framework"] == framework and parse_version(row["release"]).release[:2] == wanted:
            value = row.get(machine) or (row.get("cuda") if machine == "amd64" else None)
            basis = f"PyPI's default wheel of {framework} {row['release']}"
            return Known(value, "medium", basis, sources("frameworks", row))
    return Known(None, "low", f"no row for {framework} {release}")


def targets_beyond(cuda: str, targets: tuple[str, ...]) -> tuple[str, ...]:
    """The targets that a toolkit of this CUDA version cannot write: a sign of a wrong row."""
    known = toolkit_targets(cuda)
    return tuple(target for target in targets if known is not None and target not in known)
