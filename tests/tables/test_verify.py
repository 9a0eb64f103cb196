"""The self-check: the shipped tables pass it, and each rule finds the fault it is there for."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cudacompat.tables import checks, device_checks, store
from cudacompat.tables.verify import form_problems, problems, verify

Tables = dict[str, dict[str, Any]]


def shipped() -> Tables:
    return {name: copy.deepcopy(store.bundled(name)) for name in store.NAMES}


def row(tables: Tables, table: str, /, **wanted: object) -> dict[str, Any]:
    return next(row for row in tables[table]["rows"] if wanted.items() <= row.items())


def test_the_shipped_tables_are_in_order() -> None:
    found = verify()
    assert found.problems == ()
    assert len(found.single_source) > 100
    assert len(found.contradictions) > 20


@pytest.mark.parametrize("name", store.NAMES)
def test_schema(name: str) -> None:
    schema = json.loads((store.bundled_folder() / "schemas" / f"{name}.json").read_text())
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["table"]["const"] == name
    fields = schema["properties"]["rows"]["items"]["properties"]
    assert [key for key, field in fields.items() if "description" not in field] == []
    assert list(form_problems(name, store.bundled(name))) == []


def test_every_table_and_schema_is_listed() -> None:
    folder = store.bundled_folder()
    assert {path.stem for path in folder.glob("*.json")} == set(store.NAMES)
    assert {path.stem for path in (folder / "schemas").glob("*.json")} == {*store.NAMES, "edition"}
    assert {store.bundled(name)["edition"] for name in store.NAMES} == {store.bundled_edition()}


def test_sources_read_as_sources() -> None:
    for name in store.NAMES:
        for text in store.bundled(name)["sources"].values():
            assert text.count("(") == text.count(")"), text
            assert len(text) > 5, text


FAULTS: list[tuple[str, str, Callable[[Tables], object], str]] = [
    (
        "a release of an unknown branch",
        "cuda_releases",
        lambda t: row(t, "cuda_releases", toolkit="12.4.1").update(branch=551),
        "toolkit 12.4.1: branch 551 is not in driver_branches",
    ),
    (
        "a release of a branch with another CUDA",
        "cuda_releases",
        lambda t: row(t, "cuda_releases", toolkit="12.4.1").update(branch=545),
        "branch 545 reports CUDA 12.3",
    ),
    (
        "a toolkit older than the one before",
        "cuda_releases",
        lambda t: row(t, "cuda_releases", toolkit="12.4.1").update(linux_driver_min="550.54.13"),
        "is older than that of 12.4.0",
    ),
    (
        "a toolkit twice",
        "cuda_releases",
        lambda t: t["cuda_releases"]["rows"].append(row(t, "cuda_releases", toolkit="12.4.1")),
        "the toolkit is there twice",
    ),
    (
        "a newer branch with an older CUDA",
        "driver_branches",
        lambda t: row(t, "driver_branches", branch=590).update(cuda="12.8"),
        "branch 590: CUDA 12.8 is older than that of branch 580",
    ),
    (
        "a driver of another branch",
        "driver_branches",
        lambda t: row(t, "driver_branches", branch=535).update(newest_seen="536.10"),
        "driver 536.10 is not of the branch",
    ),
    (
        "observed drivers out of order",
        "driver_branches",
        lambda t: row(t, "driver_branches", branch=430)["observed"].reverse(),
        "branch 430: the observed drivers do not rise",
    ),
    (
        "a floor of another major",
        "minor_version_compat",
        lambda t: row(t, "minor_version_compat", cuda_major=12).update(linux_min="450.80.02"),
        "is of a branch with CUDA 11.0",
    ),
    (
        "a minimum that is not the release's",
        "minor_version_compat",
        lambda t: row(t, "minor_version_compat", cuda="9.2").update(linux_min="396.37"),
        "is not the driver of its first release",
    ),
    (
        "Windows ranges that overlap",
        "windows_drivers",
        lambda t: row(t, "windows_drivers", first=531).update(last=536),
        "does not come after 531-536",
    ),
    (
        "a Windows range with another CUDA than the installers",
        "windows_drivers",
        lambda t: row(t, "windows_drivers", first=555).update(cuda="12.55"),
        "Windows branch 555 reports CUDA 12.55",
    ),
    (
        "a package on a newer branch",
        "forward_compat",
        lambda t: row(t, "forward_compat", package="cuda-compat-12-9", edition="615")["compatible"].append(585),
        "cannot work on the newer branches [585]",
    ),
    (
        "an edition that says two things",
        "forward_compat",
        lambda t: row(t, "forward_compat", package="cuda-compat-12-9", edition="615")["not_compatible"].append(570),
        "branch 570 is both",
    ),
    (
        "a library of the wrong branch",
        "forward_compat",
        lambda t: row(t, "forward_compat", driver="570.124.06").update(cuda="12.9"),
        "is of a branch with CUDA 12.8",
    ),
    (
        "an image that asks for another CUDA",
        "image_requirements",
        lambda t: t["image_requirements"]["rows"][20].update(cuda="12.7"),
        "does not ask for CUDA 12.7",
    ),
    (
        "a list that images do not have",
        "forward_compat",
        lambda t: row(t, "forward_compat", kind="require_branches", cuda="12.4")["branches"].append(545),
        "images name [470, 525, 535]",
    ),
    (
        "PTX tables that differ",
        "toolkit_targets",
        lambda t: row(t, "toolkit_targets", toolkit="12.4").update(ptx_isa="8.5"),
        "driver_ptx does not have PTX ISA 8.5 for CUDA 12.4",
    ),
    (
        "a toolkit that one PTX table lacks",
        "driver_ptx",
        lambda t: t["toolkit_targets"]["rows"].remove(row(t, "toolkit_targets", toolkit="12.4")),
        "toolkit_targets has no row for 12.4",
    ),
    (
        "a target outside its life",
        "toolkit_targets",
        lambda t: row(t, "toolkit_targets", toolkit="13.0")["targets"].append("70"),
        "target 70 does not fit its row in architectures",
    ),
    (
        "a branch with the wrong oldest architecture",
        "driver_branches",
        lambda t: row(t, "driver_branches", branch=590).update(oldest_compute_capability="7.0"),
        "architectures has 7.5",
    ),
    (
        "a GPU of no architecture",
        "gpus",
        lambda t: row(t, "gpus", name="NVIDIA L4").update(compute_capability="8.4"),
        "name NVIDIA L4: compute capability 8.4 is not in architectures",
    ),
    (
        "an eligible GeForce",
        "gpus",
        lambda t: row(t, "gpus", name="NVIDIA GeForce RTX 4090").update(forward_compat=True),
        "does not cover the class geforce",
    ),
    (
        "a wheel with a target its toolkit cannot write",
        "frameworks",
        lambda t: row(t, "frameworks", kind="wheel", release="2.7", cuda="12.6")["amd64"]["sass"].append("120"),
        "wheel torch 2.7 12.6: toolkit 12.6 does not write targets ['120']",
    ),
    (
        "a default that was never built",
        "frameworks",
        lambda t: row(t, "frameworks", kind="default", release="2.8.0").update(amd64="12.4"),
        "CUDA 12.4 is no known build",
    ),
    (
        "an error twice",
        "cuda_errors",
        lambda t: row(t, "cuda_errors", code=803).update(code=804),
        "code 804: the number is there twice",
    ),
    (
        "a Jetson release older than the one before",
        "jetson",
        lambda t: row(t, "jetson", l4t="38").update(cuda="11.8"),
        "older than that of an older L4T",
    ),
    (
        "a source without a name",
        "jetson",
        lambda t: row(t, "jetson", l4t="38").update(source=["s999"]),
        "'s999' is not in the file's sources",
    ),
    (
        "a source that nothing uses",
        "jetson",
        lambda t: t["jetson"]["sources"].update(s999="somewhere else"),
        "'s999' is used by no row",
    ),
]


@pytest.mark.parametrize(
    ("table", "damage", "words"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_fault_is_found(table: str, damage: Callable[[Tables], object], words: str) -> None:
    tables = shipped()
    damage(tables)
    found = [str(item) for item in problems(tables, new=[table])]
    assert any(words in text for text in found), found


def test_every_rule_has_a_fault_that_it_finds() -> None:
    silent = {rule.__name__: rule for rule in (*checks.CHECKS, *device_checks.CHECKS)}
    for _, _, damage, _ in FAULTS:
        tables = shipped()
        damage(tables)
        silent = {name: rule for name, rule in silent.items() if not list(rule(tables))}
    assert silent == {}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda t: t["rows"][3].update(cuda="banana"), 'row 4 (branch 595), cuda: "banana" is no CUDA version'),
        (lambda t: t["rows"][3].update(cuda=12.4), "row 4 (branch 595), cuda: 12.4 is not of type 'string'"),
        (lambda t: t["rows"][3].pop("source"), "row 4 (branch 595): 'source' is a required property"),
        (lambda t: t["rows"][3].update(colour="red"), "row 4 (branch 595): Additional properties are not allowed"),
        (lambda t: t["rows"].insert(0, "text"), "row 1: 'text' is not of type 'object'"),
        (lambda t: t["rows"][0].update(note="a\x1b[2Jb"), "row 1: a text holds control characters"),
        (lambda t: t["rows"][0].update(cuda="13.5\n"), "row 1: a text holds control characters"),
        (lambda t: t.update(title="a\x07"), "the file: a text outside the rows holds control characters"),
        (lambda t: t.pop("edition"), "the file: 'edition' is a required property"),
        (lambda t: t.update(edition="2026-13"), "edition: "),
        (lambda t: t.update(rows={}), "rows: {} is not of type 'array'"),
        (lambda t: t["rows"][0].update(branch=10**30), "row 1"),
    ],
)
def test_form(damage: Callable[[dict[str, Any]], object], words: str) -> None:
    table = copy.deepcopy(store.bundled("driver_branches"))
    damage(table)
    found = [str(item) for item in form_problems("driver_branches", table)]
    assert any(words in text for text in found), found
    assert all("\x1b" not in text and len(text) < 400 for text in found)
