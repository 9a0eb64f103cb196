"""--mirror on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.images import build_image
from tests.support.servers import push


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cudacompat", "check", *arguments, "--driver", "550.54.15", "--fail-on", "fails"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("given", ["docker.io", "=host", "docker.io="])
def test_a_mirror_without_both_sides_is_wrong_usage(given: str) -> None:
    done = check("registry:library/app:1", "--mirror", given)
    assert done.returncode == 2
    assert "REGISTRY=HOST" in done.stderr


@pytest.mark.registry
def test_the_mirror_is_asked_first(plain_registry: str, tmp_path: Path) -> None:
    build_image({"platform": "linux/amd64", "env": {"CUDA_VERSION": "12.4.1"}}, tmp_path / "layout")
    push(tmp_path / "layout", "latest", f"{plain_registry}/library/mirrored:1")
    done = check("registry:mirrored:1", "--quick", "--mirror", f"docker.io={plain_registry}")
    assert done.returncode == 0, done.stderr
    assert "RUNS" in done.stdout
