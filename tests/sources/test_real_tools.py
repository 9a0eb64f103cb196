"""Archives and layouts as skopeo, podman and umoci really write them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cudacompat.layers.codecs import recognise as recognise_codec
from cudacompat.layers.interface import OpenImage
from cudacompat.sources import docker_archive, oci_layout
from cudacompat.sources.recognition import recognise
from tests.support.images import build_image
from tests.support.reading import files_of, notes_of
from tests.support.servers import need

IMAGE: dict[str, Any] = {
    "env": {"CUDA_VERSION": "12.4.1"},
    "layers": [
        {"files": {"/usr/lib/a": "a", "/lib": {"symlink": "usr/lib"}, "/f": "low", "/" + "d/" * 120 + "deep": "deep"}},
        {"files": {"/f": "up", "/opt/x": "x"}, "whiteouts": ["/usr/lib/a"]},
    ],
}
FILES = {"/lib": "-> usr/lib", "/f": "up", "/opt/x": "x", "/" + "d/" * 120 + "deep": "deep"}


def run(*command: str | Path) -> str:
    """A tool's output."""
    need(str(command[0]))
    # Podman takes a missing file of the Docker configuration for an error.
    surroundings = {name: value for name, value in os.environ.items() if name != "DOCKER_CONFIG"}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, timeout=120, env=surroundings
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def opened(path: Path, kind: str) -> OpenImage:
    assert recognise(str(path)) == kind
    return docker_archive.open(str(path)) if kind == "docker-archive" else oci_layout.open(str(path))


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    return build_image(IMAGE, tmp_path / "built", name="app:1")


@pytest.fixture
def podman() -> Iterator[list[str | Path]]:
    """podman with a storage of its own, in a folder whose name is short enough for it."""
    with tempfile.TemporaryDirectory(prefix="pm") as folder:
        yield ["podman", "--root", f"{folder}/root", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]


@pytest.mark.parametrize(
    ("kind", "target", "options", "codec"),
    [
        pytest.param("docker-archive", "docker-archive:{}:app:1", [], None, id="docker archive"),
        pytest.param("oci-archive", "oci-archive:{}:1", [], "gzip", id="OCI archive"),
        pytest.param("oci-dir", "oci:{}:1", [], "gzip", id="OCI layout"),
        pytest.param("oci-dir", "oci:{}:1", ["--dest-compress-format", "zstd"], "zstd", id="OCI layout, zstd"),
        pytest.param("oci-archive", "oci-archive:{}:1", ["--dest-compress-format", "zstd"], "zstd", id="archive, zstd"),
        pytest.param(
            "oci-dir", "oci:{}:1", ["--dest-oci-accept-uncompressed-layers"], None, id="OCI layout, uncompressed"
        ),
    ],
)
def test_skopeo(tmp_path: Path, layout: Path, kind: str, target: str, options: list[str], codec: str | None) -> None:
    path = tmp_path / "copied"
    source = f"oci:{layout}:1"
    if options:
        # What is compressed already is copied as it is: start from layers that are not.
        plain = build_image(IMAGE, tmp_path / "plain", format="docker-archive", name="app:1")
        source = f"docker-archive:{plain}"
    run("skopeo", "copy", "--insecure-policy", "-q", *options, source, target.format(path))
    image = opened(path, kind)
    assert image.config.env == ("CUDA_VERSION=12.4.1",)
    for blob in image.layers():
        found = recognise_codec(blob.stream.read(6))
        assert (found.name if found else None) == codec
        blob.stream.seek(0)
    assert files_of(image) == FILES
    # skopeo 1.9 calls the layers of an OCI layout gzip even where it was told to leave them uncompressed.
    mislabelled = kind == "oci-dir" and codec is None
    assert ["but is not compressed" in note for note in notes_of(image)] == [True] * (2 if mislabelled else 0)


@pytest.mark.parametrize(
    ("form", "kind"),
    [("docker-archive", "docker-archive"), ("oci-archive", "oci-archive"), ("oci-dir", "oci-dir")],
)
def test_podman(tmp_path: Path, layout: Path, podman: list[str | Path], form: str, kind: str) -> None:
    identity = run(*podman, "pull", "-q", f"oci:{layout}:1")
    path = tmp_path / "saved"
    run(*podman, "save", "-q", "--format", form, "-o", path, identity)
    image = opened(path, kind)
    assert image.config.env == ("CUDA_VERSION=12.4.1",)
    assert files_of(image) == FILES
    assert notes_of(image) == []


def test_podman_save_of_several_images(tmp_path: Path, layout: Path, podman: list[str | Path]) -> None:
    other = build_image({"layers": [{"files": {"/two": "2"}}]}, tmp_path / "other", name="other:2")
    for source, name in ((layout, "app:1"), (other, "other:2")):
        run(*podman, "tag", run(*podman, "pull", "-q", f"oci:{source}:{name[-1]}"), name)
    path = tmp_path / "saved"
    run(*podman, "save", "-q", "-m", "-o", path, "app:1", "other:2")
    assert files_of(docker_archive.open(f"{path}:app:1")) == FILES
    assert files_of(docker_archive.open(f"{path}:other:2")) == {"/two": "2"}


def test_umoci(tmp_path: Path) -> None:
    path = tmp_path / "layout"
    (tmp_path / "tree/bin").mkdir(parents=True)
    (tmp_path / "tree/bin/run").write_text("run")
    (tmp_path / "tree/link").symlink_to("bin/run")
    image = f"{path}:1"
    run("umoci", "init", "--layout", path)
    run("umoci", "new", "--image", image)
    run("umoci", "insert", "--rootless", "--image", image, tmp_path / "tree", "/opt")
    run("umoci", "insert", "--rootless", "--image", image, "--whiteout", "/opt/bin/run")
    run("umoci", "config", "--image", image, "--config.env", "CUDA_VERSION=12.4.1")
    opened_image = opened(path, "oci-dir")
    assert opened_image.config.env == ("CUDA_VERSION=12.4.1",)
    assert files_of(opened_image) == {"/opt/link": "-> bin/run"}
