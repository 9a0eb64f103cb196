"""Asking a machine: ways in order, merged, with the reason of each failure; real programs stand in for its tools."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from cudacompat.errors import HostError
from cudacompat.host import nvidia_smi, proc, remote_script
from cudacompat.host.local import WAYS, local_host
from cudacompat.host.machine import Answer, LocalMachine
from cudacompat.host.merge import filled
from cudacompat.model import Gpu, HostFacts
from tests.host.machines import HOSTS, machine, program, put

MODULE = (HOSTS / "proc-version.txt").read_text()


def fails(_: object) -> HostFacts:
    raise HostError("NVML does not start: it is ill")


def absent(_: object) -> None:
    return None


def answers(_: object) -> HostFacts:
    return proc.parse(MODULE, proc.WHERE)


def test_ways_that_fail_are_noted_and_the_next_is_asked(tmp_path: Path) -> None:
    host = local_host((absent, fails, answers), machine(tmp_path))
    assert (host.driver, host.driver_cuda, host.os) == ("535.183.01", "12.2", "linux")
    assert host.notes[0] == "NVML does not start: it is ill"
    assert any("the GPUs are not known" in note for note in host.notes)


def test_nothing_found_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="no NVIDIA driver found on this machine: give --driver"):
        local_host((absent,), machine(tmp_path))
    with pytest.raises(
        HostError, match=r"no NVIDIA driver answers on this machine \(NVML does not start: it is ill\): g"
    ):
        local_host((fails,), machine(tmp_path))


def test_what_one_way_lacks_the_next_fills(tmp_path: Path) -> None:
    """nvidia-smi of an old release tells no compute capability; the driver's file tells nothing it lacks."""
    put(tmp_path, proc.WHERE, MODULE)
    program(tmp_path, "nvidia-smi", f"cat {HOSTS / 'a100.xml'}")
    host = local_host(WAYS, machine(tmp_path))
    assert (host.driver, host.driver_cuda, host.origin) == ("535.183.01", "12.2", "nvidia-smi")
    assert [gpu.compute_capability for gpu in host.gpus or ()] == ["8.0", "8.0"]


def test_a_complete_answer_ends_the_asking(tmp_path: Path) -> None:
    program(tmp_path, "nvidia-smi", f"cat {HOSTS / 'a100.xml'}")

    def never(_: object) -> HostFacts:
        raise AssertionError("nothing was missing")

    assert local_host((nvidia_smi.ask, never), machine(tmp_path)).driver == "535.183.01"


def test_nvidia_smi_that_hangs_is_left_alone_with_its_children(tmp_path: Path) -> None:
    """The shell's child keeps the pipe open after the shell is gone: it must not keep us either."""
    mark = f"60.{os.getpid()}"
    program(tmp_path, "nvidia-smi", f"sleep {mark} & sleep {mark}")
    with pytest.raises(HostError, match=r"nvidia-smi did not answer within 0\.3 seconds"):
        nvidia_smi.ask(machine(tmp_path, patience=0.3))
    alive = ["pgrep", "-r", "R,S,D", "-f", f"sleep {mark}"]
    for _ in range(100):
        if subprocess.run(alive, capture_output=True, check=False).returncode == 1:
            return
        time.sleep(0.05)
    raise AssertionError("a child lives on")


def test_nvidia_smi_that_prints_without_end_is_stopped(tmp_path: Path) -> None:
    program(tmp_path, "nvidia-smi", "exec yes")
    with pytest.raises(HostError, match="printed more than 16 MiB"):
        nvidia_smi.ask(machine(tmp_path))


def test_nvidia_smi_that_fails_is_quoted(tmp_path: Path) -> None:
    program(tmp_path, "nvidia-smi", "echo NVIDIA-SMI has failed; exit 9")
    with pytest.raises(HostError, match=r"failed \(9\): NVIDIA-SMI has failed"):
        nvidia_smi.ask(machine(tmp_path))


def test_nvidia_smi_that_warns_by_its_code_is_still_read(tmp_path: Path) -> None:
    """Code 14 is a corrupted infoROM: everything else was told."""
    program(tmp_path, "nvidia-smi", f"cat {HOSTS / 'a100.xml'}; exit 14")
    host = nvidia_smi.ask(machine(tmp_path))
    assert host is not None and host.driver == "535.183.01"


def test_nvidia_smi_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    program(tmp_path, "nvidia-smi", "").write_bytes(b"\x00")
    with pytest.raises(HostError, match="cannot be run"):
        nvidia_smi.ask(machine(tmp_path))


