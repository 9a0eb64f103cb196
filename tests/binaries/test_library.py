"""What the loader and the container stack read in a library: names, paths, the forward compatibility note."""

from __future__ import annotations

import json
import struct

import pytest

from cudacompat.model import SharedLibrary
from tests.support.binaries import (
    AARCH64,
    FIXTURES,
    NOBITS,
    NOTE,
    PROGBITS,
    X86_64,
    Elf,
    Part,
    both_ways,
    dynamic_parts,
    entry,
    region,
)

PATH = "/usr/local/cuda-12.9/compat/libcuda.so.575.57.08"
STRINGS = b"\0libcuda.so.1\0libcudart.so.12\0libc.so.6\0$ORIGIN/../lib::/opt/lib\0"
NEEDED, SONAME, RPATH, RUNPATH = 1, 14, 15, 29
AT = {text: STRINGS.index(text.encode()) for text in ("libcuda.so.1", "libcudart.so.12", "libc.so.6", "$ORIGIN")}
JSON = json.dumps({"Format": 1, "CUDA Version": "12.9", "Driver": [535, 550], "Device": [1, 2]})
NOTE_NAME = ".note.cuda.fwd_compatibility"


def library(data: bytes, path: str = PATH) -> SharedLibrary | None:
    found = [part for part in both_ways(data, path) if isinstance(part, SharedLibrary)]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("machine", [X86_64, AARCH64])
@pytest.mark.parametrize(
    "strings_first", [True, False], ids=["strings before", "strings behind, as patchelf puts them"]
)
@pytest.mark.parametrize("apart", [0, 40_000, 3 << 20], ids=["close together", "some pieces apart", "3 MiB apart"])
@pytest.mark.parametrize("head", [32 << 20, 1], ids=["all of the head kept", "one piece kept"])
def test_names_and_paths(
    machine: int, strings_first: bool, apart: int, head: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cudacompat.binaries.kept._HEAD", head)
    entries = [
        (SONAME, AT["libcuda.so.1"]),
        (NEEDED, AT["libcudart.so.12"]),
        (NEEDED, AT["libc.so.6"]),
        (RUNPATH, AT["$ORIGIN"]),
    ]
    between = [Part(".data", bytes(apart))]
    parts = dynamic_parts(STRINGS, entries, strings_first=strings_first, between=between)
    if not strings_first:
        parts = [Part(".before", bytes(3 << 20)), *parts, Part(".after", bytes(1 << 20))]
    found = library(Elf(parts, machine).build())
    assert found is not None
    assert (found.soname, found.needed) == ("libcuda.so.1", ("libcudart.so.12", "libc.so.6"))
    assert (found.rpath, found.runpath) == ((), ("$ORIGIN/../lib", "/opt/lib"))
    assert found.machine == ("x86_64" if machine == X86_64 else "aarch64")
    assert (found.version, found.layer) == ("575.57.08", "sha256:layer")


def test_a_real_linker_s_library() -> None:
    data = (FIXTURES / "libkernel.so").read_bytes()
    found = library(data, "/opt/lib/libnvkernel.so")
    assert found is not None
    assert (found.soname, found.needed, found.rpath) == ("libkernel.so.1", (), ())
    assert found.runpath == ("$ORIGIN/../lib", "/opt/lib")
    assert (found.version, found.size) == (None, len(data))


@pytest.mark.parametrize(
    ("path", "needed", "expected"),
    [
        ("/usr/lib/libcuda.so.1", "libc.so.6", True),
        ("/usr/lib/libnvidia-ptxjitcompiler.so.535.104.05", "libc.so.6", True),
        ("/usr/lib/libcudart.so.12", "libc.so.6", True),
        ("/site/torchvision.libs/libnvjpeg.36e11081.so.13", "libc.so.6", True),
        ("/usr/lib/libcudnn_ops.so.9", "libc.so.6", True),
        ("/opt/app/plugin.so", "libcudart.so.12", True),
        ("/opt/app/plugin.so", "libcuda.so.1", True),
        ("/opt/app/plugin.so", "libcublasLt.so.12", True),
        ("/opt/app/tool", "libcudart-d0da41ae.so.11.0", True),
        ("/usr/lib/libcurl.so.4", "libc.so.6", False),
        ("/usr/lib/libcups.so.2", "libc.so.6", False),
        ("/opt/app/plugin.so", "libcudatum.so.1", False),
        ("/opt/app/libcuda.so.txt.gz", "libc.so.6", False),
    ],
)
def test_which_files_are_libraries_of_interest(path: str, needed: str, expected: bool) -> None:
    data = Elf(dynamic_parts(b"\0" + needed.encode() + b"\0", [(NEEDED, 1)])).build()
    assert (library(data, path) is not None) == expected


@pytest.mark.parametrize("data", [b"", b"not a library\n"], ids=["empty", "text"])
def test_a_driver_library_that_is_no_elf_file_is_still_reported(data: bytes) -> None:
    assert library(data) == SharedLibrary(PATH, version="575.57.08", size=len(data), layer="sha256:layer")


def note(text: str = JSON, owner: bytes = b"NVIDIA Corporation\0", desc_at: int = 32) -> bytes:
    head = struct.pack("<III", len(owner), len(text), 1) + owner
    return head.ljust(desc_at, b"\0") + text.encode() + bytes(-len(text) % 8)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param(Part(NOTE_NAME, note(), NOTE, align=4), JSON, id="padded to 4 bytes"),
        pytest.param(Part(NOTE_NAME, note(), NOTE, align=8), JSON, id="padded to 8 bytes, header and name together"),
        pytest.param(Part(NOTE_NAME, note(desc_at=36), NOTE, align=8), JSON, id="padded to 8 bytes, the name alone"),
        pytest.param(Part(NOTE_NAME, note(JSON + "\0\0"), NOTE, align=4), JSON, id="a text with its padding counted"),
        pytest.param(Part(NOTE_NAME, note(), NOTE, flags=0, align=4), JSON, id="a note that is not loaded"),
        pytest.param(Part(".note.other", note(), NOTE, align=4), None, id="another section"),
        pytest.param(Part(NOTE_NAME, note(), PROGBITS, align=4), None, id="no note section"),
        pytest.param(Part(NOTE_NAME, note(owner=b"GNU\0"), NOTE, align=4), None, id="another owner"),
        pytest.param(Part(NOTE_NAME, note("{broken"), NOTE, align=4), None, id="broken JSON"),
        pytest.param(Part(NOTE_NAME, note("[1]"), NOTE, align=4), None, id="JSON of another shape"),
        pytest.param(Part(NOTE_NAME, note("[" * 60_000), NOTE, align=4), None, id="JSON without a bottom"),
        pytest.param(Part(NOTE_NAME, note()[:40], NOTE, align=4), None, id="a note that breaks off"),
        pytest.param(Part(NOTE_NAME, b"\xff" * 64, NOTE, align=4), None, id="sizes beyond all bounds"),
        pytest.param(Part(NOTE_NAME, note(), NOBITS, align=4), None, id="no bytes in the file"),
    ],
)
def test_the_forward_compatibility_note(part: Part, expected: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudacompat.binaries.kept._HEAD", 1)
    for filling in (0, 50_000, 1 << 20):
        before = [Part(".before", bytes(filling))] if part.flags else []
        found = library(Elf([*before, part, Part(".data", bytes(filling))]).build())
        assert found is not None
        assert found.compat_note == expected


def with_count(count: int, first: bytes = bytes(64), names: int | None = None) -> bytes:
    parts = [Part(NOTE_NAME, note(), NOTE, align=4), Part(".nv_fatbin", region(entry()))]
    return Elf(parts, section_count=count, first_section=first, names_index=names).build()


def section_zero(count: int = 0, link: int = 0) -> bytes:
    return struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, count, link, 0, 0, 0)


