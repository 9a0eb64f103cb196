"""What tables must agree on among each other: one function a rule, over documents and not over the look-ups.

An edition is checked with these before it is used, so nothing here may rest on the tables in use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from cudacompat.tables.problems import Problem, problem
from cudacompat.tables.store import Row
from cudacompat.tables.versions import cuda_pair, driver_branch, parse_driver, parse_version

Tables = Mapping[str, Row]
_ONE_BRANCH = re.compile(r"driver>=(\d+),driver<(\d+)")
_LEAST_CUDA = re.compile(r"cuda>=(\d+\.\d+)", re.IGNORECASE)


def rows_of(tables: Tables, name: str, kind: str | None = None) -> list[Row]:
    """A table's rows, or those of one kind."""
    return [row for row in tables[name]["rows"] if kind is None or row.get("kind") == kind]


def _branch_cuda(tables: Tables) -> dict[int, str]:
    return {row["branch"]: row["cuda"] for row in rows_of(tables, "driver_branches") if "cuda" in row}


def sources_are_named(tables: Tables) -> Iterator[Problem]:
    """Every source a row names is in its file, and every one in the file is used."""
    for name, table in tables.items():
        used = set()
        for row in [*table["rows"], *table.get("rules", [])]:
            used.update(row["source"])
            for missing in sorted(set(row["source"]) - set(table["sources"])):
                yield problem(name, row, f"source {missing!r} is not in the file's sources")
        for unused in sorted(set(table["sources"]) - used):
            yield Problem(name, "sources", f"source {unused!r} is used by no row")


def releases_fit_branches(tables: Tables) -> Iterator[Problem]:
    """Every release's driver belongs to a known branch that reports the release's CUDA version."""
    known = _branch_cuda(tables)
    for row in rows_of(tables, "cuda_releases"):
        if cuda_pair(row["toolkit"]) != cuda_pair(row["cuda"]):
            yield problem("cuda_releases", row, f"toolkit {row['toolkit']} is no release of CUDA {row['cuda']}")
        if row["branch"] not in known:
            yield problem("cuda_releases", row, f"branch {row['branch']} is not in driver_branches")
        elif known[row["branch"]] != row["cuda"]:
            yield problem("cuda_releases", row, f"branch {row['branch']} reports CUDA {known[row['branch']]}")
        for key in ("linux_driver_min", "bundled_linux_driver"):
            if key in row and driver_branch(row[key]) != row["branch"]:
                yield problem("cuda_releases", row, f"{key} {row[key]} is not of branch {row['branch']}")


def releases_rise(tables: Tables) -> Iterator[Problem]:
    """A newer toolkit never shipped with an older driver, and no version comes twice."""
    ordered = sorted(rows_of(tables, "cuda_releases"), key=lambda row: parse_version(row["toolkit"]))
    for key in ("linux_driver_min", "windows_driver_min"):
        for older, newer in pairwise([row for row in ordered if key in row]):
            # Windows numbers of one CUDA version are not in order in NVIDIA's own table (11.2).
            same = key == "windows_driver_min" and older["cuda"] == newer["cuda"]
            if not same and parse_driver(newer[key]) < parse_driver(older[key]):
                yield problem("cuda_releases", newer, f"{key} {newer[key]} is older than that of {older['toolkit']}")
    for older, newer in pairwise(ordered):
        if parse_version(older["toolkit"]) == parse_version(newer["toolkit"]):
            yield problem("cuda_releases", newer, "the toolkit is there twice")


