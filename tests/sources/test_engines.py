"""Images of a real Docker engine and a real Podman."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cudacompat.errors import TargetError, UsageError
from cudacompat.sources import open_image
from tests.support.images import build, build_image, digest, layout, write_files
from tests.support.opened import read_all
from tests.support.servers import load, push
from tests.support.stub import Answer, Stub, stub

pytestmark = pytest.mark.engine

# The third layer is the first once more: engines store and export it once. The characters are those that
# Go's JSON writes as escapes.
IMAGE = {
    "env": {"CUDA_VERSION": "12.4.1", "ODD": "<&> \u2028 é \"'\\"},
    "labels": {"team": "gpu"},
    "entrypoint": ["/bin/app"],
    "layers": [
        {"created_by": "RUN first", "files": {"/opt/a": "1"}},
        {"created_by": "RUN second", "files": {"/opt/a": "2", "/opt/b": "2"}},
        {"created_by": "RUN third", "files": {"/opt/a": "1"}},
        {"created_by": "RUN fourth", "files": {"/opt/c": {"symlink": "a"}, "/opt/d": "4"}},
    ],
}
BUILT = build(IMAGE)
DIFF_IDS = tuple(digest(tar) for tar in BUILT.tars)


@pytest.fixture
def docker(docker_engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The Docker engine, holding IMAGE as app:1."""
    load(docker_engine, build_image(IMAGE, tmp_path / "app.tar", format="docker-archive", name="app:1"))
    monkeypatch.setenv("DOCKER_HOST", docker_engine)
    return docker_engine


