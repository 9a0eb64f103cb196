"""How containers get GPUs: Docker, toolkit and CDI together, as folders and programs of a machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from cudacompat.host import docker, toolkit
from cudacompat.host.stack import with_stack
from cudacompat.model import HostFacts
from tests.host.machines import machine, program, put

CTK = "NVIDIA Container Toolkit CLI version {0}\ncommit: f8daa5e26de9fd7eb79259040b6dd5a52060048c"
CLI = "cli-version: {0}\nlib-version: {0}\nbuild date: 2025-05-30T13:47+00:00"
RUNTIME = "NVIDIA Container Runtime version {0}\ncommit: f8daa5e\nspec: 1.2.1\n\nrunc version 1.2.6"
SPEC = """---
cdiVersion: 0.5.0
containerEdits:
  hooks:
  - args: [nvidia-cdi-hook, {hook}]
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
  mounts:
  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.{driver}
    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.{driver}
devices:
- name: "0"
kind: nvidia.com/gpu
"""
HOST = HostFacts("570.133.07", "12.8")


def info(version: str, **more: object) -> str:
    return json.dumps({"ServerVersion": version, "DefaultRuntime": "runc", "CDISpecDirs": ["/etc/cdi"], **more})


def learned(root: Path, programs: Mapping[str, str], files: Mapping[str, str], host: HostFacts = HOST) -> HostFacts:
    for name, text in programs.items():
        put(root, f"said/{name}", text)
        program(root, name, f"cat {root}/said/{name}")
    for path, text in files.items():
        put(root, path, text)
    return with_stack(host, machine(root, HOME="/home/me"))


NEW, OLD = info("29.2.1"), info("28.5.1")
FRESH = {"/etc/cdi/nvidia.yaml": SPEC.format(hook="enable-cuda-compat", driver="570.133.07")}
HOOK = {"nvidia-cdi-hook": ""}
CONFIG = "/etc/nvidia-container-runtime/config.toml"


def mode(name: str) -> str:
    return f'[nvidia-container-runtime]\nmode = "{name}"\n'


MODES = [
    ("Docker before CDI", {"docker": OLD, "nvidia-ctk": CTK.format("1.17.8")}, {}, "legacy", "before 29.2.0"),
    (
        "Docker before CDI, with a spec",
        {"docker": OLD, "nvidia-ctk": CTK.format("1.18.0"), **HOOK},
        FRESH,
        "legacy",
        "",
    ),
    (
        "Docker with CDI and a spec",
        {"docker": NEW, "nvidia-ctk": CTK.format("1.17.8"), **HOOK},
        FRESH,
        "cdi",
        "is there",
    ),
    ("no hook program", {"docker": NEW, "nvidia-ctk": CTK.format("1.17.8")}, FRESH, "legacy", "no usable CDI spec"),
    ("no spec", {"docker": NEW, "nvidia-ctk": CTK.format("1.18.0"), **HOOK}, {}, "legacy", "no usable CDI spec"),
    (
        "a spec of another kind",
        {"docker": NEW, "nvidia-ctk": CTK.format("1.18.0"), **HOOK},
        {"/etc/cdi/x.yaml": "kind: nvidia.com/imex-channel\n"},
        "legacy",
        "",
    ),
    (
        "CDI off",
        {"docker": info("29.2.1", CDISpecDirs=None), "nvidia-ctk": CTK.format("1.18.0"), **HOOK},
        FRESH,
        "legacy",
        "",
    ),
    ("Docker 30", {"docker": info("30.0.0"), "nvidia-ctk": CTK.format("1.18.0"), **HOOK}, FRESH, None, "either of"),
    (
        "default runtime nvidia, new toolkit",
        {"docker": info("28.5.1", DefaultRuntime="nvidia"), "nvidia-ctk": CTK.format("1.18.0")},
        {},
        "cdi",
        "jit-cdi",
    ),
    (
        "default runtime nvidia, old toolkit",
        {"docker": info("28.5.1", DefaultRuntime="nvidia"), "nvidia-ctk": CTK.format("1.17.8")},
        {},
        "legacy",
        "before 1.18",
    ),
    (
        "default runtime nvidia, set to legacy",
        {"docker": info("28.5.1", DefaultRuntime="nvidia"), "nvidia-ctk": CTK.format("1.18.0")},
        {CONFIG: mode("legacy")},
        "legacy",
        "mode to legacy",
    ),
    (
        "default runtime nvidia, legacy, and Docker's CDI before it",
        {"docker": info("29.2.1", DefaultRuntime="nvidia"), "nvidia-ctk": CTK.format("1.18.0"), **HOOK},
        {CONFIG: mode("legacy"), **FRESH},
        None,
        "tries CDI first",
    ),
    (
        "another default runtime",
        {"docker": info("28.5.1", DefaultRuntime="kata"), "nvidia-ctk": CTK.format("1.18.0")},
        {},
        None,
        "default runtime is kata",
    ),
    (
        "the hook set to refuse",
        {"docker": OLD, "nvidia-ctk": CTK.format("1.17.8")},
        {CONFIG: mode("cdi")},
        None,
        "refuse docker run --gpus",
    ),
    ("Docker without the toolkit", {"docker": OLD}, {}, None, "could not select device driver"),
    (
        "Docker Desktop",
        {"docker": info("28.5.1", OperatingSystem="Docker Desktop"), "nvidia-ctk": CTK.format("1.17.8")},
        {},
        None,
        "virtual machine",
    ),
    ("podman with a spec", {"podman": "", "nvidia-ctk": CTK.format("1.18.0")}, FRESH, "cdi", "CDI spec"),
    (
        "podman under docker's name",
        {"podman": "", "docker": '{"host": {}, "version": {"Version": "5.4.2"}}', "nvidia-ctk": CTK.format("1.18.0")},
        FRESH,
        "cdi",
        "podman",
    ),
    (
        "podman with the old hook",
        {"podman": "", "nvidia-ctk": CTK.format("1.13.5")},
        {"/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json": "{}"},
        "legacy",
        "oci-nvidia-hook",
    ),
    ("podman alone", {"podman": ""}, {}, None, "neither a CDI spec nor"),
    ("enroot alone", {"enroot": ""}, {}, "enroot", "only engine"),
    ("apptainer alone", {"apptainer": "", "singularity": ""}, {}, "apptainer", "--nv"),
    (
        "apptainer by NVIDIA's program",
        {"apptainer": ""},
        {"/etc/apptainer/apptainer.conf": "# a comment\nuse nvidia-container-cli = yes\n"},
        "apptainer-nvccli",
        "apptainer.conf",
    ),
    ("enroot and apptainer", {"apptainer": "", "enroot": ""}, {}, None, "several engines"),
    ("containerd alone", {"containerd": ""}, {}, None, "its caller decides"),
    ("a node of GKE", {"containerd": ""}, {"/home/kubernetes/bin/nvidia/lib64/x": ""}, "gke", "GKE"),
    ("nothing", {}, {}, None, "no container engine"),
]


@pytest.mark.parametrize(
    ("programs", "files", "wanted", "reason"), [row[1:] for row in MODES], ids=[row[0] for row in MODES]
)
def test_injection_mode_follows_or_stays_open_with_a_reason(
    programs: dict[str, str], files: dict[str, str], wanted: str | None, reason: str, tmp_path: Path
) -> None:
    host = learned(tmp_path, programs, files)
    assert host.injection == wanted
    told = [text for text in (host.notes if wanted is None else host.details) if text.startswith("injection mode")]
    assert len(told) == 1
    assert reason in told[0]


def test_toolkit_of_this_system_is_not_docker_desktops(tmp_path: Path) -> None:
    said = {"docker": info("28.5.1", OperatingSystem="Docker Desktop"), "nvidia-ctk": CTK.format("1.17.8")}
    host = learned(tmp_path, said, {})
    assert (host.docker, host.toolkit) == ("28.5.1", None)
    assert not any("toolkit is not installed" in note for note in host.notes)


TOOLLESS = [
    ("Docker alone", {"docker": OLD}, {}, 1),
    ("Docker with the toolkit", {"docker": OLD, "nvidia-ctk": CTK.format("1.17.8")}, {}, 0),
    ("Docker with a spec", {"docker": NEW}, FRESH, 0),
    ("Docker beside podman", {"docker": OLD, "podman": ""}, {}, 0),
    ("Docker Desktop", {"docker": info("28.5.1", OperatingSystem="Docker Desktop")}, {}, 0),
    ("no Docker", {}, {}, 0),
]


@pytest.mark.parametrize(("programs", "files", "faults"), [r[1:] for r in TOOLLESS], ids=[r[0] for r in TOOLLESS])
def test_docker_without_anything_to_hand_in_gpus_is_a_fault(
    programs: dict[str, str], files: dict[str, str], faults: int, tmp_path: Path
) -> None:
    host = learned(tmp_path, programs, files)
    assert len([fault for fault in host.faults if "no NVIDIA container toolkit here" in fault]) == faults


JETSONS = [("36.4.3", "csv"), ("35.4.1", "csv"), ("38.2.0", None)]


@pytest.mark.parametrize(("l4t", "wanted"), JETSONS)
def test_mode_auto_on_jetson(l4t: str, wanted: str | None, tmp_path: Path) -> None:
    host = HostFacts(driver_cuda="12.6", os="jetson", details=(f"Jetson with L4T {l4t} (JetPack 6)",))
    said = {"docker": info("28.5.1", DefaultRuntime="nvidia"), "nvidia-ctk": CTK.format("1.16.2")}
    assert learned(tmp_path, said, {}, host).injection == wanted


VERSIONS = [
    (CTK.format("1.17.8"), "1.17.8"),
    (CTK.format("1.18.0-rc.1"), "1.18.0"),
    (CLI.format("1.14.6"), "1.14.6"),
    (RUNTIME.format("1.13.5"), "1.13.5"),
    ("NVIDIA Container Runtime Hook version 1.17.8\n", "1.17.8"),
    ("runc version 1.2.6\n", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "version"), VERSIONS)
def test_toolkit_release(text: str, version: str | None) -> None:
    found = toolkit.toolkit_version(text)
    assert found is None if version is None else (found or "").startswith(version)


def test_parts_of_different_releases_are_told(tmp_path: Path) -> None:
    said = {"nvidia-ctk": CTK.format("1.18.0"), "nvidia-container-cli": CLI.format("1.17.8")}
    host = learned(tmp_path, said, {})
    assert host.toolkit == "1.18.0"
    assert any("nvidia-ctk 1.18.0, nvidia-container-cli 1.17.8" in note for note in host.notes)


def test_toolkit_of_the_gpu_operator(tmp_path: Path) -> None:
    put(tmp_path, "usr/local/nvidia/toolkit/nvidia-ctk", f"#!/bin/sh\necho '{CTK.format('1.17.8')}'\n").chmod(0o755)
    config = "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml"
    host = learned(tmp_path, {}, {config: mode("cdi")})
    assert host.toolkit == "1.17.8"
    assert "the nvidia runtime's mode is cdi" in host.details


SETTINGS = [
    ("disable-require = true", "NVIDIA_REQUIRE_* refuses nothing"),
    ("accept-nvidia-visible-devices-envvar-when-unprivileged = false", "only privileged containers"),
    ("[features]\ndisable-cuda-compat-lib-hook = true", "no compat library in front"),
    ("[features]\nallow-cuda-compat-libs-from-container = true", "as before 1.17.4"),
    ('[nvidia-container-runtime.modes.legacy]\ncuda-compat-mode = "mount"', "another choice of compat"),
    ("[nvidia-container-runtime", "is no TOML"),
    ('[nvidia-container-runtime]\nmode = "magic"', "is not known"),
    ("nvidia-container-runtime = 7\nfeatures = []", None),
]


@pytest.mark.parametrize(("text", "words"), SETTINGS, ids=[row[0] for row in SETTINGS])
def test_settings_that_change_a_launch_are_told(text: str, words: str | None, tmp_path: Path) -> None:
    host = learned(tmp_path, {"nvidia-ctk": CTK.format("1.17.8")}, {CONFIG: text})
    told = [note for note in host.notes if CONFIG in note]
    assert len(told) == (words is not None)
    assert words is None or words in told[0]


STALE = [
    ("of another driver", "535.183.01", "enable-cuda-compat", "1.17.8", "hands in the files of driver 535.183.01"),
    ("older than the toolkit", "570.133.07", "update-ldcache", "1.17.8", "no enable-cuda-compat hook"),
    ("as old as the toolkit", "570.133.07", "update-ldcache", "1.17.3", None),
    ("fresh", "570.133.07", "enable-cuda-compat", "1.17.8", None),
]


@pytest.mark.parametrize(
    ("driver", "hook", "release", "words"), [row[1:] for row in STALE], ids=[row[0] for row in STALE]
)
def test_a_cdi_spec_is_compared_with_driver_and_toolkit(
    driver: str, hook: str, release: str, words: str | None, tmp_path: Path
) -> None:
    spec = {"/var/run/cdi/nvidia.yaml": SPEC.format(hook=hook, driver=driver)}
    host = learned(tmp_path, {"nvidia-ctk": CTK.format(release)}, spec)
    told = [note for note in host.notes if "/var/run/cdi/nvidia.yaml" in note]
    assert len(told) == (words is not None)
    assert words is None or words in told[0]
    assert host.faults == ()


def test_a_stale_spec_is_a_fault_where_containers_get_their_gpus_by_it(tmp_path: Path) -> None:
    spec = {"/etc/cdi/nvidia.yaml": SPEC.format(hook="enable-cuda-compat", driver="535.183.01")}
    host = learned(tmp_path, {"nvidia-ctk": CTK.format("1.17.8"), "podman": ""}, spec)
    assert (host.injection, len(host.faults)) == ("cdi", 1)
    assert "hands in the files of driver 535.183.01, the driver is 570.133.07" in host.faults[0]


def test_a_spec_in_json(tmp_path: Path) -> None:
    spec = {"/etc/cdi/nvidia.json": json.dumps({"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": []})}
    assert learned(tmp_path, {"podman": ""}, spec).injection == "cdi"


def test_an_engine_that_does_not_answer_is_known_by_its_files(tmp_path: Path) -> None:
    program(tmp_path, "docker", 'echo \'{"ServerVersion": ""}\'; echo permission denied >&2; exit 1')
    said = {"dockerd": "Docker version 20.10.24+dfsg1, build 5d6db84", "nvidia-ctk": CTK.format("1.17.8")}
    host = learned(tmp_path, said, {"/etc/docker/daemon.json": '{"default-runtime": "nvidia"}'})
    assert (host.docker, host.injection) == ("20.10.24", "legacy")
    assert any("was not asked (permission denied)" in note for note in host.notes)
    assert "Docker's default runtime is nvidia" in host.details


FILES = [
    ('{"features": {"cdi": false}}', docker.Docker(True, "29.2.0", "runc", ())),
    ('{"cdi-spec-dirs": ["/opt/cdi"]}', docker.Docker(True, "29.2.0", "runc", ("/opt/cdi",))),
    (
        '{"default-runtime": "nvidia", "runtimes": {}}',
        docker.Docker(True, "29.2.0", "nvidia", ("/etc/cdi", "/var/run/cdi")),
    ),
    ("[]", docker.Docker(True, "29.2.0")),
    ("{", docker.Docker(True, "29.2.0")),
]


@pytest.mark.parametrize(("text", "wanted"), FILES, ids=[row[0] for row in FILES])
def test_settings_of_the_daemon(text: str, wanted: docker.Docker, tmp_path: Path) -> None:
    program(tmp_path, "dockerd", "echo Docker version 29.2.0, build x")
    put(tmp_path, "/home/me/.config/docker/daemon.json", text)
    found = docker.learn(machine(tmp_path, HOME="/home/me"))
    assert (found.installed, found.version, found.runtime, found.cdi_folders) == (
        wanted.installed,
        wanted.version,
        wanted.runtime,
        wanted.cdi_folders,
    )
    assert found.notes


def test_an_engine_elsewhere_is_not_this_machines(tmp_path: Path) -> None:
    program(tmp_path, "docker", f"echo '{OLD}'")
    found = docker.learn(machine(tmp_path, DOCKER_HOST="ssh://other"))
    assert (found.version, found.installed) == (None, True)
    assert "another machine" in found.notes[0]
    assert docker.learn(machine(tmp_path, DOCKER_HOST="unix:///run/user/1000/docker.sock")).version == "28.5.1"


def test_programs_that_hang_cost_their_patience_and_no_more(tmp_path: Path) -> None:
    for name in ("docker", "nvidia-ctk"):
        program(tmp_path, name, "sleep 60")
    host = with_stack(HOST, machine(tmp_path, patience=0.2))
    assert (host.docker, host.toolkit, host.injection) == (None, None, None)
    assert sum("did not answer within 0.2 seconds" in note for note in host.notes) == 2
