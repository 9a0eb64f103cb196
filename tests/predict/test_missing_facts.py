"""Hosts of which little is known: every public report's image gets an answer in words on each of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cudacompat import api
from cudacompat.host import HostOptions, with_options
from cudacompat.model import Gpu, HostFacts
from cudacompat.report import Style, renderer
from tests.support.images import build_image

CASES = sorted((Path(__file__).parent.parent / "data" / "field").glob("*.json"))
HOSTS = (
    HostFacts(),
    HostFacts(driver="535.104.05"),
    HostFacts(gpus=()),
    HostFacts(os="wsl2"),
    HostFacts(os="wsl2", driver="572.16"),
    HostFacts(os="jetson"),
    HostFacts(os="jetson", injection="csv"),
    HostFacts(injection="gke"),
    HostFacts(injection="apptainer-nvccli"),
    HostFacts(driver="550.54.15", gpus=(Gpu(),)),
    HostFacts(driver_cuda="11.4", injection="legacy"),
    with_options(HostOptions(gpus=("A100",), injection="cdi")),
    with_options(HostOptions(driver="535.104.05", gpus=("A100",), injection="none")),
)


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_an_answer_in_words(path: Path, tmp_path: Path) -> None:
    image = api.inspect(f"oci-dir:{build_image(json.loads(path.read_text())['image'], tmp_path / 'image')}")
    for host in HOSTS:
        report = api.report_on(image, host)
        text = renderer("text")([report], Style())
        assert not re.search(r"\bNone\b", text), text
        assert max(map(len, text.splitlines())) <= 100
        if host.driver is None and host.driver_cuda is None:
            assert report.verdict.outcome not in ("runs", "runs-limited"), text
