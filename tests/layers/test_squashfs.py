"""Squashfs images as mksquashfs makes them, and as nobody should."""

from __future__ import annotations

import io
import os
import random
import struct
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudacompat.errors import TargetError
from cudacompat.layers.limits import LIMITS, Limits
from cudacompat.layers.squashfs import Squashfs
from cudacompat.layers.window import SeekableStream
from tests.support.sif import squashfs

COMPRESSIONS = ("gzip", "lzma", "lzo", "xz", "lz4", "zstd")
ROOT_AT, INODES_AT, LISTINGS_AT = 32, 64, 72


def opened(path: Path, limits: Limits = LIMITS) -> Squashfs:
    return Squashfs(SeekableStream(io.BytesIO(path.read_bytes())), str(path), limits)


def read_all(system: Squashfs) -> dict[str, object]:
    """Every entry: a file's bytes, a symlink's target, else its kind."""
    found: dict[str, object] = {}
    for entry, content in system.entries():
        assert entry.path not in found
        data = b"".join(bytes(chunk) for chunk in content.chunks())
        assert len(data) == entry.size
        found[entry.path] = data if entry.kind == "file" else entry.target or entry.kind
    return found


def on_disk(root: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            place = "/" + str(path.relative_to(root))
            if path.is_symlink():
                found[place] = str(path.readlink())
            elif path.is_file():
                found[place] = path.read_bytes()
            else:
                found[place] = "dir" if path.is_dir() else "other"
    return found


def fill(root: Path) -> Path:
    """Small and large files, ends in fragments, holes, links, many names, odd names, pipes."""
    noise = random.Random(7).randbytes(300_000)
    (root / "usr/lib").mkdir(parents=True)
    (root / "empty-folder").mkdir()
    (root / "usr/lib/noise").write_bytes(noise)
    (root / "usr/lib/again").write_bytes(noise)
    (root / "usr/lib/text").write_text("hello\n" * 100_000)
    (root / "usr/lib/exact").write_bytes(b"x" * (1 << 17))
    (root / "usr/lib/exact-blocks").write_bytes(noise[: 1 << 18])
    with (root / "usr/lib/holes").open("wb") as file:
        file.write(b"a")
        file.seek(1_000_000)
        file.write(b"z")
        file.truncate(1_500_000)
    (root / "empty").touch()
    (root / "lib").symlink_to("usr/lib")
    (root / "usr/absolute").symlink_to("/usr/lib/text")
    os.link(root / "usr/lib/text", root / "usr/hard")
    os.mkfifo(root / "usr/pipe")
    for number in range(700):
        (root / f"many-{number:04}").write_text(f"{number}\n")
    (root / os.fsdecode(b"odd \xff\n name")).write_text("odd")
    return root


@pytest.mark.parametrize(
    "options",
    [
        *(pytest.param(("-comp", name), id=name) for name in COMPRESSIONS),
        pytest.param(("-noI", "-noD", "-noF", "-noX"), id="nothing packed"),
        pytest.param(("-comp", "lzo", "-noD"), id="as enroot makes it"),
        pytest.param(("-b", "4096"), id="small blocks"),
        pytest.param(("-b", "1M"), id="large blocks"),
        pytest.param(("-no-fragments",), id="no fragments"),
        pytest.param(("-always-use-fragments",), id="fragments for every end"),
        pytest.param(("-no-exports", "-no-duplicates", "-no-xattrs"), id="no other tables"),
    ],
)
def test_every_entry_and_byte_is_read(tmp_path: Path, options: tuple[str, ...]) -> None:
    root = fill(tmp_path / "root")
    found = read_all(opened(squashfs(root, tmp_path / "image", *options)))
    assert found == on_disk(root)


@pytest.mark.parametrize(("name", "module"), [("lzo", "lzallright"), ("lz4", "lz4.block")])
def test_a_compression_whose_library_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str
) -> None:
    (tmp_path / "root").mkdir()
    image = squashfs(tmp_path / "root", tmp_path / "image", "-comp", name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(TargetError, match=rf"packed by {name}, .* pip install 'cudacompat\[squashfs\]'"):
        opened(image)


def test_contents_are_read_at_any_offset(tmp_path: Path) -> None:
    root = fill(tmp_path / "root")
    system = opened(squashfs(root, tmp_path / "image"))
    pick = random.Random(3)
    for name in ("usr/lib/noise", "usr/lib/text", "usr/lib/holes", "usr/lib/exact", "empty"):
        data = (root / name).read_bytes()
        inode = system.find(f"/{name}")
        assert inode is not None and inode.size == len(data)
        content = system.content(inode, name)
        assert content.seekable
        for _ in range(50):
            offset, length = pick.randrange(len(data) + 10), pick.choice((1, 64, 5000, 400_000))
            assert content.read_at(offset, length) == data[offset : offset + length]
        assert content.read(10) + content.read() == data


def test_paths_are_found_without_following_symlinks(tmp_path: Path) -> None:
    system = opened(squashfs(fill(tmp_path / "root"), tmp_path / "image"))
    kinds = {path: found.kind for path in ("/", "/usr/lib", "/many-0699", "/lib") if (found := system.find(path))}
    assert kinds == {"/": "dir", "/usr/lib": "dir", "/many-0699": "file", "/lib": "symlink"}
    assert system.find("/lib/noise") is None
    assert system.find("/nowhere") is None
    assert system.find("/many-0699/x") is None


def test_what_is_left_out_is_seen_but_not_entered(tmp_path: Path) -> None:
    system = opened(squashfs(fill(tmp_path / "root"), tmp_path / "image"))
    found = {entry.path for entry, _ in system.entries(leave_out=("/usr",))}
    assert "/usr" in found
    assert "/usr/lib" not in found


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small image with its tables unpacked, so that single bytes of them can be changed."""
    folder = tmp_path_factory.mktemp("squashfs")
    (folder / "root/a/b").mkdir(parents=True)
    (folder / "root/a/b/file").write_bytes(random.Random(1).randbytes(9000))
    (folder / "root/a/link").symlink_to("b/file")
    (folder / "root/text").write_text("hello")
    return squashfs(folder / "root", folder / "image", "-noI", "-noF", "-b", "4096").read_bytes()


def changed(image: bytes, at: int, value: bytes) -> bytes:
    return image[:at] + value + image[at + len(value) :]


def read(image: bytes, limits: Limits = LIMITS) -> dict[str, object]:
    return read_all(Squashfs(SeekableStream(io.BytesIO(image)), "image", limits))


def inodes_at(image: bytes) -> int:
    return int.from_bytes(image[INODES_AT : INODES_AT + 8], "little") + 2


def listings_at(image: bytes) -> int:
    return int.from_bytes(image[LISTINGS_AT : LISTINGS_AT + 8], "little") + 2


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        pytest.param(0, b"sqsh", "is no squashfs", id="another magic"),
        pytest.param(28, b"\x03\0", "is a squashfs of version 3.0; only 4.0 is read", id="an old version"),
        pytest.param(20, b"\x09\0", "of an unknown compression (number 9)", id="an unknown compression"),
        pytest.param(12, b"\0\0\0\0", "its blocks have 0 bytes", id="no block size"),
        pytest.param(12, b"\xff\xff\xff\xff", "its blocks have 4294967295 bytes", id="a huge block size"),
        pytest.param(22, b"\x0d\0", "its blocks have 4096 bytes", id="a block size that is not its logarithm's"),
        pytest.param(ROOT_AT, b"\xff" * 8, "is broken", id="a root far away"),
        pytest.param(INODES_AT, b"\xff" * 8, "it ends before byte", id="inodes far away"),
        pytest.param(LISTINGS_AT, b"\xff" * 8, "it ends before byte", id="listings far away"),
    ],
)
def test_a_hostile_superblock(small: bytes, at: int, value: bytes, said: str) -> None:
    with pytest.raises(TargetError) as caught:
        read(changed(small, at, value))
    assert said in str(caught.value)


def test_an_image_cut_off_anywhere_is_an_error(small: bytes) -> None:
    whole = read(small)
    used = struct.unpack_from("<Q", small, 40)[0]
    for length in range(0, used, 61):
        try:
            assert read(small[:length]) == whole
        except TargetError as error:
            assert "is no squashfs" in str(error) or "is broken" in str(error)


def root_inode(image: bytes) -> int:
    reference = struct.unpack_from("<Q", image, ROOT_AT)[0]
    assert reference >> 16 == 0
    return inodes_at(image) + (reference & 0xFFFF)


def test_a_folder_in_itself_ends(small: bytes) -> None:
    """Every name in the root leads to the root."""
    reference = struct.unpack_from("<Q", small, ROOT_AT)[0]
    image, at = small, listings_at(small)
    while (name := image.find(b"text", at)) >= 0:
        at = name + 4
        image = changed(image, name - 8, struct.pack("<HhH", reference & 0xFFFF, 0, 1))
    with pytest.raises(TargetError, match="nests folders more than 100 deep"):
        read(image)


@pytest.mark.parametrize("name", [b"..\0\0", b"a/bc", b"a\0bc", b".\0\0\0"])
def test_a_name_that_leads_elsewhere(small: bytes, name: bytes) -> None:
    at = small.index(b"text", listings_at(small))
    length = len(name.rstrip(b"\0")) if name.startswith(b".") else len(name)
    image = changed(changed(small, at, name), at - 2, struct.pack("<H", length - 1))
    with pytest.raises(TargetError, match="is broken"):
        read(image)


def test_a_listing_with_more_names_than_fit(small: bytes) -> None:
    with pytest.raises(TargetError, match="a folder has 16777215 names where 256 fit"):
        read(changed(small, listings_at(small), b"\xff\xff\xff\0"))


def test_an_inode_of_no_kind(small: bytes) -> None:
    with pytest.raises(TargetError, match="an inode is of the kind 99"):
        read(changed(small, root_inode(small), b"\x63\0"))


def large_file(image: bytes, size: int) -> bytes:
    """The image with another size in the inode of /a/b/file: the first that states 9000 bytes."""
    at = image.index(struct.pack("<I", 9000), inodes_at(image))
    return changed(image, at, struct.pack("<I", size))


def test_a_file_that_claims_more_than_there_is(small: bytes) -> None:
    with pytest.raises(TargetError, match="is broken"):
        read(large_file(small, 0xFFFFFFFF))


def test_a_file_larger_than_any_image(small: bytes) -> None:
    with pytest.raises(TargetError, match="a file claims 9001 bytes"):
        read(large_file(small, 9001), Limits(unpacked=9000))


def test_more_files_than_the_limit(small: bytes) -> None:
    with pytest.raises(TargetError, match="has more than 4 files"):
        read(small, Limits(entries=4))


def test_a_block_that_unpacks_to_more_than_a_block(small: bytes) -> None:
    """A metadata block of zeros in a zlib stream that goes on and on."""
    bomb = zlib.compress(bytes(50 << 20), 9)[:8000]
    at = int.from_bytes(small[INODES_AT : INODES_AT + 8], "little")
    image = changed(small, at, struct.pack("<H", len(bomb)) + bomb)
    with pytest.raises(TargetError, match="unpacks to more than 8192 bytes"):
        read(image)


def test_holes_and_names_cannot_be_multiplied(tmp_path: Path) -> None:
    """Many names of one file of zeros: what is unpacked in all counts."""
    root = tmp_path / "root"
    root.mkdir()
    with (root / "zeros").open("wb") as file:
        file.truncate(1 << 20)
    for number in range(100):
        os.link(root / "zeros", root / f"again{number}")
    image = squashfs(root, tmp_path / "image")
    assert len(read_all(opened(image))) == 101
    with pytest.raises(TargetError, match="unpacks to more than 200 times its size"):
        read_all(opened(image, Limits(ratio_from=50 << 20)))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_changed_bytes_give_an_answer_or_a_sentence(small: bytes, data: st.DataObject) -> None:
    used = struct.unpack_from("<Q", small, 40)[0]
    image = bytearray(small)
    for at, value in data.draw(st.lists(st.tuples(st.integers(0, used - 1), st.integers(0, 255)), min_size=1)):
        image[at] = value
    try:
        read(bytes(image), Limits(entries=1000, unpacked=1 << 20, ratio_from=8 << 20))
    except TargetError as error:
        assert str(error).startswith("image ")
