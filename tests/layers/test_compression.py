"""Compressed streams: every codec, cut anywhere, corrupted, and blown up."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import sys
import zlib
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cudacompat.errors import TargetError
from cudacompat.layers import codecs
from cudacompat.layers.compression import PIECE, RawBytes, unpacked
from cudacompat.layers.limits import Limits
from tests.support.tars import Stream

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"".join(b"line %d of a layer\n" % n for n in range(60_000))
SKIPPABLE = b"\x5a\x2a\x4d\x18\x04\0\0\0note"
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstd": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def unpack(data: bytes, piece: int = 1 << 20, limits: Limits | None = None) -> bytes:
    raw = RawBytes(Stream(data, piece), "The layer")
    return b"".join(unpacked(raw, "The layer", limits or Limits()))


@pytest.mark.parametrize("piece", [1, 7, 5000, 1 << 20])
@pytest.mark.parametrize("codec", PACK)
def test_round_trip(codec: str, piece: int) -> None:
    text = TEXT[: 2000 * piece]
    assert unpack(PACK[codec](text), piece) == text


def test_uncompressed_bytes_pass_through() -> None:
    assert unpack(TEXT, 999) == TEXT
    assert unpack(b"") == b""
    assert unpack(b"\x1f") == b"\x1f"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(gzip.compress(TEXT[:900]) + gzip.compress(TEXT[900:]), id="two gzip members"),
        pytest.param(b"".join(gzip.compress(TEXT[n : n + 997]) for n in range(0, len(TEXT), 997)), id="many members"),
        pytest.param(gzip.compress(TEXT) + gzip.compress(b""), id="an empty gzip member at the end"),
        pytest.param(gzip.compress(TEXT) + bytes(3000), id="zero padding behind gzip"),
        pytest.param(zstd.compress(TEXT[:900]) + zstd.compress(TEXT[900:]), id="two zstd frames"),
        pytest.param(SKIPPABLE + zstd.compress(TEXT), id="a skippable zstd frame in front"),
        pytest.param(zstd.compress(TEXT) + SKIPPABLE * 3, id="skippable zstd frames behind"),
        pytest.param(zstd.compress(TEXT[:9]) + SKIPPABLE + zstd.compress(TEXT[9:]), id="a skippable frame between"),
        pytest.param(bz2.compress(TEXT[:900]) + bz2.compress(TEXT[900:]), id="two bzip2 streams"),
        pytest.param(lzma.compress(TEXT[:900]) + lzma.compress(TEXT[900:]), id="two xz streams"),
    ],
)
@pytest.mark.parametrize("piece", [11, 1 << 20])
def test_members_and_frames_are_one_stream(data: bytes, piece: int) -> None:
    assert unpack(data, piece) == TEXT


@pytest.mark.parametrize("codec", PACK)
@pytest.mark.parametrize("cut", [1, 4, 9, 100, 5000])
def test_a_truncated_stream_is_refused(codec: str, cut: int) -> None:
    data = PACK[codec](TEXT)
    with pytest.raises(TargetError, match=rf"^The layer is (truncated|corrupt): its {codec} data"):
        unpack(data[:-cut])
    with pytest.raises(TargetError, match=r"^The layer is (truncated|corrupt)"):
        unpack(data + data[:-cut], 500)


@pytest.mark.parametrize("codec", PACK)
def test_a_corrupt_stream_is_refused(codec: str) -> None:
    data = bytearray(PACK[codec](TEXT))
    middle = len(data) // 2
    data[middle : middle + 20] = bytes(20)
    with pytest.raises(TargetError, match=rf"^The layer is (corrupt|truncated): its {codec} data"):
        unpack(bytes(data))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(gzip.compress(TEXT)[:-8] + b"\1\2\3\4" + gzip.compress(TEXT)[-4:], id="wrong gzip checksum"),
        pytest.param(gzip.compress(TEXT) + b"garbage behind", id="garbage behind gzip"),
        pytest.param(zstd.compress(TEXT) + b"garbage behind", id="garbage behind zstd"),
        pytest.param(gzip.compress(TEXT) + zstd.compress(TEXT), id="another codec behind"),
    ],
)
def test_what_does_not_belong_is_refused(data: bytes) -> None:
    with pytest.raises(TargetError, match=r"^The layer is corrupt"):
        unpack(data)


@pytest.mark.parametrize("codec", PACK)
def test_pieces_stay_small_whatever_the_ratio(codec: str) -> None:
    raw = RawBytes(io.BytesIO(PACK[codec](bytes(30 << 20))), "The layer")
    sizes = [len(piece) for piece in unpacked(raw, "The layer")]
    assert sum(sizes) == 30 << 20
    assert max(sizes) <= PIECE
    assert min(sizes) > 0


@pytest.mark.parametrize("codec", PACK)
def test_bombs_stop_at_the_bounds(codec: str) -> None:
    data = PACK[codec](bytes(30 << 20))
    with pytest.raises(TargetError, match=r"^The layer unpacks to more than 100 times its size"):
        unpack(data, limits=Limits(ratio=100, ratio_from=1 << 20))
    with pytest.raises(TargetError, match=r"^The layer unpacks to more than 0.01562 GiB"):
        unpack(data, limits=Limits(unpacked=16 << 20))
    assert len(unpack(data, limits=Limits(ratio=100, ratio_from=31 << 20))) == 30 << 20


def test_a_zstd_window_beyond_our_memory_is_refused() -> None:
    options = {zstd.CompressionParameter.window_log: 30, zstd.CompressionParameter.enable_long_distance_matching: 1}
    compressor = zstd.ZstdCompressor(options=options)
    data = compressor.compress(bytes(100)) + compressor.flush()
    with pytest.raises(TargetError, match="corrupt: its zstd data"):
        unpack(data)


@pytest.mark.parametrize("codec", PACK)
def test_members_without_number_are_refused(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudacompat.layers.compression._MAX_MEMBERS", 10)
    with pytest.raises(TargetError, match=rf"^The layer is cut into more than 10 {codec} members"):
        unpack(PACK[codec](b"") * 11)
    assert unpack(PACK[codec](b"x") * 10) == b"x" * 10


def test_the_digest_covers_every_stored_byte() -> None:
    data = gzip.compress(TEXT) + bytes(1000)
    raw = RawBytes(Stream(data, 777), "The layer", "sha256")
    assert b"".join(unpacked(raw, "The layer")) == TEXT
    assert (raw.count, raw.hexdigest()) == (len(data), hashlib.sha256(data).hexdigest())


def test_a_source_that_fails_says_so() -> None:
    class Broken(io.RawIOBase):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("the connection was reset")

    with pytest.raises(TargetError, match=r"^The layer could not be read: the connection was reset\.$"):
        RawBytes(Broken(), "The layer")


@pytest.mark.parametrize("piece", [1, 13, 1 << 20])
def test_without_isal_pythons_own_zlib_does_the_same(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    _, errors = codecs.GZIP.start()
    assert errors == (zlib.error,)
    text = TEXT[: 2000 * piece]
    assert unpack(gzip.compress(text) + gzip.compress(b"end"), piece) == text + b"end"
    assert len(unpack(gzip.compress(bytes(5 << 20)))) == 5 << 20
    with pytest.raises(TargetError, match="truncated"):
        unpack(gzip.compress(text)[:-1])
    with pytest.raises(TargetError, match="corrupt"):
        unpack(gzip.compress(text)[:-8] + bytes(8))


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    codec=st.sampled_from(sorted(PACK)),
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8),
    cut=st.integers(0, 200),
)
def test_mutated_streams_are_read_or_refused(codec: str, changes: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(PACK[codec](TEXT[:40_000]))
    for at, value in changes:
        data[at % len(data)] = value
    try:
        assert len(unpack(bytes(data[: len(data) - cut]), 3000)) < 100 << 20
    except TargetError as error:
        assert str(error).startswith("The layer ")