def test_mig_instances_come_from_the_list(tmp_path: Path) -> None:
    xml = (HOSTS / "a100.xml").read_text()
    xml = xml.replace("<uuid>", "<mig_mode><current_mig>Enabled</current_mig></mig_mode><uuid>", 1)
    put(tmp_path, "a.xml", xml)
    program(tmp_path, "nvidia-smi", f'[ "$1" = -L ] && exec cat {HOSTS / "list-mig.txt"}; cat {tmp_path}/a.xml')
    host = nvidia_smi.ask(machine(tmp_path))
    assert host is not None and host.gpus is not None
    assert host.gpus[0].mig_profiles == ("3g.40gb", "1g.10gb")
    assert [uuid[:8] for uuid in host.gpus[0].mig] == ["MIG-aaaa", "MIG-bbbb"]
    assert (host.gpus[0].mig_enabled, host.gpus[1].mig) == (True, ())


def test_a_kernel_module_that_cannot_be_read_is_no_traceback(tmp_path: Path) -> None:
    put(tmp_path, f"{proc.WHERE}/folder", "")
    with pytest.raises(HostError, match="cannot be read"):
        proc.ask(machine(tmp_path))


SYSTEMS = [
    ("dev/dxg", "", "wsl2"),
    ("etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 1, BOARD: generic, EABI: aarch64", "jetson"),
    ("etc/other", "", "linux"),
]


@pytest.mark.parametrize(("mark", "text", "os"), SYSTEMS, ids=[row[2] for row in SYSTEMS])
def test_the_driver_world_is_seen_by_its_marks(mark: str, text: str, os: str, tmp_path: Path) -> None:
    put(tmp_path, mark, text)
    put(tmp_path, proc.WHERE, MODULE)
    assert local_host(WAYS, machine(tmp_path)).os == os


def test_wsl_without_its_library_says_so(tmp_path: Path) -> None:
    put(tmp_path, "dev/dxg", "")
    put(tmp_path, "usr/lib/wsl/lib/nvidia-smi", f"#!/bin/sh\n/bin/cat {HOSTS / 'windows.xml'}\n").chmod(0o755)
    host = local_host(WAYS, machine(tmp_path))
    assert (host.os, host.driver, host.driver_cuda) == ("wsl2", "560.94", "12.6")
    assert any("libdxcore.so" in fault for fault in host.faults)
    put(tmp_path, "usr/lib/wsl/lib/libdxcore.so", "")
    assert local_host(WAYS, machine(tmp_path)).faults == ()


JETSONS = [
    ("R36 (release), REVISION: 4.3", "NVIDIA Jetson AGX Orin Developer Kit", "12.6", "8.7"),
    ("R36 (release), REVISION: 3.0", "NVIDIA Jetson Orin Nano Developer Kit Super", "12.2", "8.7"),
    ("R35 (release), REVISION: 4.1", "NVIDIA Jetson Xavier NX Developer Kit", "11.4", "7.2"),
    ("R32 (release), REVISION: 7.1", "NVIDIA Jetson Nano Developer Kit", "10.2", "5.3"),
    ("R38 (release), REVISION: 2.0", "NVIDIA Jetson AGX Thor Developer Kit", "13.0", "11.0"),
    ("R99 (release), REVISION: 1.0", "a board of the future", None, None),
]


@pytest.mark.parametrize(("release", "model", "cuda", "capability"), JETSONS, ids=[row[0] for row in JETSONS])
def test_jetson_is_known_by_its_release_and_board(
    release: str, model: str, cuda: str | None, capability: str | None, tmp_path: Path
) -> None:
    put(tmp_path, "etc/nv_tegra_release", f"# {release}, GCID: 1, BOARD: generic, EABI: aarch64\n")
    put(tmp_path, "proc/device-tree/model", model + "\0")
    host = local_host(WAYS, machine(tmp_path))
    assert (host.os, host.driver_cuda) == ("jetson", cuda)
    assert (host.gpus[0].compute_capability if host.gpus else None) == capability
    if cuda is None:
        assert "not in the table" in " ".join(host.notes)
        assert "give --gpu" in " ".join(host.notes)


