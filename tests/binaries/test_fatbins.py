"""Device code of real small files, and regions that are odd, broken or hostile."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cudacompat.binaries import read_fatbins
from cudacompat.errors import TargetError
from cudacompat.model import Kernels
from tests.support.binaries import ALLOC, EXEC, FIXTURES, NOBITS, Elf, Part, entry, observed, region

EXPECTED = {
    name: {tuple(line.split()) for line in lines}
    for name, lines in json.loads((FIXTURES / "expected.json").read_text()).items()
}
SEVERAL = EXPECTED["several-size.fatbin"]
NOT_LISTED = {
    "libembedded-data.so": SEVERAL,
    "libembedded-rodata.so": SEVERAL,
    "sm_75.cubin": {("elf", "75", "1.8")},
    "sm_90a.cubin": {("elf", "90a", "1.8")},
    "sm_100f.cubin": {("elf", "100f", "1.8")},
}
ALL = EXPECTED | NOT_LISTED
SM_80 = ("elf", "80", "1.7")


class Pipe(io.RawIOBase):
    """A file that cannot seek and hands out little at a time."""

    def __init__(self, data: bytes) -> None:
        self._rest = data

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece, self._rest = self._rest[:1000], self._rest[1000:]
        return piece


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_file_is_read_as_cuobjdump_lists_it_or_by_its_data(name: str) -> None:
    assert read_fatbins(FIXTURES / name) == ALL[name]


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_pipe_gives_the_same_as_a_file(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    assert read_fatbins(io.BytesIO(data)) == ALL[name]
    assert read_fatbins(Pipe(data)) == ALL[name]


def test_every_fixture_is_covered() -> None:
    files = {file.name for file in FIXTURES.iterdir() if file.suffix in {".fatbin", ".cubin", ".so", ".o", ".a"}}
    assert files == set(ALL)


def test_data_beside_the_device_sections_is_read_when_asked_for() -> None:
    file = FIXTURES / "libboth.so"
    assert read_fatbins(file, sections="all") == EXPECTED["libboth.so"] | SEVERAL
    assert read_fatbins(Pipe(file.read_bytes()), sections="all") == EXPECTED["libboth.so"] | SEVERAL


def test_an_open_file_is_read_from_where_it_stands() -> None:
    file = io.BytesIO(b"prefix" + (FIXTURES / "family.fatbin").read_bytes())
    file.seek(6)
    assert read_fatbins(file) == EXPECTED["family.fatbin"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="an empty file"),
        pytest.param(b"#!/bin/sh\n", id="a script"),
        pytest.param(b"\x7fELF", id="an ELF file of four bytes"),
        pytest.param(bytes(4096) + region(entry()), id="a region in a file of no known type"),
        pytest.param(b"!<arch>\n", id="an empty archive"),
    ],
)
def test_no_device_code(data: bytes) -> None:
    assert read_fatbins(io.BytesIO(data)) == set()
    assert read_fatbins(Pipe(data)) == set()


def test_a_missing_file_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"nothing\.so could not be read: No such file"):
        read_fatbins(tmp_path / "nothing.so")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(region(entry()), {SM_80}, id="one entry"),
        pytest.param(region() + region(entry()), {SM_80}, id="an empty region before the real one"),
        pytest.param(region(entry(kind=16)), {("unknown(16)", "80", "1.7")}, id="a kind that nobody knows"),
        pytest.param(region(entry(kind=1, arch=100, version=(9, 0), flags=0x200011)), {("ptx", "100f", "9.0")}, id="family PTX"),
        pytest.param(region(entry(header=0x78)), {SM_80}, id="a header with options behind it"),
        pytest.param(region(entry(), header=32), {SM_80}, id="a longer region header"),
        pytest.param(region(entry()) + bytes(24) + region(entry(arch=90)), {SM_80, ("elf", "90", "1.7")}, id="a gap between regions"),
        pytest.param(region(entry()) + b"x" * 3 + region(entry(arch=90)), {SM_80, ("elf", "90", "1.7")}, id="a region at an odd offset"),
        pytest.param(region(entry(), size=1 << 62), set(), id="a region longer than the file"),
        pytest.param(region(entry(header=63)), set(), id="an entry header that is too short"),
        pytest.param(region(entry(entry_version=0x0201)), set(), id="an entry of another version"),
        pytest.param(region(entry(arch=70000)), set(), id="a target that cannot be"),
        pytest.param(region(entry(payload=64)[:100], size=100), set(), id="an entry that leaves its region"),
        pytest.param(region(entry(), bytes(64), entry(arch=90)), {SM_80}, id="a region that breaks off keeps what came before"),
        pytest.param(region(entry(), bytes(64)) + region(entry(arch=90)), {SM_80, ("elf", "90", "1.7")}, id="the search goes on behind a break"),
        pytest.param(b"\x50\xed\x55\xba" + region(entry()), {SM_80}, id="a chance hit right before a region"),
        pytest.param(region(version=0) + region(entry()), {SM_80}, id="a region of version 0"),
    ],
)  # fmt: skip
def test_regions(data: bytes, expected: set[tuple[str, str, str]]) -> None:
    held = Elf([Part(".rodata", data)]).build()
    assert read_fatbins(io.BytesIO(held)) == expected
    raw = region() + data
    assert read_fatbins(io.BytesIO(raw)) == expected


def test_a_region_one_byte_longer_than_the_file_is_none() -> None:
    data = region() + region(entry(), size=64 + 4096 + 1)
    assert read_fatbins(io.BytesIO(data)) == set()
    assert read_fatbins(io.BytesIO(data + b"x")) == {SM_80}


def test_a_cut_anywhere_in_the_headers_loses_nothing() -> None:
    data = Elf([Part(".rodata", bytes(8192) + region(entry(), entry(arch=90)))]).build()
    at = data.index(b"\x50\xed\x55\xba")
    expected = [Kernels("/opt/app/lib.so", ("80", "90"), (), layer="sha256:layer")]
    for cut in (*range(at - 1, at + 90), at + 16 + 64 + 4096 + 3):
        assert observed(data, pieces=(cut, 4096)) == expected


@pytest.mark.parametrize(
    ("part", "found"),
    [
        pytest.param(Part(".data", region(entry()), flags=ALLOC | 1), True, id="data"),
        pytest.param(Part(".cask_resource", region(entry())), True, id="a section of a library's own"),
        pytest.param(Part(".nv_fatbin", region(entry()), flags=0), True, id="the device section, loaded or not"),
        pytest.param(Part(".text", region(entry()), flags=ALLOC | EXEC), False, id="host code"),
        pytest.param(Part(".debug_info", region(entry()), flags=0), False, id="debug information"),
        pytest.param(Part(".nv_fatbin", region(entry()), type=NOBITS), False, id="a section without bytes in the file"),
    ],
)
def test_sections(part: Part, found: bool) -> None:
    data = Elf([part]).build()
    assert read_fatbins(io.BytesIO(data)) == ({SM_80} if found else set())
    assert read_fatbins(Pipe(data)) == ({SM_80} if found else set())


def test_without_a_section_table_the_whole_file_is_searched() -> None:
    data = Elf([Part(".anything", region(entry()))], without_sections=True).build()
    assert read_fatbins(io.BytesIO(data)) == {SM_80}
    assert read_fatbins(Pipe(data)) == {SM_80}


HOSTILE = {
    "empty regions": region() * (8 << 20 >> 4),
    "accidental magics": b"\x50\xed\x55\xba" * (8 << 20 >> 2),
    "the rarest byte": b"\xed" * (8 << 20),
    "different entries": region(*(entry(arch=number % 999, version=(number >> 8, number & 255), payload=0) for number in range(60_000))),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_flood_ends_with_flat_memory(name: str, tmp_path: Path) -> None:
    file = tmp_path / "flood.so"
    file.write_bytes(Elf([Part(".rodata", HOSTILE[name])]).build())
    script = (
        "import resource, sys; from cudacompat.binaries import read_fatbins; before = resource.getrusage(0).ru_maxrss;"
        "read_fatbins(sys.argv[1]); print(resource.getrusage(0).ru_maxrss - before)"
    )
    grown = subprocess.run([sys.executable, "-c", script, file], capture_output=True, text=True, check=True).stdout
    assert int(grown) < 12 << 10
