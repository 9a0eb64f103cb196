"""Images of real registries: pushed by skopeo, read by us."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from cudacompat.errors import TargetError
from cudacompat.sources import open_image
from tests.conftest import PASSWORD, USER
from tests.support import tokens
from tests.support.images import Built, Compression, build, digest, layout, write_files
from tests.support.opened import read_all
from tests.support.servers import push, registry, self_signed
from tests.support.stub import Answer, Request, stub

pytestmark = pytest.mark.registry

TWO_LAYERS = {
    "env": {"CUDA_VERSION": "12.4.1"},
    "labels": {"team": "gpu"},
    "layers": [
        {"created_by": "RUN base", "files": {"/etc/os-release": "ID=debian\n", "/opt/a": "old"}},
        {"created_by": "RUN app", "files": {"/opt/a": "new"}},
    ],
}


def pushed(
    folder: Path, host: str, repository: str, *built: Built, nested: bool = False, user: str | None = None
) -> str:
    """Push one image, or an index of several, and return its reference."""
    write_files(folder / "layout", layout({"1": list(built)}, nested=nested))
    push(folder / "layout", "1", f"{host}/{repository}:1", user=user)
    return f"{host}/{repository}:1"


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
def test_config_and_layers_are_what_was_pushed(plain_registry: str, tmp_path: Path, compression: Compression) -> None:
    built = build(TWO_LAYERS, compression)
    reference = pushed(tmp_path, plain_registry, f"team/{compression}", built)
    image = open_image(f"registry:{reference}")
    assert image.target.source == "registry"
    assert image.target.reference == f"registry:{reference}"
    assert image.target.digest == digest(built.manifest)
    assert image.config.env == ("CUDA_VERSION=12.4.1",)
    assert dict(image.config.labels) == {"team": "gpu"}
    assert image.config.history == ("RUN base", "RUN app")
    seen = read_all(image)
    assert seen.order == tuple(digest(blob) for blob in built.blobs)
    assert seen.flat() == {"/etc/os-release": b"ID=debian\n", "/opt/a": b"new"}


@pytest.mark.parametrize(
    "spelling",
    ["{}", "registry:{}", "registry://{}", "docker://{}", "image://{}", "{}@{digest}", "registry:{}@{digest}"],
)
def test_every_spelling_finds_it(plain_registry: str, tmp_path: Path, spelling: str) -> None:
    built = build(TWO_LAYERS)
    reference = pushed(tmp_path, plain_registry, "spelled", built)
    image = open_image(spelling.format(reference, digest=digest(built.manifest)))
    image.close()
    assert (image.target.source, image.target.digest) == ("registry", digest(built.manifest))


def test_an_index_is_followed_to_the_platform(plain_registry: str, tmp_path: Path) -> None:
    amd64, arm64 = build(TWO_LAYERS), build({"platform": "linux/arm64/v8", "env": {"ARM": "1"}})
    reference = pushed(tmp_path, plain_registry, "multi", arm64, amd64, nested=True)
    default = open_image(reference)
    arm = open_image(reference, platform="linux/arm64")
    assert default.target.digest == digest(amd64.manifest)
    assert default.available_platforms == ("linux/arm64/v8", "linux/amd64")
    assert "linux/amd64 was read" in default.notes[0]
    assert (arm.target.digest, arm.target.platform, arm.notes) == (digest(arm64.manifest), "linux/arm64/v8", ())
    with pytest.raises(TargetError, match="no image for linux/ppc64le; it offers linux/arm64/v8, linux/amd64"):
        open_image(reference, platform="linux/ppc64le")


def test_the_only_image_there_is_must_fit_the_platform_named(plain_registry: str, tmp_path: Path) -> None:
    reference = pushed(tmp_path, plain_registry, "single", build(TWO_LAYERS))
    with pytest.raises(TargetError, match="is for linux/amd64, not for linux/arm64"):
        open_image(reference, platform="linux/arm64")


def test_an_image_that_does_not_exist_names_every_place_asked(plain_registry: str) -> None:
    with pytest.raises(TargetError) as caught:
        open_image(f"{plain_registry}/nowhere:2")
    assert str(caught.value) == (
        f"{plain_registry}/nowhere:2 was not found. "
        "The Docker engine does not run here; start it, or name it in DOCKER_HOST. "
        f"{plain_registry}/nowhere:2 does not exist in the registry {plain_registry}."
    )


def test_a_login_of_docker_is_used(private_registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = build(TWO_LAYERS)
    reference = pushed(tmp_path, private_registry, "secret/app", built, user=f"{USER}:{PASSWORD}")
    write_login(tmp_path / "config.json", private_registry, f"{USER}:{PASSWORD}")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert read_all(open_image(reference)).flat()["/opt/a"] == b"new"


def test_a_login_of_podman_is_used(private_registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = pushed(tmp_path, private_registry, "secret/podman", build(TWO_LAYERS), user=f"{USER}:{PASSWORD}")
    write_login(tmp_path / "auth.json", f"{private_registry}/secret", f"{USER}:{PASSWORD}")
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "auth.json"))
    assert read_all(open_image(reference)).flat()["/opt/a"] == b"new"


def test_without_a_login_the_message_says_how_to_log_in(private_registry: str) -> None:
    with pytest.raises(TargetError, match=rf"needs a login: docker login {private_registry}"):
        open_image(f"registry:{private_registry}/secret/app:1")


def test_a_refused_login_is_not_repeated_in_the_message(
    private_registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_login(tmp_path / "config.json", private_registry, f"{USER}:hunter2")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with pytest.raises(TargetError, match=r"does not let the login from .*config\.json read") as caught:
        open_image(f"registry:{private_registry}/secret/app:1")
    assert "hunter2" not in str(caught.value)


def test_a_certificate_that_nobody_vouches_for_is_refused_unless_the_host_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path)
    (tmp_path / "tls").mkdir()
    built = build(TWO_LAYERS)
    with registry(tmp_path / "tls", tls=certificate) as host:
        reference = pushed(tmp_path, host, "tls", built)
        with pytest.raises(TargetError, match=f"The certificate of {host} was not accepted"):
            open_image(f"registry:{reference}")
        for options in ({"insecure_hosts": [host]}, {"insecure_hosts": ["127.0.0.1"]}):
            assert read_all(open_image(f"registry:{reference}", **options)).flat()["/opt/a"] == b"new"
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
        assert read_all(open_image(f"registry:{reference}")).flat()["/opt/a"] == b"new"


def test_a_mirror_is_asked_first_and_the_registry_when_it_has_nothing(plain_registry: str, tmp_path: Path) -> None:
    built = build(TWO_LAYERS)
    pushed(tmp_path, plain_registry, "cache/library/app", built)
    image = open_image("registry:app:1", mirrors={"docker.io": f"http://{plain_registry}/cache"})
    image.close()
    assert image.target.digest == digest(built.manifest)
    with stub() as empty:
        image = open_image(f"{plain_registry}/cache/library/app:1", mirrors={plain_registry: empty.host})
        image.close()
        assert empty.paths() == ["/v2/cache/library/app/manifests/1"]
        assert image.notes[0].startswith(f"The mirror {empty.host} was of no use: ")


def test_an_index_with_attestations_offers_only_images(plain_registry: str, tmp_path: Path) -> None:
    built = build(TWO_LAYERS)
    attestation = build({"platform": "unknown/unknown"})
    reference = pushed(tmp_path, plain_registry, "attested", attestation, built, nested=True)
    image = open_image(reference)
    image.close()
    assert (image.target.digest, image.available_platforms) == (digest(built.manifest), ("linux/amd64",))


def write_login(path: Path, host: str, login: str) -> None:
    """A file of logins as docker and podman write it."""
    path.write_text(json.dumps({"auths": {host: {"auth": base64.b64encode(login.encode()).decode()}}}))


def test_a_registry_that_wants_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = self_signed(tmp_path)
    login = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    def give(request: Request) -> Answer:
        if request.headers.get("Authorization") != login:
            return Answer(401)
        scopes = parse_qs(urlsplit(request.path).query).get("scope", [])
        return Answer(body=json.dumps({"token": tokens.signed_token(scopes, certificate, key)}).encode())

    (tmp_path / "registry").mkdir()
    with stub() as service:
        service.replies["/token"] = give
        settings = tokens.settings(f"http://{service.host}/token", certificate)
        with registry(tmp_path / "registry", token=settings) as host:
            reference = pushed(tmp_path, host, "team/app", build(TWO_LAYERS), user=f"{USER}:{PASSWORD}")
            service.requests.clear()
            with pytest.raises(TargetError, match=f"{service.host} gave no token: it answered 401"):
                open_image(f"registry:{reference}")
            write_login(tmp_path / "config.json", host, f"{USER}:{PASSWORD}")
            monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
            assert read_all(open_image(f"registry:{reference}")).flat()["/opt/a"] == b"new"
            assert service.paths()[-1].endswith("scope=repository%3Ateam%2Fapp%3Apull")
            assert len(service.requests) == 2
