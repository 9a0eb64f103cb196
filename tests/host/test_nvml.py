"""NVML through the real nvidia-ml-py, on a library compiled here that answers as it is told, faults and all."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.errors import HostError
from cudacompat.host import nvml, proc
from cudacompat.host.local import WAYS, local_host
from cudacompat.host.machine import LocalMachine
from cudacompat.host.mismatch import DriverMismatchError
from cudacompat.model import HostFacts
from tests.host.machines import HOSTS, program, put

A100 = {
    "driver": "535.183.01",
    "cuda": "12020",
    "count": "1",
    "gpu0_name": "NVIDIA A100-SXM4-80GB",
    "gpu0_uuid": "GPU-00000000-0000-0000-0000-000000000001",
    "gpu0_brand": "14",
    "gpu0_cc": "80",
    "gpu0_memory": str(81920 << 20),
    "gpu0_mode": "0",
}


def machine(root: Path, library: Path, said: dict[str, str], patience: float = 10.0) -> LocalMachine:
    environment = {f"NVML_{key}": value for key, value in said.items()}
    return LocalMachine(root, {"PATH": f"{root}/bin", "LD_LIBRARY_PATH": str(library), **environment}, patience)


def asked(root: Path, library: Path, **said: str) -> HostFacts:
    host = nvml.ask(machine(root, library, {**A100, **said}))
    assert host is not None
    return host


def test_everything_is_told(tmp_path: Path, library: Path) -> None:
    host = asked(tmp_path, library)
    assert (host.driver, host.driver_cuda, host.origin, host.notes) == ("535.183.01", "12.2", "NVML", ())
    (gpu,) = host.gpus or ()
    assert (gpu.name, gpu.compute_capability, gpu.brands) == ("NVIDIA A100-SXM4-80GB", "8.0", ("nvidia",))
    assert (gpu.uuid, gpu.memory_mib, gpu.mig_enabled, gpu.mig) == (A100["gpu0_uuid"], 81920, False, ())
    assert (gpu.architecture, gpu.forward_compat) == ("Ampere", True)


BRANDS = [
    (0, "unknown"),
    (1, "quadro"),
    (2, "tesla"),
    (3, "nvs"),
    (4, "grid"),
    (5, "geforce"),
    (6, "titan"),
    (7, "vapps"),
    (8, "vpc"),
    (9, "vcs"),
    (10, "vws"),
    (11, "cloudgaming"),
    (12, "quadrortx"),
    (13, "nvidiartx"),
    (14, "nvidia"),
    (15, "geforcertx"),
    (16, "titanrtx"),
    (18, "unknown"),
    (-1, "unknown"),
]


@pytest.mark.parametrize(("number", "word"), BRANDS)
def test_brands_are_libnvidia_containers_words(number: int, word: str) -> None:
    text = json.dumps({"driver": "535.1.1", "cuda": 12020, "count": 1, "gpus": [{"name": "X", "brand": number}]})
    host = nvml.parse(text)
    assert host is not None and host.gpus is not None
    assert host.gpus[0].brands == (word,)


def test_mig_instances_by_profile_and_uuid(tmp_path: Path, library: Path) -> None:
    host = asked(
        tmp_path,
        library,
        gpu0_mode="1",
        gpu0_most="7",
        gpu0_mig0_uuid="MIG-a",
        gpu0_mig0_name="NVIDIA A100-SXM4-80GB MIG 3g.40gb",
        gpu0_mig2_uuid="MIG-b",
        gpu0_mig2_name="NVIDIA A100-SXM4-80GB MIG 1g.10gb",
        gpu0_mig3_uuid="MIG-c",
    )
    (gpu,) = host.gpus or ()
    assert (gpu.mig_enabled, gpu.mig) == (True, ("MIG-a", "MIG-b", "MIG-c"))
    assert gpu.mig_profiles == ("3g.40gb", "1g.10gb", "unknown")


def test_mig_without_an_instance_is_told(tmp_path: Path, library: Path) -> None:
    host = local_host(WAYS, machine(tmp_path, library, {**A100, "gpu0_mode": "1", "gpu0_most": "7"}))
    assert any("MIG enabled and no instance" in fault for fault in host.faults)


def test_what_a_board_does_not_support_is_null_without_a_word(tmp_path: Path, library: Path) -> None:
    host = nvml.ask(machine(tmp_path, library, {"driver": "535.183.01", "cuda": "12020", "count": "1"}))
    assert host is not None and host.gpus is not None
    assert (host.gpus[0].name, host.gpus[0].uuid, host.gpus[0].brands, host.gpus[0].mig_enabled) == (
        None,
        None,
        (),
        None,
    )
    assert host.notes == ("the tool named a GPU without its product name",)


REFUSALS = [
    ("no kernel module", "!9", "modprobe nvidia"),
    ("no permission", "!4", "/dev/nvidiactl"),
    ("a lost GPU", "!15", "fell off the bus"),
    ("a driver that is busy", "!10", "in time"),
    ("an unknown error in bytes that are no text", "!999", "NVML does not start"),
    ("an error of the future", "!77", "NVML error 77"),
]


@pytest.mark.parametrize(("code", "words"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_nvml_that_does_not_start_says_why(code: str, words: str, tmp_path: Path, library: Path) -> None:
    with pytest.raises(HostError, match=words):
        nvml.ask(machine(tmp_path, library, {"init": code}))


def test_no_library_is_no_answer(tmp_path: Path, library: Path) -> None:
    assert nvml.ask(machine(tmp_path, library, {"init": "!12"})) is None
    if not any("libnvidia-ml.so.1" in line for line in subprocess.getoutput("ldconfig -p").splitlines()):
        assert nvml.ask(machine(tmp_path, tmp_path, {})) is None


def test_mismatch_of_library_and_module_leaves_no_driver(tmp_path: Path, library: Path) -> None:
    sick = machine(tmp_path, library, {"init": "!18"})
    with pytest.raises(DriverMismatchError):
        nvml.ask(sick)
    put(tmp_path, proc.WHERE, (HOSTS / "proc-open.txt").read_text())
    put(tmp_path, "usr/lib64/libnvidia-ml.so.580.95.05", "")
    host = local_host(WAYS, sick)
    assert host.driver is None
    assert "module is of driver 565.57.01, the libraries on disk of 580.95.05" in host.faults[0]


def test_a_lost_gpu_stays_in_the_list_as_one_of_which_nothing_is_known(tmp_path: Path, library: Path) -> None:
    host = asked(tmp_path, library, count="2", gpu1_handle="!15")
    assert host.gpus is not None and len(host.gpus) == 2
    assert host.gpus[1].name is None
    assert host.faults == ("GPU 1 does not answer: the GPU is lost: it fell off the bus, and a reboot brings it back",)


def test_hanging_and_crashing_libraries_end_in_a_sentence(tmp_path: Path, library: Path) -> None:
    with pytest.raises(HostError, match=r"NVML did not answer within 0\.5 seconds"):
        nvml.ask(machine(tmp_path, library, {"init": "hang"}, patience=0.5))
    with pytest.raises(HostError, match="ended by signal 6"):
        nvml.ask(machine(tmp_path, library, {"init": "crash"}))


NAMES = [
    ("bytes that are no text", os.fsdecode(b"NVIDIA \xff\xfe"), "does not tell the name"),
    ("a terminal's commands", "NVIDIA \x1b[2J", "not in the table"),
    ("JSON in the name", '"},{"a":"', "not in the table"),
    ("a name as long as it goes", "A" * 95, "not in the table"),
]


@pytest.mark.parametrize(("name", "words"), [row[1:] for row in NAMES], ids=[row[0] for row in NAMES])
def test_hostile_names_are_data(name: str, words: str, tmp_path: Path, library: Path) -> None:
    host = asked(tmp_path, library, gpu0_name=name, gpu0_cc="!3")
    assert (host.driver, len(host.gpus or ())) == ("535.183.01", 1)
    assert any(words in note for note in host.notes)


def test_a_count_out_of_all_bounds_ends(tmp_path: Path, library: Path) -> None:
    assert len(asked(tmp_path, library, count="2000000000").gpus or ()) == 256
    assert asked(tmp_path, library, count="0").gpus == ()
    assert asked(tmp_path, library, count="!999").gpus is None


def test_a_driver_version_that_is_none_is_a_sentence(tmp_path: Path, library: Path) -> None:
    with pytest.raises(HostError, match="NVML"):
        asked(tmp_path, library, driver="a driver")


def test_nvml_comes_first_and_needs_no_nvidia_smi(tmp_path: Path, library: Path) -> None:
    program(tmp_path, "nvidia-smi", "exit 1")
    host = local_host(WAYS, machine(tmp_path, library, A100))
    assert (host.driver, host.origin) == ("535.183.01", "NVML")
    assert not any("nvidia-smi" in note for note in host.notes)


def test_files_of_the_current_folder_are_not_imported(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pynvml.py", "json.py"):
        put(tmp_path, name, f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    assert asked(tmp_path, library).driver == "535.183.01"
    assert not (tmp_path / "ran").exists()


def test_without_the_binding_the_reason_is_said() -> None:
    with pytest.raises(HostError, match=r"nvidia-ml-py cannot be imported \(No module named 'pynvml'\)"):
        nvml.parse('{"binding": "No module named \'pynvml\'"}')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*"ab", "error", "text"]), inner, max_size=3)
    ),
    max_leaves=8,
)
GPU = st.dictionaries(
    st.sampled_from(["name", "uuid", "brand", "compute_capability", "memory", "mig_mode", "mig", "handle"]), JSON
)


@given(
    st.fixed_dictionaries(
        {},
        optional={"driver": JSON, "cuda": JSON, "count": JSON, "init": JSON, "gpus": JSON | st.lists(GPU, max_size=3)},
    )
    | JSON
)
def test_any_answer_is_read_or_refused_with_a_sentence(answer: object) -> None:
    try:
        nvml.parse(json.dumps(answer))
    except HostError as error:
        assert "NVML" in str(error)
