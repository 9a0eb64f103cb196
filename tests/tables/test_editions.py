"""Editions: written out, imported after a check, kept whole or not at all, removed again."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cudacompat import tables
from cudacompat.errors import DataError
from cudacompat.tables import editions, store
from tests.support.privileges import permissions_count

Document = dict[str, Any]


def newer(edition: str = "2027-03") -> Document:
    """A full edition of a later month, in which branch 625 exists and reports CUDA 13.6."""
    whole: Document = copy.deepcopy(editions.export())
    for table in whole["tables"].values():
        table["edition"] = edition
    branches = whole["tables"]["driver_branches"]["rows"]
    branches.insert(0, {**branches[0], "branch": 625, "cuda": "13.6", "first_release": "625.10.01"})
    branches[0]["newest_seen"] = "625.10.01"
    return whole


def written(folder: Path, document: object, name: str = "edition.json") -> Path:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_export_is_read_back(tmp_path: Path) -> None:
    before = editions.export()
    done = editions.import_file(written(tmp_path, before))
    assert done.edition == "2026-12"
    assert editions.export() == before


def test_a_newer_edition_is_used_at_once_and_undone(tmp_path: Path, data_folder: Path) -> None:
    assert tables.driver_cuda("625.10.01").confidence == "low"
    done = editions.import_file(written(tmp_path, newer()))
    assert done.path == data_folder / "edition.json"
    assert (tables.edition(), done.edition) == ("2027-03", "2027-03")
    assert tables.driver_cuda("625.10.01").value == "13.6"
    assert editions.go_back() is True
    assert (tables.edition(), tables.driver_cuda("625.10.01").value) == ("2026-12", "13.5")
    assert editions.go_back() is False


def test_one_table_leaves_the_others(tmp_path: Path) -> None:
    table = newer()["tables"]["driver_branches"]
    editions.import_file(written(tmp_path, table))
    assert tables.edition() == "2026-12+2027-03"
    assert tables.driver_cuda("625.10.01").value == "13.6"
    assert set(store.imported()) == {"driver_branches"}


def test_a_newer_edition_of_the_guide_overrules_an_older_one(tmp_path: Path) -> None:
    table = copy.deepcopy(store.bundled("forward_compat"))
    row = next(row for row in table["rows"] if row.get("package") == "cuda-compat-12-9")
    table["rows"].append({**row, "edition": "650", "compatible": [570], "not_compatible": [535]})
    assert tables.forward_compat("575.57.08", "535.183.01").value == "yes"
    editions.import_file(written(tmp_path, table))
    known = tables.forward_compat("575.57.08", "535.183.01")
    assert known.value == "no"
    assert "edition 650" in known.basis


def test_a_second_import_keeps_the_first(tmp_path: Path) -> None:
    whole = newer()
    editions.import_file(written(tmp_path, whole["tables"]["driver_branches"]))
    gpus = whole["tables"]["gpus"]
    editions.import_file(written(tmp_path, gpus))
    assert set(store.imported()) == {"driver_branches", "gpus"}


def test_an_update_of_the_program_wins_over_an_older_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editions.import_file(written(tmp_path, newer("2027-03")))
    monkeypatch.setattr(store, "bundled_edition", lambda: "2027-06")
    store.forget()
    assert store.imported() == {}


HOSTILE: list[tuple[str, object, str]] = [
    ("not there", None, "cannot be read"),
    ("no JSON", "{", "is no JSON document"),
    ("a number", "7", "is neither an edition"),
    ("an empty object", "{}", "is neither an edition"),
    ("a list", "[]", "is neither an edition"),
    ("not a number", '{"tables": NaN}', "NaN is no JSON value"),
    ("a key twice", '{"table": "gpus", "table": "jetson"}', "the key 'table' is there twice"),
    ("an endless nest", "[" * 100_000 + "]" * 100_000, "is no JSON document"),
    ("a deep nest", '{"a":' * 50 + "1" + "}" * 50, "nested more than"),
    ("a number of endless digits", '{"a": ' + "9" * 10_000 + "}", "is no JSON document"),
    ("no text at all", "\x00\x01", "is no JSON document"),
    ("too large", '{"a": "' + "x" * (5 * 2**20) + '"}', "is larger than"),
    ("an unknown table", {"schema": editions.SCHEMA, "tables": {"../../etc/passwd": {}}}, "unknown table"),
    ("no tables", {"schema": editions.SCHEMA, "tables": {}}, "is no edition"),
    ("another schema", {"schema": "other/v1", "tables": {"gpus": {}}}, "is no edition"),
    ("a table that is none", {"schema": editions.SCHEMA, "tables": {"gpus": []}}, "is no JSON object"),
    ("a table without rows", {"schema": editions.SCHEMA, "tables": {"gpus": {}}}, "gpus"),
    ("releases of another branch", {"580": {"driver_info": [{"release_version": "570.1.2"}]}}, "branch 580: '570.1.2'"),
    ("releases without versions", {"580": {"driver_info": [7]}}, "branch 580"),
    ("releases that bring nothing", {"580": {"driver_info": []}}, "nothing newer"),
]


@pytest.mark.parametrize(("content", "words"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_a_hostile_file_changes_nothing(tmp_path: Path, data_folder: Path, content: object, words: str) -> None:
    path = tmp_path / "absent.json" if content is None else written(tmp_path, content)
    before = editions.export()
    with pytest.raises(DataError) as error:
        editions.import_file(path)
    assert words in str(error.value)
    assert str(path) in str(error.value) or path.name in str(error.value)
    assert "\n" not in str(error.value)
    assert not data_folder.exists()
    assert editions.export() == before


BROKEN: list[tuple[str, Callable[[Document], object], str]] = [
    (
        "a wrong value",
        lambda t: t["driver_branches"]["rows"][5].update(cuda="thirteen"),
        'driver_branches, row 6 (branch 590), cuda: "thirteen" is no CUDA version',
    ),
    (
        "a wrong type",
        lambda t: t["gpus"]["rows"][0].update(brands="tesla"),
        "gpus, row 1 (name NVIDIA RTX PRO 4500 Blackwell Server Edition), brands",
    ),
    (
        "tables that do not agree",
        lambda t: t["cuda_releases"]["rows"][0].update(branch=615),
        "cuda_releases, toolkit 13.5.0: branch 615 reports CUDA 13.4",
    ),
    (
        "a rule without a source",
        lambda t: t["driver_branches"]["rules"][0].pop("source"),
        "driver_branches, rule 1 (id smi-label): 'source' is a required property",
    ),
    ("an edition that is none", lambda t: t["jetson"].update(edition=7), "jetson, edition: 7 is not of type 'string'"),
    (
        "an older edition",
        lambda t: t["jetson"].update(edition="2026-11"),
        "jetson is of edition 2026-11, older than 2026-12",
    ),
]


@pytest.mark.parametrize(("damage", "words"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_broken_edition_names_the_row(
    tmp_path: Path, data_folder: Path, damage: Callable[[Document], object], words: str
) -> None:
    document = newer()
    damage(document["tables"])
    with pytest.raises(DataError) as error:
        editions.import_file(written(tmp_path, document))
    assert words in str(error.value)
    assert not data_folder.exists()
    assert tables.edition() == "2026-12"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


@given(table=st.sampled_from(store.NAMES), rows=st.lists(json_values, max_size=3), value=json_values)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_table_is_taken_or_refused_in_one_sentence(tmp_path: Path, table: str, rows: list[Any], value: Any) -> None:
    document = {"table": table, "edition": "2027-01", "title": "t", "sources": {"s1": "somewhere"}, "rows": rows}
    for candidate in (document, {**document, "rows": [{"source": ["s1"], "kind": value}]}, value):
        with pytest.raises(DataError):
            editions.import_file(written(tmp_path, candidate))
    assert store.imported() == {}


@given(key=st.sampled_from(["cuda", "branch", "eol", "observed", "first_release", "source", "note"]), value=json_values)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_in_a_row_is_taken_or_refused(tmp_path: Path, key: str, value: Any) -> None:
    table = copy.deepcopy(store.bundled("driver_branches"))
    table["rows"][2][key] = value
    try:
        editions.import_file(written(tmp_path, table))
    except DataError:
        assert store.imported() == {}
    else:
        assert tables.driver_cuda("610.43.02").value
    finally:
        editions.go_back()


def releases() -> Document:
    def release(version: str, date: str) -> Document:
        return {
            "release_version": version,
            "release_date": date,
            "release_notes": "https://example.invalid",
            "architectures": ["x86_64"],
            "runfile_url": {"x86_64": "https://example.invalid/run"},
        }

    return {
        "630": {
            "type": "production branch",
            "driver_info": [release("630.20.02", "2027-02-11"), release("630.10", "")],
        },
        "580": {"type": "lts branch", "driver_info": [release("580.201.03", "2027-01-20")]},
        "535": {"type": "lts branch", "driver_info": [release("535.104.05", "2023-08-22")]},
    }


def test_nvidias_releases_json(tmp_path: Path) -> None:
    done = editions.import_file(written(tmp_path, releases(), "releases.json"))
    assert done.tables == ("driver_branches",)
    assert done.edition == "2026-12+2027-02"
    known = tables.branch(580)
    assert known is not None
    assert (known.newest_seen, known.first_release) == ("580.201.03", "580.65.06")
    assert "releases.json" in known.source
    old = tables.branch(535)
    assert old is not None
    assert (old.newest_seen, "releases.json" in old.source) == ("535.309.01", False)


def test_a_branch_that_releases_json_adds_has_no_cuda_version_yet(tmp_path: Path) -> None:
    editions.import_file(written(tmp_path, releases(), "releases.json"))
    assert tables.branch(630) is None
    known = tables.driver_cuda("630.20.02")
    assert (known.value, known.confidence) == ("13.5", "low")
    assert "in the table without its CUDA version" in known.basis


def test_the_same_releases_json_twice_brings_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, releases(), "releases.json")
    editions.import_file(path)
    with pytest.raises(DataError, match="nothing newer"):
        editions.import_file(path)


def test_a_kept_file_that_was_changed_is_not_used(tmp_path: Path, data_folder: Path) -> None:
    editions.import_file(written(tmp_path, newer()))
    kept = data_folder / "edition.json"
    kept.write_bytes(kept.read_bytes().replace(b'"13.6"', b'"99.9"'))
    store.forget()
    with pytest.raises(DataError, match=r"changed after their import; go back .* data import --bundled"):
        tables.driver_cuda("535.1.1")
    editions.go_back()
    assert tables.driver_cuda("535.1.1").value == "12.2"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"0" * 64 + b"\n{}", b"\n"])
def test_a_broken_kept_file_is_told_and_can_be_left(data_folder: Path, content: bytes) -> None:
    data_folder.mkdir()
    (data_folder / "edition.json").write_bytes(content)
    with pytest.raises(DataError, match="--bundled"):
        tables.edition()
    assert editions.go_back() is True
    assert tables.edition() == "2026-12"


def test_a_folder_that_cannot_be_written(tmp_path: Path, data_folder: Path) -> None:
    data_folder.mkdir(mode=0o500)
    with permissions_count(), pytest.raises(DataError, match="cannot be kept"):
        editions.import_file(written(tmp_path, newer()))


def test_a_file_in_the_folders_place(tmp_path: Path, data_folder: Path) -> None:
    data_folder.write_text("not a folder")
    with pytest.raises(DataError, match="cannot be kept"):
        editions.import_file(written(tmp_path, newer()))
    assert tables.edition() == "2026-12"


def test_nothing_is_left_when_the_last_step_fails(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, newer())

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left on device"):
        editions.import_file(path)
    assert list(data_folder.iterdir()) == []
    assert tables.edition() == "2026-12"


def test_without_the_variable_the_platforms_folder_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDACOMPAT_DATA_DIR")
    assert store.user_file().name == "edition.json"
    assert "cudacompat" in store.user_file().parts
