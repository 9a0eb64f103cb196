"""Public job scripts and manifests, reduced to their GPU lines: exactly the expected findings, no more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cudacompat.workloads import check_text, recognise

CASES = json.loads((Path(__file__).parent.parent / "data" / "workload_cases.json").read_text())["vectors"]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['id']} {case['kind']}" for case in CASES])
def test_a_public_workload_gives_exactly_its_findings(case: dict[str, object]) -> None:
    report = check_text(str(case["reduced"]), f"{case['id']}.txt")
    assert sorted({finding.rule for finding in report.findings}) == sorted(case["finding_ids"])


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_every_finding_names_a_line_of_the_file(case: dict[str, object]) -> None:
    text = str(case["reduced"])
    for finding in check_text(text, "job").findings:
        assert finding.location is not None
        assert finding.location.line is not None
        assert 1 <= finding.location.line <= text.count("\n") + 1
        assert finding.message
        assert finding.fix


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_kind_is_recognised_by_content(case: dict[str, object]) -> None:
    kind = str(case["kind"])
    wanted = (
        "slurm"
        if kind.startswith(("slurm", "srun"))
        else "docker-run"
        if kind == "docker run"
        else "compose"
        if kind == "compose"
        else "kubernetes"
    )
    assert recognise("x", str(case["reduced"])) == wanted
