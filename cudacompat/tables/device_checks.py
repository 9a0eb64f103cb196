"""What the tables of GPUs, targets, frameworks and errors must agree on; in the form of ``checks``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cudacompat.tables.checks import Tables, rows_of
from cudacompat.tables.problems import Problem, problem
from cudacompat.tables.store import Row
from cudacompat.tables.versions import cuda_pair, parse_version


def targets_fit_architectures(tables: Tables) -> Iterator[Problem]:
    """A toolkit's targets are the architectures whose life it falls into; marked contradictions are left out."""
    lives = {row["compute_capability"].replace(".", ""): row for row in rows_of(tables, "architectures")}
    for row in rows_of(tables, "toolkit_targets"):
        if "targets" not in row:
            continue
        targets = {target.rstrip("af") for target in row["targets"]}
        for target in sorted(targets - set(lives)):
            yield problem("toolkit_targets", row, f"target {target} is no known compute capability")
        for target, life in lives.items():
            disputed = "contradiction" in row or "contradiction" in life
            if (target in targets) != _lives_at(life, row["toolkit"]) and not disputed:
                yield problem("toolkit_targets", row, f"target {target} does not fit its row in architectures")


def _lives_at(life: Row, toolkit: str) -> bool:
    last = life.get("last_toolkit", toolkit)
    return cuda_pair(life["first_toolkit"]) <= cuda_pair(toolkit) <= cuda_pair(last)


def branches_fit_architectures(tables: Tables) -> Iterator[Problem]:
    """A branch's oldest compute capability is the oldest whose last branch is not older."""
    with_driver = [row for row in rows_of(tables, "architectures") if "first_driver_branch" in row]
    for row in rows_of(tables, "driver_branches"):
        if "oldest_compute_capability" not in row:
            continue
        alive = [
            life["compute_capability"]
            for life in with_driver
            if life["first_driver_branch"] <= row["branch"] <= life.get("last_driver_branch", row["branch"])
        ]
        oldest = min(alive, key=cuda_pair, default=None)
        if oldest != row["oldest_compute_capability"]:
            yield problem("driver_branches", row, f"architectures has {oldest} as the oldest compute capability")


def gpus_fit_architectures(tables: Tables) -> Iterator[Problem]:
    """Every product's compute capability is known, no name comes twice, and no GeForce is eligible."""
    known = {row["compute_capability"] for row in rows_of(tables, "architectures")}
    names: set[str] = set()
    for row in rows_of(tables, "gpus"):
        for capability in row.get("candidates", [row.get("compute_capability")]):
            if capability not in known:
                yield problem("gpus", row, f"compute capability {capability} is not in architectures")
        if row["name"] in names:
            yield problem("gpus", row, "the name is there twice")
        names.add(row["name"])
        if row["forward_compat"] and row["class"] in ("geforce", "titan", "cmp-mining"):
            yield problem("gpus", row, f"forward compatibility does not cover the class {row['class']}")


def wheels_fit_toolkits(tables: Tables) -> Iterator[Problem]:
    """A wheel's CUDA version is a toolkit's, and its targets are among those the toolkit writes."""
    targets = {row["toolkit"]: set(row.get("targets", ())) for row in rows_of(tables, "toolkit_targets")}
    for row in rows_of(tables, "frameworks", "wheel"):
        if row["cuda"] not in targets:
            yield problem("frameworks", row, f"CUDA {row['cuda']} is no toolkit of toolkit_targets")
            continue
        for machine in ("amd64", "arm64"):
            extra = set(row.get(machine, {"sass": []})["sass"]) - targets[row["cuda"]]
            if extra:
                yield problem("frameworks", row, f"toolkit {row['cuda']} does not write targets {sorted(extra)}")


def defaults_are_built(tables: Tables) -> Iterator[Problem]:
    """The variant that pip installs is among the known builds of that release, where any are known."""
    built: dict[tuple[str, tuple[int, int]], set[str]] = {}
    for row in rows_of(tables, "frameworks", "wheel"):
        built.setdefault((row["framework"], cuda_pair(row["release"])), set()).add(row["cuda"])
    for row in rows_of(tables, "frameworks", "default"):
        known = built.get((row["framework"], cuda_pair(row["release"])))
        for machine in ("amd64", "arm64"):
            value = row.get(machine, "cpu")
            if known is not None and value != "cpu" and value not in known:
                yield problem("frameworks", row, f"{machine}: CUDA {value} is no known build of the release")


def errors_are_named(tables: Tables) -> Iterator[Problem]:
    """Each error has a name in one of the two interfaces, and no number comes twice."""
    codes: set[int] = set()
    for row in rows_of(tables, "cuda_errors"):
        if row["code"] in codes:
            yield problem("cuda_errors", row, "the number is there twice")
        codes.add(row["code"])
        if not row.get("driver_name") and not row.get("runtime_name"):
            yield problem("cuda_errors", row, "it has no name")


def jetson_fits_toolkits(tables: Tables) -> Iterator[Problem]:
    """JetPack's CUDA versions are toolkits, and newer L4T releases bring newer ones."""
    known = {row["cuda"] for row in rows_of(tables, "cuda_releases")}
    newest = (0, 0)
    for row in sorted(rows_of(tables, "jetson", "release"), key=lambda row: parse_version(row["l4t"])):
        if row["cuda"] not in known:
            yield problem("jetson", row, f"CUDA {row['cuda']} has no release in cuda_releases")
        if cuda_pair(row["cuda"]) < newest:
            yield problem("jetson", row, f"CUDA {row['cuda']} is older than that of an older L4T")
        newest = cuda_pair(row["cuda"])


CHECKS: tuple[Callable[[Tables], Iterator[Problem]], ...] = (
    targets_fit_architectures,
    branches_fit_architectures,
    gpus_fit_architectures,
    wheels_fit_toolkits,
    defaults_are_built,
    errors_are_named,
    jetson_fits_toolkits,
)
