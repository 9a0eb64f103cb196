"""A command line whose images are facts at hand: what is tested here is the command, not the reading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cudacompat import api
from cudacompat.cli.app import cli
from cudacompat.errors import TargetError, UsageError
from cudacompat.model import ImageFacts
from tests.support.facts import cudart, image

IMAGES: dict[str, ImageFacts | Exception] = {
    "runs": image(cudart("12.2")),
    "limited": image(cudart("12.8")),
    "fails": image(cudart("13.0")),
    "depends": image(cudart("12.2"), env={"NVIDIA_REQUIRE_CUDA": "cuda>=12.8 brand=geforce,driver>=1"}),
    "empty": image(),
    "gone": TargetError("gone: there is no such image"),
    "nonsense": UsageError("'nonsense' is no reference"),
    "hostile": TargetError("bad\x1b[2J\nname"),
    "crash": RecursionError("maximum recursion depth exceeded"),
    "stopped": KeyboardInterrupt(),
}
DRIVER = ("--driver", "535.183.01", "--gpu", "A100", "--injection", "legacy")
Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command line in an empty folder, without the variables of the person who tests."""
    import os

    for name in list(os.environ):
        if name.startswith("CUDACOMPAT_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def inspect(target: str, **_: object) -> ImageFacts:
        found = IMAGES[target]
        if isinstance(found, BaseException):
            raise found
        return found

    monkeypatch.setattr(api, "inspect", inspect)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, list(arguments), prog_name="cudacompat")

    return invoke
