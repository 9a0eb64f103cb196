"""The CUDA runtime's version in machine code: what counts, what does not, wherever the bytes are cut."""

from __future__ import annotations

import struct

import pytest

from cudacompat.model import Component
from tests.support.binaries import AARCH64, ALLOC, EXEC, PROGBITS, X86_64, Elf, Part, both_ways, dynamic_parts, observed


def x86(version: int) -> bytes:
    """test rdi, rdi; je; movl $version, (%rdi); xor eax, eax; ret."""
    return b"\x48\x85\xff\x74\x0b\xc7\x07" + struct.pack("<I", version) + b"\x31\xc0\xc3\x66\x90"


def arm(version: int) -> bytes:
    """movz w2, #version; movz w0, #0; str w2, [x1]; ret."""
    return struct.pack("<IIII", 0x52800002 | version << 5, 0x52800000, 0xB9000022, 0xD65F03C0)


def library(*functions: bytes, machine: int = X86_64, needed: str = "libc.so.6", flags: int = ALLOC | EXEC) -> bytes:
    filling = b"\x90" * 96
    text = Part(".text", filling + filling.join(functions) + filling, PROGBITS, flags, align=16)
    strings = b"\0" + needed.encode() + b"\0"
    return Elf(dynamic_parts(strings, [(1, 1)], between=[text]), machine).build()


def runtimes(data: bytes, path: str = "/opt/app/module.so") -> list[tuple[str | None, str | None]]:
    return [(part.cuda, part.linkage) for part in both_ways(data, path) if isinstance(part, Component)]


@pytest.mark.parametrize(
    ("functions", "machine", "expected"),
    [
        pytest.param([x86(12040)] * 2, X86_64, ["12.4"], id="twice on x86-64"),
        pytest.param([arm(12040)] * 2, AARCH64, ["12.4"], id="twice on aarch64"),
        pytest.param([x86(12040)], X86_64, [], id="once is some library's own version"),
        pytest.param([arm(12040)], AARCH64, [], id="once on aarch64"),
        pytest.param([x86(16390)] * 2, X86_64, [], id="no toolkit has this version"),
        pytest.param([arm(1)] * 2, AARCH64, [], id="a small number on aarch64"),
        pytest.param([x86(13000), x86(12000), x86(13000)], X86_64, ["13.0"], id="a single one beside a pair"),
        pytest.param([x86(12040), x86(13000)] * 2, X86_64, ["13.0", "12.4"], id="two copies, the newest first"),
        pytest.param([arm(12040)] * 2, X86_64, [], id="aarch64 code in an x86-64 file"),
        pytest.param([x86(12040)] * 2, AARCH64, [], id="x86-64 code in an aarch64 file"),
        pytest.param([x86(12040)] * 2, 21, [], id="a machine without CUDA's encoding known"),
    ],
)
def test_versions(functions: list[bytes], machine: int, expected: list[str]) -> None:
    assert runtimes(library(*functions, machine=machine)) == [(cuda, "static") for cuda in expected]


@pytest.mark.parametrize(
    ("path", "linkage"),
    [
        ("/usr/local/cuda/lib64/libcudart.so.12.4.127", "dynamic"),
        ("/usr/lib/libcudart.so", "dynamic"),
        ("/site/torchvision.libs/libcudart.faf08d9a.so.13", "dynamic"),
        ("/site/pkg.libs/libcudart-d0da41ae.so.11.0", "dynamic"),
        ("/usr/lib/libnccl.so.2", "static"),
        ("/opt/app/libcudart_plugin.so", "static"),
    ],
)
def test_linkage_by_name(path: str, linkage: str) -> None:
    assert runtimes(library(x86(12040), x86(12040)), path) == [("12.4", linkage)]


def test_a_file_that_loads_libcudart_has_no_copy_of_its_own() -> None:
    assert runtimes(library(x86(12040), x86(12040), needed="libcudart.so.12")) == []


def test_data_that_looks_like_code_does_not_count() -> None:
    assert runtimes(library(x86(12040), x86(12040), flags=ALLOC)) == []


@pytest.mark.parametrize(
    ("machine", "function"), [(X86_64, x86(12090)), (AARCH64, arm(12090))], ids=["x86_64", "aarch64"]
)
def test_a_cut_between_pieces_loses_and_doubles_nothing(machine: int, function: bytes) -> None:
    data = library(bytes(8192), function, bytes(8192), function, machine=machine)
    single = library(bytes(8192), function, bytes(8192), machine=machine)
    at = data.index(function)
    for cut in range(at - 2, at + len(function) + 3):
        pieces = (cut, 4096)
        assert [part.cuda for part in observed(data, pieces=pieces) if isinstance(part, Component)] == ["12.9"]
        assert [part for part in observed(single, pieces=pieces) if isinstance(part, Component)] == []


def test_the_evidence_says_where() -> None:
    (part,) = (part for part in both_ways(library(x86(11080), x86(11080))) if isinstance(part, Component))
    assert (part.name, part.found_by, part.version) == ("cudart", "machine-code", None)
    assert (part.evidence.kind, part.evidence.where, part.evidence.layer) == ("elf", "/opt/app/lib.so", "sha256:layer")
    assert "11.8" in part.evidence.value
