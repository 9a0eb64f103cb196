"""A root file system folder, hostile ones included."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cudacompat.errors import TargetError, UsageError
from cudacompat.layers.tar import open_layer
from cudacompat.sources import rootfs
from cudacompat.sources.recognition import recognise
from tests.support.images import build_image, elf_stand_in
from tests.support.privileges import permissions_count
from tests.support.reading import files_of, notes_of

NO_CONFIG = "A root file system folder has no image config: its environment and labels are not known."


def entries(root: Path) -> dict[str, str]:
    image = rootfs.open(str(root), "linux/amd64")
    return {entry.path: entry.kind for blob in image.layers() for entry, _ in open_layer(blob)}


def test_a_root_file_system_is_an_image_of_one_layer(tmp_path: Path) -> None:
    layers = [{"files": {"/usr/lib/a": "a", "/lib": {"symlink": "usr/lib"}, "/usr/bin/sh": {"elf": "aarch64"}}}]
    path = build_image({"layers": layers}, tmp_path / "root", format="rootfs")
    assert recognise(str(path)) == "dir"
    image = rootfs.open(str(path))
    assert (image.target.reference, image.target.source) == (f"dir:{path}", "dir")
    assert image.config.platform == image.target.platform == "linux/arm64"
    assert (image.config.env, image.available_platforms, image.layer_order()) == ((), ("linux/arm64",), ("rootfs",))
    files = files_of(image)
    assert (files["/usr/lib/a"], files["/lib"]) == ("a", "-> usr/lib")
    assert notes_of(image) == [NO_CONFIG]
    image.close()
    image.close()


def test_content_is_read_in_every_way(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "x").write_bytes(data)
    for blob in rootfs.open(str(tmp_path), "linux/amd64").layers():
        for _, content in open_layer(blob):
            assert (content.size, content.seekable, content.read(10)) == (len(data), True, data[:10])
            assert content.read_at(len(data) - 3, 10) == data[-3:]
            assert content.read_at(-1, 10) == content.read_at(len(data) + 1, 10) == b""
            assert b"".join(bytes(chunk) for chunk in content.chunks()) == data[10:]


def test_no_symlink_is_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    root = tmp_path / "root"
    (root / "usr").mkdir(parents=True)
    (root / "out").symlink_to("../outside")
    (root / "absolute").symlink_to(tmp_path / "outside/secret")
    (root / "usr/bin").symlink_to("../../outside")
    assert entries(root) == {
        "/absolute": "symlink",
        "/out": "symlink",
        "/usr": "dir",
        "/usr/bin": "symlink",
    }


def test_a_program_behind_a_symlink_says_nothing_of_the_platform(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "sh").write_bytes(elf_stand_in("aarch64", 100))
    root = tmp_path / "root"
    root.mkdir()
    (root / "bin").symlink_to("../outside")
    (root / "sh").symlink_to("../outside/sh")
    image = rootfs.open(str(root))
    assert image.config.platform == "linux/amd64"
    assert f"No program in {root} says its architecture; linux/amd64 was assumed." in image.notes


def test_the_named_platform_counts(tmp_path: Path) -> None:
    assert rootfs.open(str(tmp_path), "arm64").config.platform == "linux/arm64"
    with pytest.raises(UsageError):
        rootfs.open(str(tmp_path), "no platform")


def test_sockets_pipes_and_mount_points_are_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("proc/1", "sys/x", "dev/shm", "opt/proc"):
        (tmp_path / name).mkdir(parents=True)
    assert entries(tmp_path) == {
        "/dev": "dir",
        "/opt": "dir",
        "/opt/proc": "dir",
        "/pipe": "other",
        "/proc": "dir",
        "/sys": "dir",
    }


def test_names_that_are_no_text_stay_readable(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("x")
    assert entries(tmp_path) == {"/caf\udce9": "file"}


def test_folders_too_deep_are_a_note(tmp_path: Path) -> None:
    path = tmp_path
    for _ in range(130):
        path /= "d"
        path.mkdir()
    notes = notes_of(rootfs.open(str(tmp_path), "linux/amd64"))
    assert notes[-1] == "/" + "/".join("d" * 101) + " could not be read: it lies too deep."


def test_what_may_not_be_read_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0)
    with permissions_count():
        notes = notes_of(rootfs.open(str(tmp_path), "linux/amd64"))
    assert notes[1:] == [
        "/closed could not be read: Permission denied.",
        "/file could not be read: Permission denied.",
    ]


def test_a_path_that_vanishes_during_the_walk_is_a_note(tmp_path: Path) -> None:
    for number in range(25):
        (tmp_path / f"f{number:02}").write_text("x")
    image = rootfs.open(str(tmp_path), "linux/amd64")
    for blob in image.layers():
        for entry, _ in open_layer(blob):
            if entry.path == "/f00":
                for number in range(1, 25):
                    (tmp_path / f"f{number:02}").unlink()
    assert image.notes[1] == "/f01 could not be read: No such file or directory."
    assert image.notes[-1] == "4 more paths could not be read."


def test_a_file_that_shrinks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x" * 100)
    for blob in rootfs.open(str(tmp_path), "linux/amd64").layers():
        for _, content in open_layer(blob):
            (tmp_path / "f").write_text("x")
            with pytest.raises(TargetError, match=r"^/f became shorter while it was read\.$"):
                content.read()


@pytest.mark.parametrize("name", ["absent", "file"])
def test_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TargetError, match="could not be opened as a root file system"):
        rootfs.open(str(tmp_path / name))
