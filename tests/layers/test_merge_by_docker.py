"""The merged view against a real Docker engine: the same layers, loaded, and the container's files exported."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.layers.test_merge import BASE, seen
from tests.support.images import Built, as_json, digest, docker_archive, plain_tar
from tests.support.servers import load, run
from tests.support.tars import END, folder, member, symlink

pytestmark = pytest.mark.engine

# Made by the engine in every container.
ENGINES_OWN = ("/dev", "/etc", "/proc", "/sys", "/.dockerenv")

UPPER = {
    "a file replaces a folder": [member("d", "now")],
    "a symlink replaces a folder, and a third layer writes below it": [symlink("d", "w")],
    "a folder replaces a symlink": [folder("lib")],
    "a file below a symlink": [member("lib/x", "x")],
    "a file below a file": [member("f/x", "x")],
    "a whiteout below a symlink": [member("lib/.wh.a")],
    "whiteouts of a file and a folder": [member(".wh.f"), member(".wh.d")],
    "an opaque folder, the mark first": [member("w/.wh..wh..opq"), member("w/up", "up")],
    "an opaque folder, the mark last": [member("w/up", "up"), member("w/.wh..wh..opq")],
    "a path out of the root": [member("../../esc", "e")],
}
THIRD = [member("d/deep", "deep")]


@pytest.mark.parametrize("case", UPPER)
def test_docker_shows_the_same(docker_engine: str, tmp_path: Path, case: str) -> None:
    layers = [BASE, UPPER[case], THIRD]
    tars = tuple(b"".join(members) + END for members in layers)
    config = as_json(
        {
            "os": "linux",
            "architecture": "amd64",
            "config": {"Cmd": ["/none"]},
            "rootfs": {"type": "layers", "diff_ids": [digest(tar) for tar in tars]},
        }
    )
    archive = tmp_path / "image.tar"
    archive.write_bytes(plain_tar(docker_archive(Built("linux/amd64", config, b"", tars, tars), "merge:1")))
    load(docker_engine, archive)
    docker = ("docker", "-H", docker_engine)
    container = run(*docker, "create", "merge:1").decode().strip()
    exported = run(*docker, "export", container)
    run(*docker, "rm", container)
    assert seen(*layers) == shown(exported)


def shown(exported: bytes) -> dict[str, str]:
    """The files and symlinks of an exported container, without what the engine adds."""
    found = {}
    with tarfile.open(fileobj=io.BytesIO(exported)) as tar:
        for item in tar:
            path = "/" + item.name
            if path.startswith(ENGINES_OWN):
                continue
            if item.issym():
                found[path] = f"-> {item.linkname}"
            elif (file := tar.extractfile(item)) is not None:
                found[path] = file.read().decode()
    return found