def test_a_driver_updated_without_a_reboot_counts_as_none(tmp_path: Path) -> None:
    put(tmp_path, proc.WHERE, MODULE)
    put(tmp_path, "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.95.05", "")
    put(tmp_path, "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "")
    program(tmp_path, "nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18")
    host = local_host(WAYS, machine(tmp_path))
    assert (host.driver, host.driver_cuda, host.gpus) == (None, None, None)
    assert "module is of driver 535.183.01, the libraries on disk of 580.95.05" in host.faults[0]
    assert "Reboot; --driver 580.95.05" in host.faults[0]


def test_a_mismatch_alone_is_still_an_answer(tmp_path: Path) -> None:
    program(tmp_path, "nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18")
    host = local_host(WAYS, machine(tmp_path))
    assert (host.driver, host.origin) == (None, "this machine")
    assert "updated without a reboot" in host.faults[0]


def shown(cuda: str) -> str:
    return (HOSTS / "a100.xml").read_text().replace("<cuda_version>12.2<", f"<cuda_version>{cuda}<")


CONTAINERS = [
    ("a container with a compat library", "/.dockerenv", "12.8", "12.2", "so the driver's own 12.2 was taken"),
    ("a container without one", "/.dockerenv", "12.2", "12.2", None),
    ("podman's mark", "/run/.containerenv", "12.8", "12.2", "so the driver's own 12.2 was taken"),
    ("a host that shows more than its driver has", "/etc/host", "12.8", "12.8", "the shown one was taken"),
    ("a host that shows less", "/etc/host", "12.1", "12.1", None),
    ("a linker folder with the hook's file", "/etc/ld.so.conf.d/00-compat-1.conf", "12.8", "12.2", "00-compat-1.conf"),
]


@pytest.mark.parametrize(("mark", "cuda", "own", "words"), [r[1:] for r in CONTAINERS], ids=[r[0] for r in CONTAINERS])
def test_cuda_of_a_compat_library_is_not_the_drivers(
    mark: str, cuda: str, own: str, words: str | None, tmp_path: Path
) -> None:
    put(tmp_path, mark, "")
    put(tmp_path, "a.xml", shown(cuda))
    program(tmp_path, "nvidia-smi", f"cat {tmp_path}/a.xml")
    host = local_host(WAYS, machine(tmp_path))
    assert (host.driver, host.driver_cuda) == ("535.183.01", own)
    told = [note for note in host.notes if "by itself has" in note]
    assert len(told) == (words is not None)
    assert words is None or words in told[0]


def test_a_table_that_is_not_sure_does_not_overrule_what_is_shown(tmp_path: Path) -> None:
    put(tmp_path, "/.dockerenv", "")
    put(tmp_path, "a.xml", shown("99.0").replace("535.183.01", "9999.10"))
    program(tmp_path, "nvidia-smi", f"cat {tmp_path}/a.xml")
    host = local_host(WAYS, machine(tmp_path))
    assert host.driver_cuda == "99.0"
    assert any("the shown one was taken" in note for note in host.notes)


def test_a_jetson_with_nvidia_smi_is_still_a_jetson(tmp_path: Path) -> None:
    put(tmp_path, "etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 1")
    put(tmp_path, "a.xml", shown("12.6").replace("535.183.01", "540.4.0"))
    program(tmp_path, "nvidia-smi", f"cat {tmp_path}/a.xml")
    host = local_host(WAYS, machine(tmp_path))
    assert (host.os, host.driver, host.driver_cuda) == ("jetson", "540.4.0", "12.6")
    assert any("L4T 36.4.3" in detail for detail in host.details)


ONE, OTHER = Gpu("X", None, uuid="GPU-1"), Gpu("X", "8.0", ("nvidia",), "GPU-1", True, "Ampere", memory_mib=1)
MERGES = [
    ("the same board", (ONE,), (OTHER,), (OTHER,)),
    ("another board in its place", (ONE,), (replace(OTHER, uuid="GPU-2"),), (ONE,)),
    ("another count", (ONE,), (OTHER, OTHER), (ONE,)),
    ("none told", None, (OTHER,), (OTHER,)),
    ("no GPU is an answer", (), (OTHER,), ()),
    ("nothing more", (OTHER,), None, (OTHER,)),
    ("what was seen first stays", (replace(ONE, brands=("tesla",)),), (OTHER,), (replace(OTHER, brands=("tesla",)),)),
]


@pytest.mark.parametrize(("ours", "theirs", "merged"), [row[1:] for row in MERGES], ids=[row[0] for row in MERGES])
def test_boards_are_merged_only_where_they_are_the_same(
    ours: tuple[Gpu, ...] | None, theirs: tuple[Gpu, ...] | None, merged: tuple[Gpu, ...]
) -> None:
    host = filled(HostFacts("535.1.1", "12.2", gpus=ours, origin="a"), HostFacts(gpus=theirs, origin="b"))
    assert host.gpus == merged
    assert host.origin == ("a" if merged == ours else "a and b")


INSIDE = [
    ("KUBERNETES_SERVICE_HOST", "", ""),
    ("/proc/1/cgroup", "proc/1/cgroup", "12:pids:/docker/0123\n"),
    ("/proc/1/cgroup", "proc/1/cgroup", "1:name=systemd:/kubepods/besteffort/pod1\n"),
    (
        "/proc/self/mountinfo",
        "proc/self/mountinfo",
        "1 0 0:5 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l\n",
    ),
]


@pytest.mark.parametrize(("mark", "path", "text"), INSIDE, ids=[f"{row[0]} {row[2][:24]}" for row in INSIDE])
def test_a_container_is_recognised_and_its_toolkit_is_not_the_hosts(
    mark: str, path: str, text: str, tmp_path: Path
) -> None:
    variables = {} if path else {mark: "10.0.0.1"}
    if path:
        put(tmp_path, path, text)
    put(tmp_path, proc.WHERE, MODULE)
    program(tmp_path, "nvidia-ctk", "echo NVIDIA Container Toolkit CLI version 1.18.0")
    host = local_host(WAYS, machine(tmp_path, **variables))
    assert (host.toolkit, host.injection) == (None, None)
    assert f"inside a container ({mark})" in host.notes[-1]


def test_a_virtual_machine_made_from_an_image_is_no_container(tmp_path: Path) -> None:
    """Its disk carries the image's /.dockerenv, but its root folder is the top of a disk of its own."""
    put(tmp_path, "/.dockerenv", "")
    put(tmp_path, proc.WHERE, MODULE)
    put(tmp_path, "proc/self/mountinfo", "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n")
    assert not any("inside a container" in note for note in local_host(WAYS, machine(tmp_path)).notes)
    put(tmp_path, "proc/self/mountinfo", "27 1 254:0 /containers/x / rw,relatime - ext4 /dev/vda rw,discard\n")
    assert any("inside a container" in note for note in local_host(WAYS, machine(tmp_path)).notes)


def test_a_docker_host_is_no_container(tmp_path: Path) -> None:
    put(tmp_path, "proc/1/cgroup", "0::/init.scope\n")
    put(tmp_path, "proc/self/mountinfo", "9 1 0:5 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw\n")
    put(tmp_path, proc.WHERE, MODULE)
    assert not any("inside a container" in note for note in local_host(WAYS, machine(tmp_path)).notes)


@dataclass(frozen=True)
class Spy:
    """A machine that has everything and remembers what it was asked."""

    name: str = "spy"
    asked: set[tuple[str, str]] = field(default_factory=set)

    def text(self, path: str) -> str | None:
        self.asked.add(("file", path))
        return MODULE if path == proc.WHERE else None

    def names(self, folder: str) -> tuple[str, ...] | None:
        self.asked.add(("folder", folder))
        return ()

    def exists(self, path: str) -> bool:
        self.asked.add(("mark", path))
        return False

    def which(self, program: str) -> str | None:
        self.asked.add(("program", program))
        return program

    def ask(self, program: str, *arguments: str) -> Answer | None:
        self.asked.add(("command", " ".join((program, *arguments))))
        return Answer(1, "")

    def nvml(self) -> Answer | None:
        return None

    def variable(self, name: str) -> str | None:
        self.asked.add(("variable", name))
        return "/home/me" if name == "HOME" else None

    def architecture(self) -> str | None:
        return "amd64"


def test_everything_that_is_asked_here_is_asked_over_ssh_too() -> None:
    spy = Spy()
    local_host(WAYS, spy)
    script = {
        *(("file", path) for path in (*remote_script.FILES, "/home/me/.config/docker/daemon.json")),
        *(("folder", path) for path in remote_script.FOLDERS),
        *(("mark", path) for path in remote_script.MARKS),
        *(("program", name) for name in remote_script.PROGRAMS),
        *(("command", " ".join(command)) for command in remote_script.COMMANDS),
        *(("variable", name) for name in (*remote_script.VARIABLES, "HOME")),
    }
    assert len(spy.asked) > 30
    assert spy.asked <= script


def test_this_machine_is_asked_by_default() -> None:
    here = LocalMachine()
    assert here.exists("/proc") and here.which("sh") and here.architecture() in ("amd64", "arm64", None)
    assert here.variable("PATH")
