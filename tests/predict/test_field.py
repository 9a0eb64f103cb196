"""Public failure reports, reduced to small images: image, host and what really happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cudacompat
from tests.support.images import build_image

CASES = sorted((Path(__file__).parent.parent / "data" / "field").glob("*.json"))


def report_of(case: dict[str, Any], folder: Path) -> cudacompat.Report:
    target = folder / "image"
    build_image(case["image"], target)
    host = case["host"]
    return cudacompat.check(
        f"oci-dir:{target}",
        driver=host["driver"],
        gpus=host["gpus"] or None,
        compute_capability=host["compute_capability"] if not host["gpus"] else None,
        injection=host["injection"],
        toolkit=host["toolkit_version"],
        os=host.get("os"),
        driver_cuda=host.get("driver_cuda"),
        platform=case["image"]["platform"],
    )


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_report(path: Path, tmp_path: Path) -> None:
    case = json.loads(path.read_text())
    expected = case["expect"]
    verdict = report_of(case, tmp_path).verdict
    assert verdict.outcome in expected["outcome"], verdict.summary
    if expected["stage"]:
        assert verdict.stage in expected["stage"], verdict.summary
    if expected["error_code"] is not None:
        assert verdict.error is not None and verdict.error.code == expected["error_code"], verdict.summary
    if expected["path"]:
        assert verdict.path == expected["path"], verdict.summary