def branches_rise(tables: Tables) -> Iterator[Problem]:
    """A newer branch never reports an older CUDA version; its drivers carry its number."""
    ordered = sorted(rows_of(tables, "driver_branches"), key=lambda row: int(row["branch"]))
    for older, newer in pairwise(ordered):
        if older["branch"] == newer["branch"]:
            yield problem("driver_branches", newer, "the branch is there twice")
    for older, newer in pairwise([row for row in ordered if "cuda" in row]):
        if cuda_pair(newer["cuda"]) < cuda_pair(older["cuda"]):
            message = f"CUDA {newer['cuda']} is older than that of branch {older['branch']}"
            yield problem("driver_branches", newer, message)
    for row in ordered:
        drivers = [row[key] for key in ("first_release", "newest_seen") if key in row]
        drivers += [item["driver"] for item in row.get("observed", [])]
        for driver in drivers:
            if driver_branch(driver) != row["branch"]:
                yield problem("driver_branches", row, f"driver {driver} is not of the branch")
        seen = [parse_driver(item["driver"]) for item in row.get("observed", [])]
        if seen != sorted(set(seen)):
            yield problem("driver_branches", row, "the observed drivers do not rise")
        if "first_release" in row and "newest_seen" in row:
            first, newest = row["first_release"], row["newest_seen"]
            if parse_driver(first) > parse_driver(newest):
                yield problem("driver_branches", row, f"first_release {first} is newer than newest_seen {newest}")


def floors_fit_branches(tables: Tables) -> Iterator[Problem]:
    """A major version's floor is of a branch of that major; without the mode it is the release's own driver."""
    known = _branch_cuda(tables)
    shipped = {row["toolkit"]: row for row in rows_of(tables, "cuda_releases")}
    for row in rows_of(tables, "minor_version_compat"):
        reported = known.get(driver_branch(row["linux_min"]), "0")
        if cuda_pair(reported)[0] != row["cuda_major"]:
            yield problem("minor_version_compat", row, f"{row['linux_min']} is of a branch with CUDA {reported}")
        if row["kind"] == "none":
            same = [item for item in shipped.values() if item["cuda"] == row["cuda"] and "linux_driver_min" in item]
            least = min(same, key=lambda item: parse_version(item["toolkit"]), default=None)
            if least is None or least["linux_driver_min"] != row["linux_min"]:
                yield problem("minor_version_compat", row, f"{row['linux_min']} is not the driver of its first release")


def windows_ranges_rise(tables: Tables) -> Iterator[Problem]:
    """Ranges do not overlap, their CUDA versions rise, and the toolkits' Windows drivers fall into them."""
    ordered = sorted(rows_of(tables, "windows_drivers"), key=lambda row: int(row["first"]))
    for row in ordered:
        outside = [item for item in row["examples"] if not row["first"] <= driver_branch(item) <= row["last"]]
        if row["first"] > row["last"] or outside:
            yield problem("windows_drivers", row, f"the range does not hold {', '.join(outside) or 'any branch'}")
    for older, newer in pairwise(ordered):
        if newer["first"] <= older["last"] or cuda_pair(newer["cuda"]) <= cuda_pair(older["cuda"]):
            yield problem("windows_drivers", newer, f"it does not come after {older['first']}-{older['last']}")
    for release in rows_of(tables, "cuda_releases"):
        number = driver_branch(release["windows_driver_min"]) if "windows_driver_min" in release else 0
        for row in ordered:
            if row["first"] <= number <= row["last"] and row["cuda"] != release["cuda"]:
                message = f"Windows branch {number} reports CUDA {row['cuda']} in windows_drivers"
                yield problem("cuda_releases", release, message)


def compat_lists_fit(tables: Tables) -> Iterator[Problem]:
    """A package works on older branches only, and no edition says two things of one branch."""
    known = _branch_cuda(tables)
    verdicts: dict[tuple[str, str, int], str] = {}
    for row in rows_of(tables, "forward_compat", "matrix"):
        if row["package"] != f"cuda-compat-{row['cuda'].replace('.', '-')}":
            yield problem("forward_compat", row, f"package {row['package']} is not of CUDA {row['cuda']}")
        if known.get(row["built_from_branch"]) != row["cuda"]:
            yield problem("forward_compat", row, f"branch {row['built_from_branch']} does not report {row['cuda']}")
        for verdict in ("compatible", "not_applicable", "not_compatible"):
            for branch in row[verdict]:
                if verdicts.setdefault((row["edition"], row["cuda"], branch), verdict) != verdict:
                    yield problem("forward_compat", row, f"branch {branch} is both {verdict} and not")
        wrong = [branch for branch in row["compatible"] if branch >= row["built_from_branch"]]
        if wrong:
            yield problem("forward_compat", row, f"it cannot work on the newer branches {wrong}")


