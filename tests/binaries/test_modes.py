"""Real files cut and bent at random: a stream and a file agree, and nothing brings the reader down."""

from __future__ import annotations

import io

from hypothesis import given, settings
from hypothesis import strategies as st

from cudacompat.binaries import read_fatbins
from tests.support.binaries import ALLOC, EXEC, FIXTURES, NOTE, Elf, Part, dynamic_parts, entry, observed, region

FILES = {
    file.name: file.read_bytes()
    for file in sorted(FIXTURES.iterdir())
    if file.suffix in {".fatbin", ".cubin", ".so", ".o", ".a"}
}
SIZES = st.lists(st.one_of(st.integers(1, 200), st.integers(4000, 9000)), min_size=1, max_size=30)
EXTREMES = st.sampled_from([0, 1, 0x7F, 0x80, 0xFF, 0x50, 0xED, 0x10])


@given(name=st.sampled_from(sorted(FILES)), pieces=SIZES)
def test_however_the_stream_is_cut_the_answer_is_the_same(name: str, pieces: list[int]) -> None:
    assert observed(FILES[name], f"/x/{name}", pieces) == observed(FILES[name], f"/x/{name}")


@settings(max_examples=400)
@given(
    name=st.sampled_from(sorted(FILES)),
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), EXTREMES | st.integers(0, 255), st.integers(1, 8)), max_size=6
    ),
    keep=st.floats(0, 1),
    pieces=SIZES,
)
def test_bent_files_are_survived_and_agreed_on(
    name: str, changes: list[tuple[float, int, int]], keep: float, pieces: list[int]
) -> None:
    data = bytearray(FILES[name])
    for place, value, length in changes:
        at = int(place * len(data))
        data[at : at + length] = bytes([value]) * len(data[at : at + length])
    bent = bytes(data[: max(64, int(keep * len(data)))] if keep < 0.5 else data)
    assert observed(bent, f"/x/{name}", pieces) == observed(bent, f"/x/{name}")
    read_fatbins(io.BytesIO(bent), sections="all")


@st.composite
def headers(draw: st.DrawFn) -> bytes:
    """An ELF file in which every size and offset that a table holds may be anything."""
    anything = st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 1))
    code = region(entry(payload=draw(st.integers(0, 4096))), size=draw(st.none() | anything))
    parts = dynamic_parts(
        b"\0libcuda.so.1\0", [(draw(st.sampled_from([1, 5, 14, 15, 29])), draw(anything)) for _ in range(4)]
    )
    parts += [Part(".nv_fatbin", code), Part(".text", bytes(100), flags=ALLOC | EXEC), Part(".note.x", bytes(40), NOTE)]
    data = bytearray(Elf(parts, section_count=draw(st.none() | st.integers(0, 65535))).build())
    for _ in range(draw(st.integers(0, 5))):
        table = draw(st.sampled_from([32, 40, *range(64, 64 + 56 * 5, 8), *range(len(data) - 64 * 7, len(data), 8)]))
        data[table : table + 8] = draw(anything).to_bytes(8, "little")
    return bytes(data)


@settings(max_examples=300)
@given(data=headers(), pieces=SIZES)
def test_tables_that_lie_are_survived(data: bytes, pieces: list[int]) -> None:
    observed(data, "/usr/lib/libcuda.so.1", pieces)
    observed(data, "/usr/lib/libcuda.so.1")
