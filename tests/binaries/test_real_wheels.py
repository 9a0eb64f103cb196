"""Real libraries out of public wheels, against what cuobjdump lists and what the wheel's version says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cudacompat.binaries import read_binary, read_fatbins
from cudacompat.layers.interface import Content
from cudacompat.model import Component, Kernels, SharedLibrary
from tests.support.binaries import FIXTURES, InPlace, Streamed
from tests.support.wheels import cuobjdump, wheel_file

pytestmark = pytest.mark.wheels

ROWS = json.loads((FIXTURES.parent / "fatbin_wheels.json").read_text())["rows"]
NAMES = [f"{row['wheel']} {Path(row['path']).name}" for row in ROWS]

CUDART_11 = ("nvidia-cuda-runtime-cu11", "nvidia/cuda_runtime/lib/libcudart.so.11.0")
CUDART_12 = ("nvidia-cuda-runtime-cu12", "nvidia/cuda_runtime/lib/libcudart.so.12")
CUDART_13 = ("nvidia-cuda-runtime", "nvidia/cu13/lib/libcudart.so.13")
RUNTIMES = [
    *((*CUDART_11, version) for version in ("11.8.89",)),
    *((*CUDART_12, version) for version in ("12.4.127", "12.6.77", "12.8.90", "12.9.79")),
    *((*CUDART_13, version) for version in ("13.0.96", "13.2.75", "13.5.37")),
]
STATIC = [
    ("nvidia-nvjpeg-cu12==12.4.0.76", "nvidia/nvjpeg/lib/libnvjpeg.so.12", "12.9"),
    ("nvidia-nvjpeg==13.3.2.43", "nvidia/cu13/lib/libnvjpeg.so.13", "13.4"),
]


def read(file: Path, content: type[InPlace] | type[Streamed]) -> list[SharedLibrary | Kernels | Component]:
    data: Content = content(file.read_bytes())
    return list(read_binary(f"/site/{file.name}", data, "layer"))


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_the_device_code_that_cuobjdump_lists(row: dict[str, str]) -> None:
    file = wheel_file(row["wheel"], row["path"])
    assert hashlib.sha256(file.read_bytes()).hexdigest() == row["sha256"]
    expected = {tuple(line.split()) for line in row["code"]}
    assert read_fatbins(file) == expected
    with file.open("rb", buffering=0) as stream:
        assert read_fatbins(Forward(stream)) == expected  # type: ignore[arg-type]


class Forward:
    """A file that reads forward only."""

    def __init__(self, file: object) -> None:
        self.read = file.read  # type: ignore[attr-defined]

    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_stream_tells_the_same_as_the_file(row: dict[str, str]) -> None:
    file = wheel_file(row["wheel"], row["path"])
    found = read(file, InPlace)
    assert read(file, Streamed) == found
    assert all(part.soname and part.needed for part in found if isinstance(part, SharedLibrary))


LIVE = [row for row in ROWS if row["oracle"].endswith("13.5.37")]


@pytest.mark.parametrize("row", LIVE, ids=[f"{row['wheel']} {Path(row['path']).name}" for row in LIVE])
def test_cuobjdump_itself_agrees_on_wheels(row: dict[str, str]) -> None:
    file = wheel_file(row["wheel"], row["path"])
    listed, complaint = cuobjdump(file)
    assert "fatal" not in complaint
    assert read_fatbins(file) == listed


@pytest.mark.parametrize("name", sorted(json.loads((FIXTURES / "expected.json").read_text())))
def test_cuobjdump_itself_agrees_on_fixtures(name: str) -> None:
    listed, _ = cuobjdump(FIXTURES / name)
    assert listed == {tuple(line.split()) for line in json.loads((FIXTURES / "expected.json").read_text())[name]}
    if listed:
        assert read_fatbins(FIXTURES / name) == listed


def test_cufft_loads_most_of_its_kernels_from_plain_data() -> None:
    file = wheel_file("nvidia-cufft==12.0.0.61", "nvidia/cu13/lib/libcufft.so.12")
    assert read_fatbins(file) == {("elf", "75", "1.8")}
    assert len(read_fatbins(file, sections="all")) == 15
    (kernels,) = (part for part in read(file, InPlace) if isinstance(part, Kernels))
    assert kernels.sass == ("75", "80", "86", "87", "89", "90", "100", "110", "120")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(("wheel", "path", "version"), RUNTIMES, ids=[row[2] for row in RUNTIMES])
def test_the_shared_runtime_names_its_version(wheel: str, path: str, version: str, machine: str) -> None:
    file = wheel_file(f"{wheel}=={version}", path, machine)
    for content in (InPlace, Streamed):
        (found,) = (part for part in read(file, content) if isinstance(part, Component))
        assert (found.cuda, found.linkage) == (version.rpartition(".")[0], "dynamic")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(("wheel", "path", "cuda"), STATIC, ids=[row[0] for row in STATIC])
def test_a_static_runtime_names_its_version(wheel: str, path: str, cuda: str, machine: str) -> None:
    file = wheel_file(wheel, path, machine)
    (found,) = (part for part in read(file, InPlace) if isinstance(part, Component))
    assert (found.cuda, found.linkage) == (cuda, "static")


def test_a_library_that_loads_the_runtime_has_none_of_its_own() -> None:
    file = wheel_file("bitsandbytes==0.50.2", "bitsandbytes/libbitsandbytes_cuda124.so")
    found = read(file, InPlace)
    (library,) = (part for part in found if isinstance(part, SharedLibrary))
    assert "libcudart.so.12" in library.needed
    assert not [part for part in found if isinstance(part, Component)]