def packages_fit_branches(tables: Tables) -> Iterator[Problem]:
    """A compat package's library is of a branch with the package's CUDA version, unless a note says why not."""
    known = _branch_cuda(tables)
    for row in rows_of(tables, "forward_compat", "package"):
        reported = known.get(driver_branch(row["driver"]))
        if reported != row["cuda"] and "note" not in row:
            yield problem("forward_compat", row, f"driver {row['driver']} is of a branch with CUDA {reported}")


def requirements_fit(tables: Tables) -> Iterator[Problem]:
    """The requirement strings of real images name known, older branches, and the lists drawn from them agree."""
    known = _branch_cuda(tables)
    named: dict[str, set[int]] = {}
    for row in rows_of(tables, "image_requirements"):
        least = _LEAST_CUDA.search(row["require"])
        if least is None or least[1] != row["cuda"]:
            yield problem("image_requirements", row, f"the string does not ask for CUDA {row['cuda']}")
        branches = {int(low) for low, high in _ONE_BRANCH.findall(row["require"]) if int(high) == int(low) + 1}
        named.setdefault(row["cuda"], set()).update(branches)
        for branch in sorted(branches):
            if cuda_pair(known.get(branch, "99.0")) > cuda_pair(row["cuda"]):
                yield problem("image_requirements", row, f"branch {branch} is not known or newer than the image")
    for row in rows_of(tables, "forward_compat", "require_branches"):
        if set(row["branches"]) != named.get(row["cuda"], set()) and "contradiction" not in row:
            yield problem("forward_compat", row, f"images name {sorted(named.get(row['cuda'], set()))}")
    for row in rows_of(tables, "forward_compat", "base_branch"):
        if set(row["in_require_lists_of"]) != {cuda for cuda, found in named.items() if row["branch"] in found}:
            yield problem("forward_compat", row, "the CUDA versions are not those whose images name the branch")


def ptx_tables_agree(tables: Tables) -> Iterator[Problem]:
    """What a toolkit writes is what the driver of its CUDA version reads, in both tables; both rise."""
    read = {row["cuda"]: row for row in rows_of(tables, "driver_ptx") if "cuda" in row}
    written = {row["toolkit"]: row for row in rows_of(tables, "toolkit_targets")}
    for cuda, row in written.items():
        if cuda not in read or read[cuda]["ptx_isa"] != row["ptx_isa"]:
            yield problem("toolkit_targets", row, f"driver_ptx does not have PTX ISA {row['ptx_isa']} for CUDA {cuda}")
    oldest = min(map(cuda_pair, written))
    for cuda, row in read.items():
        if cuda not in written and cuda_pair(cuda) >= oldest:
            yield problem("driver_ptx", row, f"toolkit_targets has no row for {cuda}")
    for older, newer in pairwise(sorted(read.values(), key=lambda row: cuda_pair(row["cuda"]))):
        if cuda_pair(newer["ptx_isa"]) < cuda_pair(older["ptx_isa"]):
            yield problem("driver_ptx", newer, f"PTX ISA {newer['ptx_isa']} is older than that of CUDA {older['cuda']}")
    known = _branch_cuda(tables)
    for row in rows_of(tables, "driver_ptx"):
        if "branch" in row and known.get(row["branch"], row.get("cuda")) != row.get("cuda"):
            yield problem("driver_ptx", row, f"driver_branches has CUDA {known[row['branch']]} for it")


CHECKS: tuple[Callable[[Tables], Iterator[Problem]], ...] = (
    sources_are_named,
    releases_fit_branches,
    releases_rise,
    branches_rise,
    floors_fit_branches,
    windows_ranges_rise,
    compat_lists_fit,
    packages_fit_branches,
    requirements_fit,
    ptx_tables_agree,
)
