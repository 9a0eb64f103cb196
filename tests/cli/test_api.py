"""The Python API on a real image."""

from __future__ import annotations

from pathlib import Path

import pytest

import cudacompat
from cudacompat.api import report_on
from cudacompat.host.options import HostOptions, with_options
from cudacompat.model import Gpu
from tests.support.facts import cudart, image
from tests.support.images import build_image
from tests.support.schemas import validate


@pytest.fixture
def target(tmp_path: Path) -> str:
    env = {"CUDA_VERSION": "13.0.0", "NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    build_image({"platform": "linux/amd64", "env": env, "layers": [{"files": {"/etc/x": "y"}}]}, tmp_path / "image")
    return f"oci-dir:{tmp_path / 'image'}"


def test_check(target: str) -> None:
    report = cudacompat.check(target, driver="535.104.05", gpus=["A100"], injection="legacy", quick=True)
    assert (report.verdict.outcome, report.verdict.stage) == ("fails", "start")
    assert report.host.driver_cuda == "12.2"
    assert report.target.source
    validate(report.to_dict(), "report-v1")


def test_inspect_then_predict_says_the_same_as_check(target: str) -> None:
    facts = cudacompat.inspect(target)
    host = cudacompat.host_facts(driver="535.104.05", gpus=["A100"], injection="legacy")
    verdict = cudacompat.check(target, driver="535.104.05", gpus=["A100"], injection="legacy").verdict
    assert cudacompat.predict(facts, host).verdict == verdict
    assert cudacompat.check(target, host=host).verdict == verdict


def test_no_gpus_is_not_the_same_as_none_named() -> None:
    assert cudacompat.host_facts(driver="535.104.05", gpus=["none"]).gpus == ()
    assert cudacompat.host_facts(driver="535.104.05", gpus=[]).gpus is None
    assert cudacompat.host_facts(driver="535.104.05").gpus is None
    assert cudacompat.host_facts(driver="535.104.05", gpus=[Gpu("X", "8.0")]).gpus == (Gpu("X", "8.0"),)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"driver": "latest"}, cudacompat.UsageError),
        ({"host": "/nowhere/host.json"}, cudacompat.HostError),
        ({"driver": "535.104.05", "platform": "a/b/c/d"}, cudacompat.UsageError),
    ],
)
def test_errors_are_ours(target: str, arguments: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        cudacompat.check(target, **arguments)
    with pytest.raises(cudacompat.TargetError):
        cudacompat.check("docker-archive:/nowhere/app.tar", driver="535.104.05")


def test_old_tables_are_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    host = with_options(HostOptions(driver="535.104.05", gpus=("A100",), injection="legacy"))
    monkeypatch.setattr("cudacompat.tables.edition_age_note", lambda today: "the tables are old")
    findings = report_on(image(cudart("12.2")), host).findings
    assert [finding.rule for finding in findings][-1] == "data-edition-old"
    monkeypatch.setattr("cudacompat.tables.edition_age_note", lambda today: None)
    assert "data-edition-old" not in [finding.rule for finding in report_on(image(cudart("12.2")), host).findings]
