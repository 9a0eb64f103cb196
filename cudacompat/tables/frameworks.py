"""Framework wheels: which CUDA they are built for and which device code they carry."""

from __future__ import annotations

from typing import Literal

from cudacompat.tables.store import Row, remembered, rows, sources
from cudacompat.tables.targets import toolkit_row
from cudacompat.tables.types import Known, WheelKernels
from cudacompat.tables.versions import cuda_pair, parse_version

Machine = Literal["amd64", "arm64"]


@remembered
def wheel_kernels(framework: str, release: str, cuda: str, machine: str = "amd64") -> WheelKernels | None:
    """The device code of a published wheel, None where the table has no row for it.

    ``cuda`` is the variant's CUDA version. A build's list covers a minor release ("2.7" for "2.7.1"); a
    wheel whose objects were listed counts for exactly its own release. Raises UsageError.
    """
    return _measured(framework, release, cuda, machine) or _listed(framework, release, cuda, machine)


def _measured(framework: str, release: str, cuda: str, machine: str) -> WheelKernels | None:
    for row in rows("frameworks", "measured"):
        same = row["framework"] == framework and parse_version(row["release"]) == parse_version(release)
        if same and row["machine"] == machine and row["cuda_major"] == cuda_pair(cuda)[0]:
            return WheelKernels(
                framework=framework,
                release=row["release"],
                cuda=cuda,
                sass=tuple(row["sass"]),
                ptx=tuple(row["ptx"]),
                ptx_isa=row.get("ptx_isa"),
                confidence="high",
                source=sources("frameworks", row),
            )
    return None


def _listed(framework: str, release: str, cuda: str, machine: str) -> WheelKernels | None:
    row = _wheel_row(framework, release, cuda)
    code = row.get(machine) if row is not None else None
    if row is None or code is None:
        return None
    toolkit = toolkit_row(cuda)
    targets = code["sass"]
    return WheelKernels(
        framework=framework,
        release=row["release"],
        cuda=row["cuda"],
        sass=tuple(targets),
        ptx=None if code["ptx"] is None else ((targets[-1],) if code["ptx"] else ()),
        ptx_isa=toolkit["ptx_isa"] if toolkit is not None else None,
        confidence="low" if row.get("single_source") else "medium",
        source=sources("frameworks", row),
    )


def _wheel_row(framework: str, release: str, cuda: str) -> Row | None:
    for row in _wheels_of(framework, release):
        if cuda_pair(row["cuda"]) == cuda_pair(cuda):
            return row
    return None


def _wheels_of(framework: str, release: str) -> list[Row]:
    wanted = cuda_pair(release)
    found = rows("frameworks", "wheel")
    return [row for row in found if row["framework"] == framework and cuda_pair(row["release"]) == wanted]


@remembered
def wheel_variants(framework: str, release: str, machine: str = "amd64") -> tuple[str, ...]:
    """The CUDA versions that a framework release was built for, newest first."""
    found = [str(row["cuda"]) for row in _wheels_of(framework, release) if machine in row]
    return tuple(sorted(found, key=cuda_pair, reverse=True))


@remembered
def framework_releases(framework: str) -> tuple[str, ...]:
    """The minor releases of a framework ("2.7") whose wheels' code is listed, oldest first."""
    found = {str(row["release"]) for row in rows("frameworks", "wheel") if row["framework"] == framework}
    return tuple(sorted(found, key=cuda_pair))


@remembered
def default_cuda(framework: str, release: str, machine: str = "amd64") -> Known:
    """The CUDA version of the wheel that a plain `pip install` of a release brings; "cpu" for a CPU build.

    A major version alone ("12") where the documents say no more. Releases without a row of their own get
    that of the same minor release, with medium confidence. Raises UsageError.
    """
    for kind, basis in (("default", "PyPI's default wheel"), ("documented", "documented build")):
        row = _covering(framework, release, kind)
        if row is not None:
            value = row.get(machine) if kind == "default" else row["cuda"]
            exact = kind == "default" and parse_version(row["release"]) == parse_version(release)
            sure = exact and not row.get("single_source")
            words = f"{basis} of {framework} {row['release']}"
            return Known(value, "high" if sure else "medium", words, sources("frameworks", row))
    return Known(None, "low", f"no row for {framework} {release}")


def _covering(framework: str, release: str, kind: str) -> Row | None:
    """The row of exactly this release, else of its minor release or of a range that it lies in."""
    own = [row for row in rows("frameworks", kind) if row["framework"] == framework]
    wanted = parse_version(release)
    for row in own:
        if parse_version(row["release"]) == wanted:
            return row
    minor = cuda_pair(release)
    for row in own:
        if cuda_pair(row["release"]) <= minor <= cuda_pair(row.get("last_release", row["release"])):
            return row
    return None
