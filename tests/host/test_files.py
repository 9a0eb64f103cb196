"""``--host FILE``: every form that people save a host's facts in, and every way it can be broken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.errors import HostError
from cudacompat.host import HostOptions, host_json, with_options
from cudacompat.host.file import FORMATS, read_host_file
from cudacompat.host.options import with_driver_cuda
from cudacompat.model import Gpu, HostFacts
from cudacompat.model.host import INJECTIONS
from cudacompat.report.document import HOST_SCHEMA, host_document
from cudacompat.report.json import text

HOSTS = Path(__file__).parent.parent / "data" / "hosts"
A100 = "NVIDIA A100-SXM4-80GB"
ROWS = [
    ("a100.xml", "535.183.01", "12.2", "linux", [A100, A100], ("nvidia",)),
    ("windows.xml", "560.94", "12.6", "wsl2", ["NVIDIA GeForce RTX 4090"], ("geforce",)),
    ("user-mode.xml", "610.57.04", "13.3", "linux", ["NVIDIA GeForce RTX 5060"], ("geforce",)),
    ("table.txt", "535.183.01", "12.2", "linux", [A100, A100], None),
    ("new-table.txt", "610.57.04", "13.3", "linux", ["NVIDIA GeForce RTX 5060"], None),
    ("query.txt", "550.127.05", "12.4", "linux", ["NVIDIA RTX A6000"], None),
    ("query.csv", "535.183.01", "12.2", "linux", [A100, A100], None),
    ("proc-version.txt", "535.183.01", "12.2", "linux", None, None),
    ("proc-open.txt", "565.57.01", "12.7", "linux", None, None),
]


@pytest.mark.parametrize(("name", "driver", "cuda", "os", "gpus", "brands"), ROWS, ids=[row[0] for row in ROWS])
def test_form(
    name: str, driver: str, cuda: str, os: str, gpus: list[str] | None, brands: tuple[str, ...] | None
) -> None:
    host = read_host_file(HOSTS / name)
    assert (host.driver, host.driver_cuda, host.os, host.notes) == (driver, cuda, os, ())
    assert (None if host.gpus is None else [gpu.name for gpu in host.gpus]) == gpus
    assert host.origin == str(HOSTS / name)
    for gpu in host.gpus or ():
        assert gpu.compute_capability and gpu.architecture
        assert gpu.brands == brands if brands else len(gpu.brands) > 0


def test_powershell_writes_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "host.xml"
    path.write_bytes((HOSTS / "windows.xml").read_text().encode("utf-16"))
    assert read_host_file(path).driver == "560.94"


FACTS = [
    HostFacts(),
    HostFacts("535.183.01", "12.2", "linux", "amd64", (), "cdi", "1.18.1", "29.2.0", notes=("a note",)),
    with_options(HostOptions(driver="535.183.01", gpus=("A100", "RTX 4090"), injection="legacy", toolkit="1.17.8")),
    HostFacts(
        "540.4.0",
        "12.6",
        "jetson",
        "arm64",
        (Gpu("Orin (nvgpu)", "8.7", ("nvidia",), "GPU-7", True, "Ampere", ("1g",)),),
    ),
    HostFacts("560.94", "12.6", "wsl2", gpus=(Gpu(None, "8.9"), Gpu())),
    HostFacts(
        gpus=(
            Gpu("NVIDIA A100", "8.0", (), "GPU-1", None, None, ("MIG-1", "MIG-2"), ("1g.10gb", "2g.20gb"), True, 81920),
        ),
        details=("Docker's default runtime is runc",),
    ),
]


@pytest.mark.parametrize("host", FACTS)
def test_our_own_json_comes_back_as_it_was(host: HostFacts, tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    path.write_text(json.dumps(host_document(host)))
    assert read_host_file(path) == replace(host, origin=str(path))
    path.write_text(json.dumps({"schema": "cudacompat/report/v1", "host": host_document(host)}))
    assert read_host_file(path) == replace(host, origin=str(path))


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
TEXTS = st.lists(WORDS, max_size=3).map(tuple)
GPUS = st.builds(
    Gpu,
    name=st.none() | WORDS,
    compute_capability=st.none() | st.sampled_from(["7.5", "8.0", "9.0", "12.0"]),
    brands=TEXTS,
    uuid=st.none() | WORDS,
    forward_compat=st.none() | st.booleans(),
    architecture=st.none() | st.sampled_from(["Ampere", "Hopper"]),
    mig=TEXTS,
    mig_profiles=TEXTS,
    mig_enabled=st.none() | st.booleans(),
    memory_mib=st.none() | st.integers(0, 10**6),
)
HOST_FACTS = st.builds(
    HostFacts,
    driver=st.none() | st.sampled_from(["535", "535.183.01", "560.94", "1000.1"]),
    driver_cuda=st.none() | st.sampled_from(["12.2", "13.0"]),
    os=st.sampled_from(["linux", "wsl2", "jetson"]),
    machine=st.sampled_from([None, "amd64", "arm64"]),
    gpus=st.none() | st.lists(GPUS, max_size=3).map(tuple),
    injection=st.sampled_from([None, *INJECTIONS]),
    toolkit=st.sampled_from([None, "1.17.8"]),
    docker=st.sampled_from([None, "29.2.0"]),
    notes=TEXTS,
    details=TEXTS,
    faults=TEXTS,
).map(with_driver_cuda)


@given(HOST_FACTS)
def test_whatever_a_host_tells_comes_back_from_its_json(host: HostFacts) -> None:
    written = text({"schema": HOST_SCHEMA, **host_document(host)})
    assert host_json.matches(written)
    assert host_json.parse(written, host.origin) == host


CSV = [
    ("fields in another order", "uuid, compute_cap, name, driver_version\n{uuid}, 8.0, {a100}, 535.183.01\n", "8.0"),
    ("units and more fields", "name, memory.total [MiB], driver_version\n{a100}, 81920 MiB, 535.183.01\n", "8.0"),
    ("no units", "driver_version,name,memory.total [MiB],mig.mode.current\n535.183.01,{a100},81920,Disabled\n", "8.0"),
    ("no heading", "535.183.01, {a100}, 8.0\n535.183.01, {a100}, 8.0\n", "8.0"),
    ("no heading, another order, a board of the future", "NVIDIA Z999, 99.9, 535.183.01, 9.0\n", "9.0"),
    ("no heading, the driver alone", "535.183.01\n535.183.01\n", None),
    ("no heading, power between", "{a100}, 400.00 W, 535.183.01, 61.23 W\n", "8.0"),
]


@pytest.mark.parametrize(("form", "capability"), [row[1:] for row in CSV], ids=[row[0] for row in CSV])
def test_csv(form: str, capability: str | None, tmp_path: Path) -> None:
    path = tmp_path / "host.csv"
    path.write_text(form.format(a100=A100, uuid="GPU-00000000-0000-0000-0000-000000000001"))
    host = read_host_file(path)
    assert (host.driver, host.driver_cuda) == ("535.183.01", "12.2")
    assert (host.gpus[0].compute_capability if host.gpus else None) == capability
    if "81920" in form:
        assert host.gpus and host.gpus[0].memory_mib == 81920


def test_csv_whose_numbers_may_be_anything_is_not_guessed_at(tmp_path: Path) -> None:
    """Without heading and units a power limit looks like a driver of two parts."""
    path = tmp_path / "host.csv"
    path.write_text(f"{A100}, 450.00\n")
    assert read_host_file(path).driver is None
    path.write_text("400.00, 450.00\n")
    with pytest.raises(HostError, match="no known form"):
        read_host_file(path)


def test_list_of_gpus_and_instances() -> None:
    host = read_host_file(HOSTS / "list-mig.txt")
    assert host.driver is None and host.gpus is not None
    assert [len(gpu.mig) for gpu in host.gpus] == [2, 0]
    assert host.gpus[0].compute_capability == "8.0"


def test_release_file_of_a_jetson(tmp_path: Path) -> None:
    path = tmp_path / "nv_tegra_release"
    path.write_text("# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n")
    host = read_host_file(path)
    assert (host.os, host.driver_cuda, host.machine) == ("jetson", "12.6", "arm64")


def test_json_written_by_hand_is_filled_up_from_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    path.write_text(
        '{"driver": "535.183.01", "gpus": ["A100", {"name": "RTX 4090"}, {"compute_capability": "9.0"}], "drivr": 1}'
    )
    host = read_host_file(path)
    assert host.driver_cuda == "12.2"
    assert [gpu.compute_capability for gpu in host.gpus or ()] == ["8.0", "8.9", "9.0"]
    assert (host.gpus or ())[1].brands
    assert "drivr" in host.notes[0]


BROKEN = [
    ("an unknown form", b"hello", "no known form"),
    ("nothing", b"", "no known form"),
    ("bytes", b"\xff\x00\x80", "not text"),
    ("cut JSON", b'{"driver": ', "not JSON"),
    ("a list as host", b'{"host": []}', "no object"),
    ("a number as driver", b'{"driver": 535.1}', "text in quotes"),
    ("a driver that is none", b'{"driver": "latest"}', "driver version"),
    ("an unknown GPU", b'{"gpus": ["Voodoo 2"]}', "not in the table"),
    ("a GPU without facts", b'{"gpus": [{}]}', "neither 'name' nor 'compute_capability'"),
    ("gpus as text", b'{"gpus": "A100"}', "must be a list"),
    ("an unknown mode", b'{"injection": "magic"}', "expected one of"),
    ("deep JSON", b'{"a":' * 100_000, "not JSON"),
    ("cut XML", b"<nvidia_smi_log><driver_version>535.1.1</driver_version>", "broken"),
    ("XML without a driver", b"<nvidia_smi_log></nvidia_smi_log>", "no driver version"),
    ("XML with a bomb", b'<!DOCTYPE x [<!ENTITY a "aaaa">]><nvidia_smi_log>&a;</nvidia_smi_log>', "entities"),
    ("CSV with a short line", b"driver_version, name\n535.1.1", "number of fields"),
    ("CSV of two hosts", b"driver_version\n535.1.1\n550.1.1", "several drivers"),
    ("a module without a version", b"NVRM version: none", "no driver version"),
]


@pytest.mark.parametrize(("data", "words"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_broken_file_is_one_sentence(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "host"
    path.write_bytes(data)
    with pytest.raises(HostError, match=words) as caught:
        read_host_file(path)
    assert str(path) in str(caught.value)


def test_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="No such file"):
        read_host_file(tmp_path / "gone")


@given(
    st.text(),
    st.sampled_from(range(len(FORMATS))),
    st.sampled_from(
        [
            "{",
            "<nvidia_smi_log>",
            "NVRM version:",
            "driver_version\n",
            "Driver Version: 535.1",
            "GPU 0: X (UUID: GPU-1)\n",
            "# R36 (release), REVISION: 4.3",
            "535.183.01, ",
        ]
    ),
)
def test_any_text_is_read_or_refused_with_a_sentence(given: str, index: int, start: str) -> None:
    """No parser raises anything but its own error, whatever it is given."""
    for candidate in (given, start + given):
        FORMATS[index].matches(candidate)
        if FORMATS[index].matches(candidate):
            try:
                FORMATS[index].parse(candidate, "here")
            except HostError as error:
                assert "here" in str(error)
