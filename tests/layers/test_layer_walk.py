"""A layer's digest, size and media type, and what the walk costs in memory."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import random
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cudacompat.errors import TargetError
from cudacompat.layers.interface import LayerBlob
from cudacompat.layers.limits import Limits
from cudacompat.layers.tar import open_layer
from cudacompat.layers.window import Window
from tests.support.tars import END, blob, folder, hardlink, long_name, member, pax, stream, symlink, walked

TAR = b"".join((folder("usr"), member("usr/a", b"a" * 1000), symlink("l", "usr"), member("usr/b", b"b"))) + END
REST = TAR + bytes(3000)
GZ = gzip.compress(TAR, mtime=0)


def digest(data: bytes, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


WRONG = digest(b"something else")


@pytest.mark.parametrize(
    "layer",
    [
        pytest.param(blob(TAR, digest=digest(TAR)), id="file by content digest"),
        pytest.param(blob(TAR, diff_id=digest(TAR)), id="file by diff ID"),
        pytest.param(stream(TAR, digest=digest(TAR)), id="stream by content digest"),
        pytest.param(stream(TAR, diff_id=digest(TAR)), id="stream by diff ID"),
        pytest.param(stream(GZ, digest=digest(GZ)), id="gzip by content digest"),
        pytest.param(stream(GZ, diff_id=digest(TAR)), id="gzip by diff ID"),
        pytest.param(blob(GZ, digest=digest(GZ)), id="gzip file by content digest"),
        pytest.param(stream(GZ, digest=digest(GZ, "sha512")), id="sha512"),
        pytest.param(stream(GZ + bytes(5000), digest=digest(GZ + bytes(5000))), id="padding counts"),
        pytest.param(stream(TAR + b"after the end", digest=digest(TAR + b"after the end")), id="rest counts"),
        pytest.param(stream(REST, 64, digest=digest(REST)), id="rest behind many pieces counts"),
        pytest.param(stream(REST, 64, diff_id=digest(REST)), id="rest counts for the diff ID"),
        pytest.param(stream(GZ + bytes(5000), 64, diff_id=digest(TAR)), id="padding does not for the diff ID"),
        pytest.param(stream(GZ), id="no digest stated"),
    ],
)
def test_a_layer_that_matches(layer: LayerBlob) -> None:
    walk = open_layer(layer)
    assert [entry.path for entry, _ in walk] == ["/usr", "/usr/a", "/l", "/usr/b"]
    assert walk.notes == []


@pytest.mark.parametrize(
    "layer",
    [
        pytest.param(blob(TAR, digest=WRONG), id="file by content digest"),
        pytest.param(blob(TAR, diff_id=WRONG), id="file by diff ID"),
        pytest.param(stream(TAR, digest=WRONG), id="stream by content digest"),
        pytest.param(stream(TAR, diff_id=WRONG), id="stream by diff ID"),
        pytest.param(stream(GZ, digest=WRONG), id="gzip by content digest"),
        pytest.param(stream(GZ, diff_id=WRONG), id="gzip by diff ID"),
        pytest.param(blob(GZ, digest=WRONG), id="gzip file by content digest"),
    ],
)
def test_a_layer_that_does_not_match(layer: LayerBlob) -> None:
    with pytest.raises(TargetError, match=rf"^Layer sha256:test does not match its digest {WRONG}\.$"):
        walked(layer)


def test_a_stream_cut_behind_the_tars_end_is_refused() -> None:
    packed = gzip.compress(TAR + random.Random(1).randbytes(5000))
    with pytest.raises(TargetError, match="truncated: its gzip data"):
        walked(stream(packed[:-4], 64))


@pytest.mark.parametrize("stated", ["sha256:abc", "md5:" + "0" * 32, "sha256:" + "G" * 64, "../../etc", ""])
def test_a_digest_that_cannot_be_checked(stated: str) -> None:
    layer = replace(stream(GZ), content_digest=stated)
    with pytest.raises(TargetError, match="which is none that can be checked"):
        walked(layer)


@pytest.mark.parametrize("layer", [blob(TAR), stream(TAR), stream(GZ)], ids=["file", "stream", "gzip"])
def test_a_layer_of_another_size(layer: LayerBlob) -> None:
    with pytest.raises(TargetError, match=r"^Layer sha256:test has \d+ bytes where 99 were stated"):
        walked(replace(layer, size=99))


def test_a_large_file_in_place_is_not_hashed_but_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudacompat.layers.tar.MAX_HASHED_IN_PLACE", 1000)
    walk = open_layer(blob(TAR, digest=WRONG))
    assert len(list(walk)) == 4
    assert walk.notes == [
        "Layer sha256:test is an uncompressed file of 0 MiB and was read in place: its digest was not checked."
    ]


@pytest.mark.parametrize(
    ("media_type", "data", "note"),
    [
        pytest.param("application/vnd.oci.image.layer.v1.tar+gzip", GZ, None, id="gzip"),
        pytest.param("application/vnd.docker.image.rootfs.diff.tar.gzip", GZ, None, id="Docker's gzip"),
        pytest.param("application/vnd.oci.image.layer.v1.tar", TAR, None, id="tar"),
        pytest.param("", GZ, None, id="nothing stated"),
        pytest.param("application/vnd.oci.image.layer.v1.tar+zstd", GZ, "gzip compressed", id="gzip called zstd"),
        pytest.param("application/vnd.oci.image.layer.v1.tar+gzip", TAR, "not compressed", id="tar called gzip"),
        pytest.param("application/vnd.oci.image.layer.v1.tar", bz2.compress(TAR), "bzip2 compressed", id="bzip2"),
    ],
)
def test_the_media_type_is_only_a_note(media_type: str, data: bytes, note: str | None) -> None:
    walk = open_layer(replace(blob(data), media_type=media_type))
    assert len(list(walk)) == 4
    expected = note and f"Layer sha256:test is labelled {media_type} but is {note}; it was read as it is."
    assert walk.notes == ([expected] if expected else [])


def test_an_encrypted_layer_is_named_as_such() -> None:
    layer = replace(blob(b"\x9a" * 1000), media_type="application/vnd.oci.image.layer.v1.tar+gzip+encrypted")
    with pytest.raises(TargetError, match=r"^Layer sha256:test is encrypted; decrypt the image first\.$"):
        walked(layer)


def test_a_window_reads_its_part_of_a_file_alone(tmp_path: object) -> None:
    with open(f"{tmp_path}/file", "w+b") as file:  # noqa: PTH123
        file.write(b"before" + TAR + b"behind")
        file.flush()
        window = Window(file.fileno(), 6, len(TAR))
        assert window.read_at(len(TAR) - 3, 10) == TAR[-3:]
        assert window.part(512, 10**9).read() == TAR[512:]
        assert (window.seek(-5, io.SEEK_END), window.read(), window.read(1)) == (len(TAR) - 5, TAR[-5:], b"")
        window.seek(0)
        layer = LayerBlob("sha256:test", "", len(TAR), window, digest(TAR))  # type: ignore[arg-type]
        assert [entry.path for entry, _ in open_layer(layer)] == ["/usr", "/usr/a", "/l", "/usr/b"]


def test_the_number_of_entries_is_bounded() -> None:
    with pytest.raises(TargetError, match=r"^Layer sha256:test has more than 10 tar members"):
        walked(blob(folder("x") * 11), Limits(entries=10))


def test_extended_headers_are_bounded() -> None:
    with pytest.raises(TargetError, match=r"^Layer sha256:test has more than 1000 bytes of extended tar headers"):
        walked(blob((pax({"comment": "x" * 300}) + member("x")) * 4), Limits(extended=1000))


def test_memory_is_flat_in_what_the_layer_unpacks_to() -> None:
    data = gzip.compress(member("big", bytes(200 << 20)) + END)
    tracemalloc.start()
    try:
        for _, content in open_layer(stream(data)):
            assert sum(len(chunk) for chunk in content.chunks()) == 200 << 20
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


PARTS = st.sampled_from(
    [
        member("usr/a", b"a" * 700),
        folder("usr"),
        symlink("l", "usr/a"),
        hardlink("h", "usr/a"),
        long_name("n" * 200) + member("cut", "d"),
        pax({"path": "p", "size": "5"}) + member("x", "12345"),
        pax({"GNU.sparse.map": "0,5,100,5", "GNU.sparse.size": "200"}) + member("s", "1234567890"),
        pax({"GNU.sparse.major": "1", "GNU.sparse.realsize": "9"})
        + member("s", b"1\n0\n5\n".ljust(512, b"\0") + b"12345"),
    ]
)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    parts=st.lists(PARTS, max_size=6),
    changes=st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 255)), max_size=6),
    cut=st.integers(0, 2000),
    packed=st.booleans(),
)
def test_mutated_layers_are_read_or_refused(
    parts: list[bytes], changes: list[tuple[int, int]], cut: int, packed: bool
) -> None:
    data = bytearray(b"".join(parts) + END)
    for at, value in changes:
        data[at % len(data)] = value
    mutated = bytes(data[: max(0, len(data) - cut)])
    mutated = gzip.compress(mutated) if packed else mutated
    results = []
    for layer in (replace(blob(mutated), size=None), replace(stream(mutated, 600), size=None)):
        try:
            results.append(sorted(walked(layer, Limits(holes=1 << 20))))
        except TargetError as error:
            assert str(error).startswith("Layer sha256:test ")
            results.append([])
    assert results[0] == results[1]


@settings(deadline=None, max_examples=200)
@given(at=st.integers(0, 511), value=st.integers(0, 255), second=st.integers(0, 511))
def test_a_changed_header_with_its_checksum_mended(at: int, value: int, second: int) -> None:
    block = bytearray(member("usr/a")[:512])
    block[at] = value
    block[second] ^= 0x80
    blank = bytes(block[:148]) + b" " * 8 + bytes(block[156:])
    block[148:156] = b"%06o\0 " % sum(blank)
    try:
        for path, *_ in walked(blob(bytes(block) + bytes(600) + END)):
            assert path.startswith("/")
            assert ".." not in path.split("/")
    except TargetError:
        pass


def test_a_file_that_fails_says_so() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= 512:
                raise OSError(5, "Input/output error")
            return super().read(size)

    layer = replace(blob(TAR), stream=Broken(TAR))
    with pytest.raises(TargetError, match=r"^Layer sha256:test could not be read: Input/output error\.$"):
        walked(layer)