@pytest.mark.parametrize(
    ("data", "read"),
    [
        pytest.param(with_count(4), True, id="as it should be"),
        pytest.param(with_count(0, section_zero(4)), True, id="the count in section 0"),
        pytest.param(with_count(4, section_zero(link=3), names=0xFFFF), True, id="the names' index in section 0"),
        pytest.param(with_count(0, section_zero(10**9)), False, id="a thousand million sections"),
        pytest.param(with_count(0), False, id="no section at all"),
        pytest.param(with_count(60_000), False, id="more sections than the file has room for"),
        pytest.param(with_count(4, names=9), False, id="names in a section that is not there"),
        pytest.param(with_count(4, section_zero(link=1 << 31), names=0xFFFF), False, id="names beyond all bounds"),
        pytest.param(with_count(4)[:-64], False, id="a table cut off"),
    ],
)
def test_section_tables(data: bytes, read: bool) -> None:
    found = library(data)
    assert found is not None
    assert (found.compat_note is not None) == read


@pytest.mark.parametrize(
    ("strings", "entries"),
    [
        pytest.param(STRINGS, [(SONAME, 1 << 63)], id="a name far outside"),
        pytest.param(b"\0libcuda.so.1xyz", [(SONAME, 1)], id="a name without an end"),
        pytest.param(b"x" * 9000 + b"\0", [(SONAME, 0)], id="a name of 9000 bytes"),
        pytest.param(STRINGS, [(NEEDED, 1 << 20 | 1)] * 3000, id="thousands of names outside"),
        pytest.param(b"", [(SONAME, 1)], id="no strings at all"),
    ],
)
def test_dynamic_sections_that_lie(strings: bytes, entries: list[tuple[int, int]]) -> None:
    parts = dynamic_parts(strings, entries, strings_first=False)
    parts.append(Part(".data", b"\xff" * 9000))
    found = library(Elf(parts).build())
    assert found is not None
    assert (found.soname, found.needed) == (None, ())


@pytest.mark.parametrize(
    ("start", "machine"),
    [
        (b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HH", 3, 3), "i386"),
        (b"\x7fELF\x02\x02\x01" + bytes(9) + struct.pack(">HH", 3, 21), "ppc64"),
        (b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HH", 3, 40), "arm"),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, 4242), "machine-4242"),
    ],
)
def test_other_machines_are_named_and_no_more(start: bytes, machine: str) -> None:
    found = library(start + bytes(4096))
    assert found is not None
    assert (found.machine, found.soname, found.needed) == (machine, None, ())