@pytest.fixture
def podman(podman_engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Podman, holding IMAGE as app:1."""
    load(podman_engine, build_image(IMAGE, tmp_path / "app.tar", format="docker-archive", name="app:1"))
    monkeypatch.setenv("CONTAINER_HOST", podman_engine)
    return podman_engine


@pytest.mark.parametrize("target", ["app:1", "docker:app:1", "docker-daemon:app:1", "local://app:1", "image://app:1"])
@pytest.mark.usefixtures("docker")
def test_docker_describes_the_image_at_once(target: str) -> None:
    image = open_image(target)
    image.close()
    assert (image.target.source, image.target.reference) == ("docker", target)
    assert image.target.digest == digest(BUILT.config)
    assert image.config.platform == image.target.platform == "linux/amd64"
    assert image.config.env == ("CUDA_VERSION=12.4.1", "ODD=<&> \u2028 é \"'\\")
    assert dict(image.config.labels) == {"team": "gpu"}
    assert image.config.entrypoint == ("/bin/app",)
    assert image.config.history == ("RUN first", "RUN second", "RUN third", "RUN fourth")
    assert image.config.diff_ids == DIFF_IDS
    assert image.notes == ()


@pytest.mark.usefixtures("docker")
def test_docker_exports_its_layers_under_their_diff_ids() -> None:
    seen = read_all(open_image("docker:app:1"))
    assert seen.order == DIFF_IDS
    assert seen.flat() == {"/opt/a": b"1", "/opt/b": b"2", "/opt/d": b"4"}


@pytest.mark.usefixtures("docker")
def test_an_image_id_names_it_too() -> None:
    assert read_all(open_image(f"docker:{digest(BUILT.config)}")).order == DIFF_IDS
    assert open_image(f"docker:{digest(BUILT.config)[7:19]}").target.digest == digest(BUILT.config)
    with pytest.raises(TargetError, match=r"There is no image sha256:0+ here\. The Docker engine has no image"):
        open_image("sha256:" + "0" * 64)


@pytest.mark.usefixtures("docker")
def test_docker_has_no_such_image() -> None:
    with pytest.raises(TargetError, match=r"^The Docker engine has no image nowhere:2\.$"):
        open_image("docker:nowhere:2")


@pytest.mark.usefixtures("docker")
def test_docker_has_another_platform() -> None:
    with pytest.raises(TargetError, match="has app:1 for linux/amd64 only, not for linux/arm64"):
        open_image("docker:app:1", platform="arm64")


@pytest.mark.usefixtures("docker")
def test_a_name_for_another_platform_is_read_from_the_registry(
    docker_engine: str, plain_registry: str, tmp_path: Path
) -> None:
    name = f"{plain_registry}/both:1"
    load(docker_engine, build_image(IMAGE, tmp_path / "x.tar", format="docker-archive", name=name))
    arm64 = build({"platform": "linux/arm64"})
    write_files(tmp_path / "layout", layout({"1": [arm64]}))
    push(tmp_path / "layout", "1", name)
    image = open_image(name, platform="linux/arm64")
    image.close()
    assert (image.target.source, image.target.platform) == ("registry", "linux/arm64")
    assert image.notes == (
        f"The Docker engine has {name} for linux/amd64 only, not for linux/arm64. "
        "The image was read from its registry.",
    )


@pytest.mark.usefixtures("podman")
def test_podman_describes_and_exports() -> None:
    image = open_image("podman:app:1")
    assert image.target.source == "podman"
    assert image.config.env == ("CUDA_VERSION=12.4.1", "ODD=<&> \u2028 é \"'\\")
    seen = read_all(image)
    assert seen.order == DIFF_IDS
    assert seen.flat() == {"/opt/a": b"1", "/opt/b": b"2", "/opt/d": b"4"}


@pytest.mark.usefixtures("podman")
def test_a_bare_name_is_found_in_podman_when_there_is_no_docker() -> None:
    image = open_image("app:1")
    image.close()
    assert image.target.source == "podman"


@pytest.mark.usefixtures("podman")
def test_podman_has_no_such_image() -> None:
    with pytest.raises(TargetError, match=r"^Podman has no image nowhere:2\.$"):
        open_image("podman:nowhere:2")


def test_the_context_in_use_leads_to_the_engine(docker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from docker.context.config import get_context_id

    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text('{"currentContext": "mine"}')
    meta = tmp_path / "contexts" / "meta" / get_context_id("mine")
    meta.mkdir(parents=True)
    document = {"Name": "mine", "Metadata": {}, "Endpoints": {"docker": {"Host": docker, "SkipTLSVerify": False}}}
    (meta / "meta.json").write_text(json.dumps(document))
    image = open_image("docker:app:1")
    image.close()
    assert image.target.digest == digest(BUILT.config)
    monkeypatch.setenv("DOCKER_CONTEXT", "gone")
    with pytest.raises(TargetError, match="There is no docker context 'gone'"):
        open_image("docker:app:1")


@pytest.mark.parametrize(
    ("variable", "value", "target", "said"),
    [
        pytest.param(
            "DOCKER_HOST", "unix:///nowhere/docker.sock", "docker:app:1",
            "The Docker engine does not answer at /nowhere/docker.sock: No such file or directory.", id="no socket",
        ),
        pytest.param(
            "DOCKER_HOST", "tcp://127.0.0.1:1", "docker:app:1",
            "The Docker engine does not answer at tcp://127.0.0.1:1: Connection refused.", id="nobody listens",
        ),
        pytest.param(
            "CONTAINER_HOST", "unix:///nowhere/podman.sock", "podman:app:1",
            "Podman does not answer at /nowhere/podman.sock: No such file or directory.", id="no Podman there",
        ),
        pytest.param(
            "DOCKER_HOST", "gopher://user:secret@host", "docker:app:1",
            "The Docker engine does not answer at gopher://host: ", id="an address that is none",
        ),
    ],
)  # fmt: skip
def test_an_engine_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, target: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(TargetError) as caught:
        open_image(target)
    assert str(caught.value).startswith(said)
    assert "secret" not in str(caught.value)


def test_no_engine_at_all() -> None:
    with pytest.raises(TargetError, match=r"^The Docker engine does not run here; start it"):
        open_image("docker:app:1")
    with pytest.raises(TargetError, match=r"^Podman does not run here; start its service"):
        open_image("podman:app:1")


def test_a_socket_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refused(self: socket.socket, address: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/x.sock")
    with pytest.raises(TargetError, match=r"^The Docker engine may not be asked by this user: .* for /run/x\.sock"):
        open_image("docker:app:1")


@pytest.mark.parametrize("place", ["App", "app:1:2", "app@sha256:1", "../x", "a b"])
def test_what_is_no_reference_is_never_sent(place: str) -> None:
    with pytest.raises(UsageError):
        open_image(f"docker:{place}")


def engine_stub(server: Stub, api: str) -> None:
    """Answers of an engine of a certain API version that holds one image for arm64."""
    described = {"Id": "sha256:1", "Os": "linux", "Architecture": "arm64", "Config": None, "RootFS": {"Layers": []}}
    server.replies["/version"] = Answer(body=json.dumps({"ApiVersion": api}).encode())
    server.replies[f"/v{api}/images/app:1/json"] = Answer(body=json.dumps(described).encode())
    server.replies[f"/v{api}/images/app:1/history"] = Answer(500)


@pytest.mark.parametrize(
    ("api", "query"),
    [("1.48", ""), ("1.49", "?platform=%7B%22os%22%3A+%22linux%22%2C+%22architecture%22%3A+%22arm64%22%7D")],
)
def test_an_engine_that_can_hold_several_platforms_is_asked_for_one(
    monkeypatch: pytest.MonkeyPatch, api: str, query: str
) -> None:
    with stub() as server:
        engine_stub(server, api)
        monkeypatch.setenv("DOCKER_HOST", f"tcp://{server.host}")
        image = open_image("docker:app:1", platform="linux/arm64")
        image.close()
        assert server.paths()[1:] == [f"/v{api}/images/app:1/{what}{query}" for what in ("json", "history")]
        assert image.notes == ("The Docker engine does not tell the image's history: it answered 500.",)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"not json", "is not valid JSON", id="no JSON"),
        pytest.param(b'{"Config": {"Env": 7}}', "should be a list, not a number", id="another type"),
        pytest.param(b'{"Config": {"Env": ["' + b"x" * (17 << 20) + b'"]}}', "is longer than", id="too long"),
    ],
)
def test_a_description_that_makes_no_sense(monkeypatch: pytest.MonkeyPatch, body: bytes, said: str) -> None:
    with stub() as server:
        engine_stub(server, "1.41")
        server.replies["/v1.41/images/app:1/json"] = Answer(body=body)
        monkeypatch.setenv("DOCKER_HOST", f"tcp://{server.host}")
        with pytest.raises(TargetError, match=said):
            open_image("docker:app:1")
