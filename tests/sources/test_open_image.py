"""Which source a target leads to, and what is said when it leads nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cudacompat.errors import TargetError, UsageError
from cudacompat.sources import open_image
from tests.support.images import Format, build_image
from tests.support.opened import read_all

IMAGE = {"env": {"A": "1"}, "layers": [{"files": {"/etc/a": "1", "/usr/bin/x": {"elf": "x86_64"}}}]}


@pytest.mark.parametrize(
    ("form", "spelling", "source"),
    [
        ("docker-archive", "{}", "docker-archive"),
        ("docker-archive", "docker-archive:{}", "docker-archive"),
        ("docker-archive", "docker-archive:{}:case:latest", "docker-archive"),
        ("docker-archive", "{}:case:latest", "docker-archive"),
        ("docker-archive", "archive://{}", "docker-archive"),
        ("docker-archive-blobs", "{}", "docker-archive"),
        ("oci-archive", "{}", "oci-archive"),
        ("oci-archive", "oci-archive:{}", "oci-archive"),
        ("oci-archive", "archive://{}", "oci-archive"),
        ("oci", "{}", "oci-dir"),
        ("oci", "{}:latest", "oci-dir"),
        ("oci", "oci-dir:{}", "oci-dir"),
        ("oci", "oci-dir://{}", "oci-dir"),
        ("oci", "oci:{}:latest", "oci-dir"),
        ("rootfs", "{}", "dir"),
        ("rootfs", "dir:{}", "dir"),
        ("rootfs", "fs://{}", "dir"),
    ],
)
def test_what_lies_on_disk(tmp_path: Path, form: Format, spelling: str, source: str) -> None:
    target = spelling.format(build_image(IMAGE, tmp_path / "image", format=form))
    image = open_image(target)
    assert (image.target.source, image.target.reference) == (source, target)
    assert image.config.platform == "linux/amd64"
    assert read_all(image).flat()["/etc/a"] == b"1"


def test_a_relative_path_needs_no_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_image(IMAGE, tmp_path / "app", format="docker-archive")
    monkeypatch.chdir(tmp_path)
    image = open_image("app")
    image.close()
    assert image.target.source == "docker-archive"


def test_a_folder_that_is_no_image_may_share_an_images_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "localhost:1" / "app").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TargetError, match="localhost:1 could not be reached"):
        open_image("localhost:1/app")


def test_a_folder_before_the_colon_does_not_make_a_tag_a_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_image(IMAGE, tmp_path / "localhost", format="rootfs")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TargetError, match="localhost:1 could not be reached"):
        open_image("localhost:1/app")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        pytest.param("/nowhere/app.tar", "/nowhere/app.tar does not exist.", id="a path that is none"),
        pytest.param("./app", "./app does not exist.", id="a relative path that is none"),
        pytest.param("app.tar", "app.tar does not exist.", id="an archive that is not there"),
        pytest.param("docker-archive:/nowhere.tar", "/nowhere.tar does not exist.", id="with its source named"),
        pytest.param("oci-dir:/nowhere", "/nowhere does not exist.", id="a layout that is not there"),
        pytest.param("dir:/nowhere", "/nowhere could not be opened", id="a folder that is not there"),
        pytest.param("archive:///nowhere.tar", "/nowhere.tar does not exist.", id="skopeo's and scout's spelling"),
        pytest.param("sif:app.sif", "app.sif could not be opened: No such file", id="a SIF image that is not there"),
        pytest.param("{empty}", "is no image: neither an archive", id="an empty folder"),
        pytest.param("{text}", "is no image: neither an archive", id="a text file"),
        pytest.param("{sif}", "is no image: neither an archive", id="a SIF file that breaks off"),
        pytest.param("sif:{text}", "is neither a SIF image nor a squashfs", id="a text file as SIF"),
        pytest.param("{dangling}", "a link that leads nowhere", id="a link that leads nowhere"),
        pytest.param("archive://{empty}", "is no image: neither an archive", id="an empty folder as archive"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, target: str, said: str) -> None:
    paths = {name: tmp_path / name for name in ("empty", "text", "dangling")} | {"sif": tmp_path / "x.sif"}
    paths["empty"].mkdir()
    paths["text"].write_text("hello")
    paths["sif"].write_text("#!/usr/bin/env run-singularity\n")
    paths["dangling"].symlink_to("nowhere")
    with pytest.raises(TargetError) as caught:
        open_image(target.format(**paths))
    assert said in str(caught.value)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TargetError, match="is no image"):
        open_image(str(tmp_path / "pipe"))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        pytest.param("", "The target is empty", id="nothing"),
        pytest.param("  ", "The target is empty", id="spaces"),
        pytest.param("docker:", "names no image behind", id="a source alone"),
        pytest.param("registry://", "names no image behind", id="a source alone, with slashes"),
        pytest.param("ftp://host/app", "'ftp' is no source of images; known are docker://,", id="another scheme"),
        pytest.param("registry:App", "repository names are lower-case", id="a reference that is none"),
        pytest.param("app\x1b[31m", "control characters", id="control characters"),
    ],
)
def test_what_makes_no_sense(target: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_image(target)
    assert said in str(caught.value)


def test_a_platform_that_is_none_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(UsageError, match="is not a platform"):
        open_image("registry:registry.invalid/app", platform="linux amd64")


@pytest.mark.parametrize("mirror", ["ftp://mirror", "bad host", ""])
def test_a_mirror_that_is_none(mirror: str) -> None:
    with pytest.raises((UsageError, TargetError)):
        open_image("registry:localhost:1/app", mirrors={"localhost:1": mirror})


def test_progress_names_each_step(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(TargetError):
        open_image("localhost:1/app:2", progress=said.append)
    assert said == ["asking localhost:1 for localhost:1/app:2"]
