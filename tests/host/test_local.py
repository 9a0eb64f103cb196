"""Asking this machine: in order, with the reason of each failure, and with real programs in nvidia-smi's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudacompat.errors import HostError
from cudacompat.host import nvidia_smi, proc
from cudacompat.host.local import local_host
from cudacompat.model import HostFacts

HOSTS = Path(__file__).parent.parent / "data" / "hosts"


def fails() -> HostFacts:
    raise HostError("nvidia-smi failed (9): couldn't communicate")


def absent() -> None:
    return None


def answers() -> HostFacts:
    return proc.parse((HOSTS / "proc-version.txt").read_text(), "/proc/driver/nvidia/version")


def test_first_way_that_answers_counts_and_failures_before_it_are_noted(tmp_path: Path) -> None:
    host = local_host((absent, fails, answers), tmp_path)
    assert (host.driver, host.driver_cuda, host.os) == ("535.183.01", "12.2", "linux")
    assert host.notes == ("nvidia-smi failed (9): couldn't communicate",)


def test_nothing_found_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="no NVIDIA driver found on this machine: give --driver"):
        local_host((absent,), tmp_path)
    with pytest.raises(HostError, match="couldn't communicate"):
        local_host((fails,), tmp_path)


@pytest.mark.parametrize(("mark", "os"), [("dev/dxg", "wsl2"), ("etc/nv_tegra_release", "jetson")])
def test_the_driver_world_is_seen_by_its_marks(mark: str, os: str, tmp_path: Path) -> None:
    (tmp_path / mark).parent.mkdir()
    (tmp_path / mark).touch()
    assert local_host((answers,), tmp_path).os == os


def program(folder: Path, body: str) -> str:
    path = folder / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_nvidia_smi_is_asked_for_xml(tmp_path: Path) -> None:
    host = nvidia_smi.ask(program(tmp_path, f'[ "$*" = "-q -x" ] && cat {HOSTS / "a100.xml"}'))
    assert host is not None
    assert (host.driver, host.origin, len(host.gpus or ())) == ("535.183.01", "nvidia-smi", 2)


def test_nvidia_smi_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"failed \(9\): NVIDIA-SMI has failed"):
        nvidia_smi.ask(program(tmp_path, "echo NVIDIA-SMI has failed; exit 9"))


def test_nvidia_smi_that_hangs_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia_smi, "_SECONDS", 0.05)
    with pytest.raises(HostError, match="did not answer"):
        nvidia_smi.ask(program(tmp_path, "exec sleep 5"))


def test_nvidia_smi_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nvidia-smi"
    path.write_bytes(b"\x00")
    path.chmod(0o755)
    with pytest.raises(HostError, match="cannot be run"):
        nvidia_smi.ask(str(path))


def test_kernel_module_file(tmp_path: Path) -> None:
    assert proc.ask(tmp_path / "gone") is None
    found = proc.ask(HOSTS / "proc-open.txt")
    assert found is not None and found.driver == "565.57.01"
    with pytest.raises(HostError, match="cannot be read"):
        proc.ask(tmp_path)
