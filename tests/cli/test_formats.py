"""Every format of ``check`` from the command line: the same exit codes, and files that are whole or not there."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cudacompat import api
from cudacompat.report import FORMATS, PLAIN_FORMATS
from tests.cli.conftest import DRIVER, Run
from tests.cli.test_process import HOST, environment, target  # noqa: F401
from tests.cli.test_workloads import POD, SEED, known

# Targets, --fail-on, exit code.
CODES = [
    (("runs",), "unknown", 0),
    (("empty",), "limited", 0),
    (("limited",), "unknown", 0),
    (("limited",), "limited", 1),
    (("depends",), "fails", 1),
    (("fails",), "fails", 1),
    (("runs", "fails"), "unknown", 1),
    (("runs", "gone"), "fails", 4),
    (("fails", "crash"), "unknown", 4),
]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("targets", "fail_on", "code"), CODES)
def test_the_exit_code_is_the_same_in_every_format(
    run: Run, format_: str, targets: tuple[str, ...], fail_on: str, code: int
) -> None:
    result = run("check", *targets, *DRIVER, "--format", format_, "--fail-on", fail_on)
    assert result.exit_code == code
    assert result.stdout


@pytest.mark.parametrize(("fail_on", "code"), [("fails", 0), ("depends", 1), ("unknown", 1), ("limited", 1)])
@pytest.mark.parametrize("format_", FORMATS)
def test_what_depends_passes_only_where_it_may(run: Run, format_: str, fail_on: str, code: int) -> None:
    open_host = ("--driver", "535.183.01", "--gpu", "A100")
    assert run("check", "depends", *open_host, "--format", format_, "--fail-on", fail_on).exit_code == code


@pytest.mark.parametrize(("target_", "code"), [("gone", 4), ("crash", 4), ("nonsense", 2)])
@pytest.mark.parametrize("format_", FORMATS)
def test_a_single_target_that_cannot_be_read_is_said_where_a_job_looks(
    run: Run, format_: str, target_: str, code: int
) -> None:
    result = run("check", target_, *DRIVER, "--format", format_, "--output", "report")
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.count("cudacompat: error: ") == 1
    reported = code == 4 and format_ not in PLAIN_FORMATS
    assert Path("report").exists() == reported
    assert (
        not reported
        or "target-not-read" in Path("report").read_text()
        or "could not be read" in Path("report").read_text()
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_a_workload_with_an_error_fails_in_every_format(run: Run, tmp_path: Path, format_: str) -> None:
    Path("train.sbatch").write_text(SEED.format(tasks=4))
    result = run("check", "train.sbatch", *DRIVER, "--format", format_)
    assert result.exit_code == 1
    assert "S04" in result.stdout


def test_annotations_and_sarif_point_at_the_lines_of_a_real_workload(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(api, "inspect", known)
    Path("pod.yaml").write_text(POD.format(image="fails:1"))
    line = f"file=pod.yaml,line={POD.format(image='').count(chr(10))},"
    annotations = run("check", "./pod.yaml", *DRIVER, "--format", "github").stdout
    assert f"::error {line}title=cudacompat " in annotations
    (first, *_) = json.loads(run("check", "./pod.yaml", *DRIVER, "--format", "sarif").stdout)["runs"][0]["results"]
    place = first["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("pod.yaml", {"startLine": 5})


@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_holds_what_stdout_would(run: Run, format_: str) -> None:
    shown = run("check", "fails", "gone", *DRIVER, "--format", format_)
    written = run("check", "fails", "gone", *DRIVER, "--format", format_, "--output", "report")
    assert (written.exit_code, written.stdout) == (shown.exit_code, "")
    assert Path("report").read_text(encoding="utf-8") == shown.stdout


def test_a_name_as_long_as_the_file_system_allows(run: Run) -> None:
    name = "r" * 251 + ".xml"
    assert run("check", "runs", *DRIVER, "--format", "junit", "--output", name).exit_code == 0
    ElementTree.parse(name)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_disk_that_is_full_leaves_the_old_file(target: str, tmp_path: Path, format_: str) -> None:  # noqa: F811
    report = tmp_path / "report"
    report.write_text("the old one")
    before = sorted(tmp_path.iterdir())
    command = [sys.executable, "-m", "cudacompat", "check", target, *HOST, "--format", format_, "-o", str(report)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
    )
    assert done.returncode == 2
    assert done.stderr == f"cudacompat: error: --output {report} cannot be written: File too large.\n"
    assert report.read_text() == "the old one"
    assert sorted(tmp_path.iterdir()) == before


def test_a_device_that_is_full_is_a_sentence(run: Run) -> None:
    result = run("check", "runs", *DRIVER, "--output", "/dev/full")
    assert result.exit_code == 2
    assert "cannot be written: No space left on device" in result.stderr


@pytest.mark.parametrize("format_", ["junit", "sarif", "github", "html"])
def test_a_terminal_without_unicode_gets_the_same_bytes(target: str, tmp_path: Path, format_: str) -> None:  # noqa: F811
    command = [sys.executable, "-m", "cudacompat", "check", target, *HOST, "--format", format_]
    told = [
        subprocess.run(
            command, capture_output=True, check=False, cwd=tmp_path, env=environment(PYTHONIOENCODING=encoding)
        )
        for encoding in ("utf-8", "ascii")
    ]
    assert [done.returncode for done in told] == [1, 1]
    assert told[0].stdout == told[1].stdout
