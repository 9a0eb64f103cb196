"""A file's kernels as the prediction uses them: sorted, and marked where they decide nothing."""

from __future__ import annotations

import pytest

from cudacompat.binaries import read_binary
from cudacompat.model import Kernels, Ptx
from tests.support.binaries import (
    ALLOC,
    EXEC,
    FIXTURES,
    Elf,
    InPlace,
    Part,
    Streamed,
    both_ways,
    entry,
    region,
)

LIB = "/opt/app/lib.so"


def kernels(data: bytes, path: str = LIB) -> Kernels | None:
    found = [part for part in both_ways(data, path) if isinstance(part, Kernels)]
    assert len(found) <= 1
    return found[0] if found else None


def test_targets_are_sorted_by_number_and_each_is_named_once() -> None:
    arches = [(100, 0x200011), (90, 0x100011), (90, 0x11), (75, 0x11), (120, 0x11), (90, 0x100011)]
    ptx = [(90, (8, 10)), (90, (8, 4)), (75, (8, 4))]
    entries = [entry(arch=arch, flags=flags) for arch, flags in arches]
    entries += [entry(kind=1, arch=arch, version=version) for arch, version in ptx]
    found = kernels(Elf([Part(".nv_fatbin", region(*entries))]).build())
    assert found == Kernels(
        LIB,
        ("75", "90", "90a", "100f", "120"),
        (Ptx("75", "8.4"), Ptx("90", "8.4"), Ptx("90", "8.10")),
        layer="sha256:layer",
    )


@pytest.mark.parametrize(
    ("name", "path", "decides"),
    [
        ("libkernel.so", LIB, True),
        ("liblinked.so", LIB, True),
        ("several-size.fatbin", "/opt/app/kernels.fatbin", True),
        ("libembedded-rodata.so", LIB, True),
        ("libembedded-data.so", LIB, True),
        ("librelocatable.so", LIB, False),
        ("kernel.o", "/opt/app/kernel.o", False),
        ("library.a", "/usr/local/cuda/lib64/libcudadevrt.a", False),
        ("sm_90a.cubin", "/opt/app/kernel.cubin", False),
        ("libkernel.so", "/usr/local/cuda/extras/CUPTI/lib64/libprofile.so", False),
        ("libkernel.so", "/site/nvidia/cuda_cupti/lib/libcupti.so.12", False),
        ("libkernel.so", "/site/nvidia/cu13/lib/libnvperf_host.so", False),
        ("libkernel.so", "/usr/local/cuda/compute-sanitizer/libsanitizer-public.so", False),
        ("libkernel.so", "/opt/nvidia/nsight-compute/2025.3.0/target/tool", False),
    ],
)
def test_which_kernels_decide(name: str, path: str, decides: bool) -> None:
    found = kernels((FIXTURES / name).read_bytes(), path)
    assert found is not None
    assert found.decides is decides


def test_linked_and_relocatable_code_count_together() -> None:
    parts = [
        Part(".nv_fatbin", region(entry(arch=80))),
        Part("__nv_relfatbin", region(entry(kind=1, arch=80, version=(9, 0)))),
    ]
    found = kernels(Elf(parts).build())
    assert found is not None
    assert (found.sass, found.ptx, found.decides) == (("80",), (Ptx("80", "9.0"),), True)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param((FIXTURES / "no-kernel.fatbin").read_bytes(), id="what an empty source file leaves"),
        pytest.param((FIXTURES / "lto.o").read_bytes(), id="intermediate code alone"),
        pytest.param(
            Elf([Part(".nv_fatbin", region(entry(payload=1256)))]).build(), id="a cubin too small for a kernel"
        ),
        pytest.param(
            Elf([Part(".nv_fatbin", region(entry(payload=600, unpacked=1256)))]).build(), id="the same, compressed"
        ),
        pytest.param(Elf([Part(".text", bytes(64), flags=ALLOC | EXEC)]).build(), id="host code alone"),
        pytest.param(b"text", id="no binary"),
    ],
)
def test_no_kernels(data: bytes) -> None:
    assert kernels(data) is None


def test_a_large_compressed_cubin_counts_by_its_unpacked_size() -> None:
    found = kernels(Elf([Part(".nv_fatbin", region(entry(payload=600, unpacked=4000)))]).build())
    assert found is not None


def test_payloads_are_not_read_where_the_file_can_seek() -> None:
    payload = 4 << 20
    content = InPlace(
        Elf([Part(".nv_fatbin", region(*[entry(arch=arch, payload=payload) for arch in (75, 80, 90)]))]).build()
    )
    found = list(read_binary("/opt/app/lib.so", content, "layer"))
    assert [part.sass for part in found if isinstance(part, Kernels)] == [("75", "80", "90")]
    assert content.taken < 200_000


def test_another_kind_of_file_costs_its_first_piece() -> None:
    pieces = iter(Streamed(bytes(1 << 20), (4096,)).chunks())

    class Counted(Streamed):
        def chunks(self):  # type: ignore[no-untyped-def]
            return pieces

    assert list(read_binary("/opt/data.bin", Counted(bytes(1 << 20)), "layer")) == []
    assert len(list(pieces)) == 255
