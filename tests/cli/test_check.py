"""``cudacompat check``: exit codes, several targets, formats, where the report goes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import DRIVER, Run
from tests.support.schemas import validate

CODES = [
    ("runs", (), 0),
    ("limited", (), 0),
    ("limited", ("--fail-on", "limited"), 1),
    ("fails", (), 1),
    ("fails", ("--fail-on", "fails"), 1),
    ("depends", ("--injection", "cdi"), 0),
    ("empty", (), 0),
    ("gone", (), 4),
    ("nonsense", (), 2),
    ("crash", (), 4),
    ("stopped", (), 130),
]


@pytest.mark.parametrize(("target", "options", "code"), CODES)
def test_exit_code(run: Run, target: str, options: tuple[str, ...], code: int) -> None:
    result = run("check", target, *DRIVER, *options)
    assert result.exit_code == code
    assert (result.stdout == "") == (code in (2, 4, 130))


def test_depends_is_a_failure_unless_only_failures_count(run: Run) -> None:
    options = ("--driver", "535.183.01", "--gpu", "A100")
    assert run("check", "depends", *options).exit_code == 1
    assert run("check", "depends", *options, "--fail-on", "fails").exit_code == 0


def test_without_host_facts_on_a_machine_without_a_driver_the_answer_is_unknown(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cudacompat.host.local.local_host.__defaults__", ((), None))
    result = run("check", "fails", "--format", "json")
    assert result.exit_code == 3
    report = json.loads(result.stdout)
    validate(report, "report-v1")
    assert report["verdict"]["depends_on"][0] == "driver"
    assert "no NVIDIA driver found on this machine" in report["host"]["notes"][0]
    assert run("check", "fails", "--fail-on", "fails").exit_code == 0


@pytest.mark.parametrize(
    ("targets", "code"),
    [(("runs", "fails"), 1), (("runs", "fails", "gone"), 4), (("gone", "runs"), 4), (("crash", "runs"), 4)],
)
def test_several_targets_keep_all_reports(run: Run, targets: tuple[str, ...], code: int) -> None:
    result = run("check", *targets, *DRIVER, "--format", "json")
    assert result.exit_code == code
    document = json.loads(result.stdout)
    validate(document, "reports-v1")
    assert len(document["reports"]) == len(targets)
    bad = [target for target in targets if target in ("gone", "crash")]
    assert [entry["target"]["reference"] for entry in document["reports"] if "error" in entry] == bad
    assert result.stderr.count("cudacompat: error: ") == len(bad)
    text = run("check", *targets, *DRIVER)
    assert text.exit_code == code
    assert text.stdout.count("test:latest") == len(targets) - len(bad)


def test_json_is_one_report_for_one_target(run: Run) -> None:
    result = run("check", "fails", *DRIVER, "--format", "json")
    document = json.loads(result.stdout)
    validate(document, "report-v1")
    assert document["verdict"]["error"]["code"] == 35
    assert document["host"]["gpus"][0]["compute_capability"] == "8.0"


def test_quiet_says_it_in_one_line(run: Run) -> None:
    result = run("check", "fails", "limited", *DRIVER, "--quiet")
    assert [line[2:7] for line in result.stdout.splitlines()] == ["FAILS", "RUNS "]


def test_verbose_shows_evidence(run: Run) -> None:
    assert "package" not in run("check", "fails", *DRIVER).stdout
    assert "libcudart.so.13.0.99" in run("check", "fails", *DRIVER, "--verbose").stdout


def test_host_file_with_an_option_over_it(run: Run) -> None:
    Path("node.json").write_text('{"driver": "535.183.01", "gpus": ["A100"], "injection": "legacy"}')
    assert run("check", "fails", "--host", "node.json").exit_code == 1
    assert run("check", "fails", "--host", "node.json", "--driver", "580.65.06").exit_code == 0


def test_a_fault_of_the_host_is_a_finding(run: Run) -> None:
    Path("node.json").write_text('{"driver": "535.183.01", "gpus": ["A100"], "faults": ["GPU 1 does not answer"]}')
    findings = json.loads(run("check", "runs", "--host", "node.json", "--format", "json").stdout)["findings"]
    told = [finding for finding in findings if finding["rule"] == "host-fault"]
    assert [(finding["level"], finding["message"]) for finding in told] == [("warning", "GPU 1 does not answer")]
    assert "GPU 1 does not answer" in run("check", "runs", "--host", "node.json").stdout
    assert run("explain", "host-fault").exit_code == 0


def test_output_is_a_whole_file_and_stdout_stays_empty(run: Run) -> None:
    result = run("check", "fails", *DRIVER, "--format", "json", "--output", "report.json")
    assert (result.exit_code, result.stdout) == (1, "")
    validate(json.loads(Path("report.json").read_text()), "report-v1")
    assert [path.name for path in Path().iterdir()] == ["report.json"]


def test_output_replaces_a_file_and_keeps_its_mode(run: Run) -> None:
    path = Path("report.txt")
    path.write_text("old")
    path.chmod(0o640)
    assert run("check", "runs", *DRIVER, "--output", "report.txt").exit_code == 0
    assert path.read_text().startswith("✓ RUNS")
    assert path.stat().st_mode & 0o777 == 0o640


def test_output_follows_a_link_and_leaves_devices_alone(run: Run) -> None:
    Path("real.txt").write_text("old")
    Path("link.txt").symlink_to("real.txt")
    assert run("check", "runs", *DRIVER, "--output", "link.txt").exit_code == 0
    assert Path("link.txt").is_symlink()
    assert Path("real.txt").read_text().startswith("✓ RUNS")
    assert run("check", "runs", *DRIVER, "--output", "/dev/null").exit_code == 0
    assert Path("/dev/null").is_char_device()
