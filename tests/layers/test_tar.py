"""Every form of tar that builders write, from a stream and from a file, with the same result."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from cudacompat.errors import TargetError
from cudacompat.layers.interface import LayerBlob
from cudacompat.layers.limits import Limits
from cudacompat.layers.tar import open_layer
from tests.support.tars import (
    END,
    blob,
    folder,
    hardlink,
    header,
    long_name,
    member,
    padded,
    pax,
    stream,
    symlink,
    walked,
    with_checksum,
)

BIG = 8 * 8**11  # one more than eleven octal digits hold
LONG = "d/" * 90 + "file"
GNU = {"magic": b"ustar  \0"}


def base256(value: int) -> bytes:
    return b"\x80" + value.to_bytes(11, "big")


FORMS = [
    pytest.param(member("usr/lib/x", "data"), [("/usr/lib/x", "file", None, b"data")], id="plain file"),
    pytest.param(member("./usr/x", "data"), [("/usr/x", "file", None, b"data")], id="leading dot"),
    pytest.param(member("/usr/x", "data"), [("/usr/x", "file", None, b"data")], id="leading slash"),
    pytest.param(member("a//b/./c", "d"), [("/a/b/c", "file", None, b"d")], id="doubled slash and dot"),
    pytest.param(member("../../etc/x", "d"), [("/etc/x", "file", None, b"d")], id="dots above the root"),
    pytest.param(member("a/../../b", "d"), [("/b", "file", None, b"d")], id="dots through the root"),
    pytest.param(folder("./"), [("/", "dir", None, b"")], id="the root"),
    pytest.param(folder("usr/lib/"), [("/usr/lib", "dir", None, b"")], id="folder"),
    pytest.param(member("empty"), [("/empty", "file", None, b"")], id="empty file"),
    pytest.param(member("b", b"x" * 512), [("/b", "file", None, b"x" * 512)], id="exactly one block"),
    pytest.param(member("b", b"x" * 513), [("/b", "file", None, b"x" * 513)], id="one byte more than a block"),
    pytest.param(header("old", 3, b"\0") + padded(b"abc"), [("/old", "file", None, b"abc")], id="type NUL"),
    pytest.param(header("old/", 0, b"\0"), [("/old", "dir", None, b"")], id="type NUL with a slash is a folder"),
    pytest.param(member("c", "abc", b"7"), [("/c", "file", None, b"abc")], id="contiguous file"),
    pytest.param(symlink("lib", "usr/lib"), [("/lib", "symlink", "usr/lib", b"")], id="symlink target as written"),
    pytest.param(symlink("l", "../../x"), [("/l", "symlink", "../../x", b"")], id="symlink out of the root"),
    pytest.param(hardlink("h", "./usr/x"), [("/h", "hardlink", "/usr/x", b"")], id="hard link target normalised"),
    pytest.param(
        header("h", 100, b"1", "x") + member("after", "d"),
        [("/h", "hardlink", "/x", b""), ("/after", "file", None, b"d")],
        id="a hard link has no data whatever its size says",
    ),
    pytest.param(header("fifo", 0, b"6"), [("/fifo", "other", None, b"")], id="fifo"),
    pytest.param(header("null", 0, b"3"), [("/null", "other", None, b"")], id="device"),
    pytest.param(
        member("x", "abc", b"Z") + member("after", "d"),
        [("/x", "other", None, b""), ("/after", "file", None, b"d")],
        id="an unknown type's data is passed over",
    ),
    pytest.param(
        header("name", 1, prefix=b"usr/share") + padded(b"d"), [("/usr/share/name", "file", None, b"d")], id="prefix"
    ),
    pytest.param(
        header("name", 1, tail=b"not a prefix", **GNU) + padded(b"d"),
        [("/name", "file", None, b"d")],
        id="GNU's format has no prefix",
    ),
    pytest.param(long_name(LONG) + member("cut", "d"), [("/" + LONG, "file", None, b"d")], id="GNU long name"),
    pytest.param(
        long_name(LONG, b"K") + symlink("l", "cut"), [("/l", "symlink", LONG, b"")], id="GNU long link target"
    ),
    pytest.param(
        long_name(LONG) + long_name(LONG, b"K") + hardlink("cut", "cut"),
        [("/" + LONG, "hardlink", "/" + LONG, b"")],
        id="GNU long name and target",
    ),
    pytest.param(
        long_name(LONG) + member("cut", "d") + member("next", "e"),
        [("/" + LONG, "file", None, b"d"), ("/next", "file", None, b"e")],
        id="a long name counts for one member",
    ),
    pytest.param(pax({"path": LONG}) + member("cut", "d"), [("/" + LONG, "file", None, b"d")], id="pax path"),
    pytest.param(pax({"linkpath": LONG}) + symlink("l", "cut"), [("/l", "symlink", LONG, b"")], id="pax link target"),
    pytest.param(pax({"size": "3"}) + header("x", 0) + padded(b"abc"), [("/x", "file", None, b"abc")], id="pax size"),
    pytest.param(
        pax({"mtime": "1.5", "SCHILY.xattr.user.x": b"a=b\nc"}) + member("x", "d"),
        [("/x", "file", None, b"d")],
        id="pax records of no interest, with newlines in them",
    ),
    pytest.param(
        pax({"path": "p"}) + member("cut", "d") + member("next", "e"),
        [("/p", "file", None, b"d"), ("/next", "file", None, b"e")],
        id="a pax header counts for one member",
    ),
    pytest.param(
        pax({"path": "global"}, b"g") + member("x", "d"),
        [("/x", "file", None, b"d")],
        id="global pax headers are passed over, as container engines do",
    ),
    pytest.param(header("x", base256(3)) + padded(b"abc"), [("/x", "file", None, b"abc")], id="base-256 size"),
    pytest.param(header("x", b"      3 ") + padded(b"abc"), [("/x", "file", None, b"abc")], id="size with spaces"),
    pytest.param(header("x", b""), [("/x", "file", None, b"")], id="no size at all"),
    pytest.param(
        member(b"caf\xe9", "d"), [("/caf\udce9", "file", None, b"d")], id="a name that is no UTF-8 stays readable"
    ),
    pytest.param(member("café", "d"), [("/café", "file", None, b"d")], id="a name in UTF-8"),
    pytest.param(pax({"path": b"a\0b"}) + member("cut", "d"), [("/a", "file", None, b"d")], id="a name ends at a NUL"),
    pytest.param(b"", [], id="no member"),
]


@pytest.mark.parametrize("read", [pytest.param(blob, id="file"), pytest.param(stream, id="stream")])
@pytest.mark.parametrize(("members", "expected"), FORMS)
def test_form(members: bytes, expected: list[object], read: object) -> None:
    assert walked(read(members + END)) == expected  # type: ignore[operator]


@pytest.mark.parametrize("piece", [1, 3, 511, 512, 513, 4096])
def test_pieces_of_any_size_make_the_same_entries(piece: int) -> None:
    data = b"".join(form.values[0] for form in FORMS) + END  # type: ignore[misc]
    assert walked(stream(data, piece)) == walked(blob(data))


def test_signed_checksums_of_old_writers_count() -> None:
    block = member(b"caf\xe9\xff")[:512]
    unsigned = sum(block[:148] + b" " * 8 + block[156:])
    signed = unsigned - 256 * 2
    assert walked(blob(block[:148] + b"%06o\0 " % signed + block[156:] + END))[0][0] == "/caf\udce9\udcff"


@pytest.mark.parametrize(
    ("data", "count"),
    [
        pytest.param(member("x", "d") + END + member("y", "d"), 1, id="after the end mark"),
        pytest.param(member("x", "d"), 1, id="no end mark"),
        pytest.param(member("x", "d") + bytes(512), 1, id="half an end mark"),
        pytest.param(header("x", 3) + b"abc", 1, id="no padding behind the last member"),
        pytest.param(END + bytes(10240), 0, id="an empty layer"),
        pytest.param(b"", 0, id="nothing"),
    ],
)
def test_where_a_tar_ends(data: bytes, count: int) -> None:
    assert len(walked(blob(data))) == len(walked(stream(data))) == count


BROKEN = [
    pytest.param(member("x", b"d" * 600)[:-600], "truncated: it ends in the middle of '/x'", id="data cut off"),
    pytest.param(header("x", BIG - 1), "truncated", id="a size beyond the end"),
    pytest.param(header("x", base256(2**80)), "claims to have", id="a size beyond all disks"),
    pytest.param(member("x", "d") + header("y")[:300], "in the middle of a tar header", id="header cut off"),
    pytest.param(member("x", "d") + b"\1" * 512, "broken", id="garbage for a header"),
    pytest.param(b"garbage" * 1000, "no tar at all", id="nothing but garbage"),
    pytest.param(header("x")[:-1] + b"\1", "checksum", id="wrong checksum"),
    pytest.param(header("x", b"\xff" * 12), "negative or oversized", id="negative size"),
    pytest.param(header("x", b"12345678_901"), "for a number", id="a size that is no number"),
    pytest.param(header("x", b"0000000009\0"), "for a number", id="a size that is not octal"),
    pytest.param(header("x", b"-1\0"), "for a number", id="a size with a sign"),
    pytest.param(pax({"path": "a" * 5000}) + member("x"), "path of 5000 bytes", id="path too long"),
    pytest.param(pax({"linkpath": "a" * 5000}) + symlink("x", "y"), "target of 5000 bytes", id="target too long"),
    pytest.param(pax({"size": "-1"}) + member("x"), "for a number", id="pax size with a sign"),
    pytest.param(pax({"size": "9" * 30}) + member("x"), "for a number", id="pax size without end"),
    pytest.param(member("p", "99 path=x\n", b"x"), "cannot be parsed", id="pax length beyond the header"),
    pytest.param(member("p", "garbage", b"x"), "cannot be parsed", id="pax garbage"),
    pytest.param(member("p", "0 path=x\n", b"x"), "cannot be parsed", id="pax length of nothing"),
    pytest.param(member("p", "8 a=bcd\n277777", b"x"), "cannot be parsed", id="a pax length without its space"),
    pytest.param(header("p", 1 << 30, b"x"), "extended tar header of 1073741824 bytes", id="huge pax header"),
    pytest.param(header("p", 1 << 20, b"L"), "extended tar header of 1048576 bytes", id="huge long name"),
    pytest.param(member("x") + bytes(512) + member("y"), "lone zero block", id="a zero block in the middle"),
]


@pytest.mark.parametrize("read", [pytest.param(blob, id="file"), pytest.param(stream, id="stream")])
@pytest.mark.parametrize(("data", "message"), BROKEN)
def test_broken_tars_are_refused_in_one_sentence(data: bytes, message: str, read: object) -> None:
    with pytest.raises(TargetError, match=rf"^Layer sha256:test .*({message})"):
        walked(read(data + END if "truncated" not in message and "middle" not in message else data))  # type: ignore[operator]


def test_content_can_be_read_in_every_way() -> None:
    data = bytes(range(256)) * 8192
    for layer in (blob(member("x", data) + END), stream(member("x", data) + END, 1000)):
        for _, content in open_layer(layer):
            assert content.size == len(data)
            assert content.read(10) == data[:10]
            if content.seekable:
                assert content.read_at(1000, 5) == data[1000:1005]
                assert content.read_at(len(data) - 2, 5) == data[-2:]
                assert content.read_at(len(data), 5) == content.read_at(-3, 2) == b""
            assert content.read(5) == data[10:15]
            assert b"".join(bytes(chunk) for chunk in content.chunks()) == data[15:]
            assert content.read() == b""


def test_content_of_a_stream_ends_with_its_turn() -> None:
    walk = iter(open_layer(stream(member("x", "abc") + member("y", "def") + END)))
    _, first = next(walk)
    next(walk)
    with pytest.raises(ValueError, match="moved on"):
        first.read()


def test_what_is_not_read_is_skipped() -> None:
    data = b"".join(member(f"f{n}", os.urandom(n * 97)) for n in range(50)) + END
    for layer in (blob(data), stream(data, 700)):
        paths = [entry.path for entry, content in open_layer(layer) if content.read(n := 10) is not n]
        assert paths == [f"/f{n}" for n in range(50)]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_agrees_with_pythons_own_writer(form: int) -> None:
    buffer = io.BytesIO()
    names = ["short", "a" * 99, "d/" * 40 + "x" * 80]
    if form != tarfile.USTAR_FORMAT:
        names += ["n" * 300, "ü" * 120]
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for number, name in enumerate(names):
            info = tarfile.TarInfo(name)
            info.size = number * 300
            tar.addfile(info, io.BytesIO(bytes([number]) * info.size))
    expected = [("/" + name, "file", None, bytes([n]) * (n * 300)) for n, name in enumerate(names)]
    assert walked(stream(buffer.getvalue(), 1000)) == expected


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--format=gnu"], id="old GNU"),
        pytest.param(["--format=posix", "--sparse-version=0.0"], id="pax 0.0"),
        pytest.param(["--format=posix", "--sparse-version=0.1"], id="pax 0.1"),
        pytest.param(["--format=posix", "--sparse-version=1.0"], id="pax 1.0"),
    ],
)
@pytest.mark.parametrize("pieces", [1, 3, 40])
def test_sparse_files_of_gnu_tar_read_as_what_they_stand_for(tmp_path: Path, options: list[str], pieces: int) -> None:
    with (tmp_path / "holes").open("wb") as file:
        for piece in range(pieces):
            file.seek(piece * 300_000 + 70_000)
            file.write(os.urandom(5000))
        file.truncate(pieces * 300_000 + 100_000)
    (tmp_path / "after").write_bytes(b"after")
    made = subprocess.run(
        ["tar", "-S", *options, "-C", str(tmp_path), "-cf", "-", "holes", "after"], capture_output=True, check=True
    ).stdout
    whole = (tmp_path / "holes").read_bytes()
    assert len(made) < len(whole) / 2
    expected = [("/holes", "file", None, whole), ("/after", "file", None, b"after")]
    assert walked(blob(made)) == walked(stream(made, 5000)) == expected
    _, content = next(iter(open_layer(blob(made))))
    for offset in (0, 69_600, 69_990, 70_000, 74_990, len(whole) - 10, len(whole) + 5):
        assert content.read_at(offset, 40) == whole[offset : offset + 40]
    assert content.read(70_010) == whole[:70_010]
    assert b"".join(bytes(chunk) for chunk in content.chunks()) == whole[70_010:]


def sparse_member(extents: list[tuple[int, int]], real: int, data: bytes) -> bytes:
    table = b"".join(b"%011o\0%011o\0" % extent for extent in extents).ljust(96, b"\0")
    tail = bytes(41) + table + b"\0" + b"%011o\0" % real
    return header("s", len(data), b"S", tail=tail, **GNU) + padded(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(sparse_member([(0, 10), (5, 10)], 100, bytes(20)), "overlap", id="overlapping pieces"),
        pytest.param(sparse_member([(0, 10)], 5, bytes(10)), "longer than the file", id="pieces beyond the end"),
        pytest.param(sparse_member([(0, 1000)], 1000, bytes(10)), "longer than the file", id="pieces not stored"),
        pytest.param(
            pax({"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"})
            + member("s", "99999999\n"),
            "more than 100000 pieces",
            id="a map without end",
        ),
        pytest.param(
            pax({"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"})
            + member("s", "3\n1\n1\n"),
            "does not end",
            id="a map cut off",
        ),
        pytest.param(pax({"GNU.sparse.map": "1,2,3", "GNU.sparse.size": "9"}) + member("s"), "middle", id="odd map"),
        pytest.param(pax({"GNU.sparse.map": "x", "GNU.sparse.size": "9"}) + member("s"), "number", id="map of letters"),
    ],
)
def test_broken_sparse_maps_are_refused(data: bytes, message: str) -> None:
    for layer in (blob(data + END), stream(data + END)):
        with pytest.raises(TargetError, match=message):
            walked(layer)


def test_holes_without_end_are_left_out_with_a_note() -> None:
    data = sparse_member([(0, 10)], 1 << 60 & 0o77777777777 or 1, bytes(10))
    huge = with_checksum(data[:483] + base256(1 << 60) + data[495:512]) + data[512:]
    walk = open_layer(blob(huge + member("after", "d") + END))
    assert [(entry.path, entry.kind) for entry, _ in walk] == [("/s", "other"), ("/after", "file")]
    assert walk.notes == [f"Layer sha256:test: the sparse file /s claims {1 << 60} bytes and was not read."]


def test_holes_are_counted_whatever_the_stored_size_claims() -> None:
    data = sparse_member([(1 << 32, 5)], (1 << 32) + 5, b"12345")
    lying = with_checksum(data[:124] + base256(1 << 33) + data[136:512]) + data[512:]
    with pytest.raises(TargetError, match="truncated"):
        walked(blob(lying), Limits(holes=1 << 20))


def test_entries_of_a_source_without_a_tar_pass_through() -> None:
    walk = open_layer(blob(member("x", "abc") + END))
    ready = LayerBlob("rootfs", "", None, io.BytesIO(), entries=iter(walk))
    assert walked(ready) == [("/x", "file", None, b"abc")]
