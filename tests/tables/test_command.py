"""``cudacompat data`` as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from cudacompat.cli.app import cli
from cudacompat.tables import store
from tests.tables.test_editions import newer, releases, written


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["data", *arguments], prog_name="cudacompat")


def test_show_lists_the_tables() -> None:
    text = run("show").stdout
    assert all(name in text for name in store.NAMES)
    assert text.startswith("Edition 2026-12\n")
    document = json.loads(run("show", "--format", "json").stdout)
    assert [table["name"] for table in document["tables"]] == list(store.NAMES)


@pytest.mark.parametrize("name", store.NAMES)
def test_show_a_table(name: str) -> None:
    result = run("show", name)
    assert result.exit_code == 0
    assert f"{name}, edition 2026-12" in result.stdout
    assert len(result.stdout.splitlines()) > len(store.bundled(name)["rows"])
    assert json.loads(run("show", name, "--format", "json").stdout) == store.bundled(name)


def test_verbose_adds_sources_and_whole_values() -> None:
    short, long = run("show", "driver_branches").stdout, run("show", "driver_branches", "-v").stdout
    assert "contradiction: EOL" in long
    assert "source: https://docs.nvidia.com" in long
    assert "source: https" not in short
    assert "..." not in run("show", "windows_drivers", "-v").stdout


def test_show_of_no_table_lists_what_there_is() -> None:
    result = run("show", "banana")
    assert result.exit_code == 2
    assert "there is no table 'banana'; there are cuda_releases," in result.stderr


def test_verify() -> None:
    result = run("verify")
    assert result.exit_code == 0
    assert "agree with each other" in result.stdout
    assert "rows with one source: cuda_releases 2" in result.stdout
    assert "toolkit 12.8.0: table says" in run("verify", "-v").stdout
    document = json.loads(run("verify", "--format", "json").stdout)
    assert document["problems"] == []
    assert {"table", "row", "message"} == set(document["contradictions"][0])


def test_verify_with_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {**store.bundled("jetson"), "sources": {}}
    real = store.document
    monkeypatch.setattr("cudacompat.tables.verify.document", lambda name: broken if name == "jetson" else real(name))
    result = run("verify")
    assert result.exit_code == 4
    assert "jetson, release l4t 32: source 's1' is not in the file's sources" in result.stdout


def test_import_and_back(tmp_path: Path) -> None:
    result = run("import", str(written(tmp_path, newer())))
    assert result.exit_code == 0
    assert "Edition 2027-03 is in use." in result.stdout
    assert "data import --bundled" in result.stdout
    assert "imported" in run("show").stdout
    assert run("verify").exit_code == 0
    assert "edition 2026-12) are in use again" in run("import", "--bundled").stdout
    assert "were in use already" in run("import", "--bundled").stdout


def test_import_of_releases_json(tmp_path: Path) -> None:
    result = run("import", str(written(tmp_path, releases(), "releases.json")))
    assert "Imported: driver_branches." in result.stdout
    assert "580.201.03" in run("show", "driver_branches").stdout
    assert run("verify").exit_code == 0


def test_a_broken_file_is_one_sentence(tmp_path: Path) -> None:
    document = newer()
    document["tables"]["driver_branches"]["rows"][5]["cuda"] = "\x1b[2J"
    result = run("import", str(written(tmp_path, document)))
    assert result.exit_code == 4
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert "row 6 (branch 590), cuda" in result.stderr
    assert "unchanged" in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize("arguments", [(), ("--bundled", "file.json")])
def test_import_wants_one_thing(arguments: tuple[str, ...]) -> None:
    result = run("import", *arguments)
    assert result.exit_code == 2
    assert "either a FILE or --bundled" in result.stderr


def test_export_follows_its_schema_and_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "tables.json"
    assert run("export", "--output", str(path)).exit_code == 0
    schema = json.loads((store.bundled_folder() / "schemas" / "edition.json").read_text())
    Draft202012Validator(schema).validate(json.loads(path.read_text()))
    assert run("export").stdout == path.read_text()
    assert run("import", str(path)).exit_code == 0


def test_help_of_every_part_has_an_example() -> None:
    for name in ("show", "verify", "import", "export"):
        result = run(name, "--help")
        assert result.exit_code == 0
        assert f"cudacompat data {name}" in result.stdout
