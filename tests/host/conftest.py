"""What tests of this room share."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.servers import need


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the compiled stand-in."""
    need("gcc")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("nvml_standin.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-o", folder / "libnvidia-ml.so.1", source], check=True)
    return folder
