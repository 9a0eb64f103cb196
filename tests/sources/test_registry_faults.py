"""What no real registry does: faults on the way, attacks, and what must never leave for another host."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cudacompat.errors import TargetError
from cudacompat.layers.interface import OpenImage
from cudacompat.sources import open_image
from tests.support.images import OCI, as_json, build, descriptor, digest, index, manifest_entry
from tests.support.opened import read_all
from tests.support.stub import Answer, Request, Stub, stub

BUILT = build({"env": {"A": "1"}, "layers": [{"files": {"/a": "1"}}, {"files": {"/b": "2"}}]})
# Another time in its gzip header: the same files from other bytes.
SWAPPED = BUILT.blobs[1][:4] + b"\1" + BUILT.blobs[1][5:]
MANIFEST = "/v2/app/manifests/1"
SECRET = "s3cret-pass"
SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1+prettyjws"


@pytest.fixture
def server() -> Iterator[Stub]:
    """A stub that holds BUILT as app:1."""
    with stub() as state:
        state.serve(BUILT.registry_paths())
        yield state


@pytest.fixture
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were to be waited."""
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    return waited


def opened(server: Stub) -> OpenImage:
    return open_image(f"registry:{server.host}/app:1")


def refused(server: Stub) -> str:
    """The sentence that the image is refused with, which holds no secret."""
    with pytest.raises(TargetError) as caught:
        read_all(opened(server))
    assert SECRET not in str(caught.value)
    return str(caught.value)


def logged_in(folder: Path, host: str, monkeypatch: pytest.MonkeyPatch, **entry: str) -> None:
    """A docker configuration with one login."""
    fields = entry or {"auth": base64.b64encode(f"user:{SECRET}".encode()).decode()}
    (folder / "config.json").write_text(json.dumps({"auths": {host: fields}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))


def manifest(**fields: object) -> bytes:
    """BUILT's manifest with some fields changed."""
    return as_json(json.loads(BUILT.manifest) | fields)


def test_an_image_costs_two_requests_and_its_layers_one_each(server: Stub) -> None:
    image = opened(server)
    assert server.paths() == [MANIFEST, f"/v2/app/blobs/{digest(BUILT.config)}"]
    assert read_all(image).flat() == {"/a": b"1", "/b": b"2"}
    assert len(server.paths()) == 4


def test_an_image_of_an_index_costs_three_requests(server: Stub) -> None:
    entries = [manifest_entry(build({"platform": "linux/arm64"})), manifest_entry(BUILT)]
    server.serve({MANIFEST: (OCI + "index.v1+json", as_json(index(entries)))})
    opened(server).close()
    assert len(server.paths()) == 3


def test_a_layer_that_nobody_reads_is_not_fetched(server: Stub) -> None:
    image = opened(server)
    assert [blob.digest for blob in image.layers()] == [digest(blob) for blob in BUILT.blobs]
    image.close()
    assert len(server.paths()) == 2


def test_no_proxy_stands_between_us_and_this_machine(server: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert read_all(opened(server)).flat() == {"/a": b"1", "/b": b"2"}


@pytest.mark.parametrize(
    ("status", "headers", "waited"),
    [
        pytest.param(429, {"Retry-After": "7"}, [7.0], id="too many requests, and when to come back"),
        pytest.param(503, {}, [1.0], id="unavailable for a moment"),
        pytest.param(502, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, [1.0], id="a date that is not read"),
    ],
)
def test_a_passing_failure_is_tried_again(
    server: Stub, no_sleep: list[float], status: int, headers: dict[str, str], waited: list[float]
) -> None:
    good = server.replies[MANIFEST]
    assert isinstance(good, Answer)
    answers = iter([Answer(status, headers), good])
    server.replies[MANIFEST] = lambda _: next(answers)
    opened(server).close()
    assert no_sleep == waited


@pytest.mark.parametrize(
    ("answer", "said", "requests"),
    [
        pytest.param(Answer(503), "answered 503 when asked for", 3, id="a failure that stays"),
        pytest.param(Answer(429), "has had too many requests", 3, id="too many requests for good"),
        pytest.param(Answer(429, {"Retry-After": "86400"}), "asks to wait 86400 seconds", 1, id="a wait of a day"),
        pytest.param(Answer(404), "does not exist in the registry", 1, id="missing"),
        pytest.param(Answer(403), "does not exist or needs a login", 1, id="forbidden"),
        pytest.param(Answer(401), "does not exist or needs a login", 1, id="a challenge without a word"),
        pytest.param(Answer(418, body=b'{"errors": [{"code": "TEAPOT"}]}'), "answered 418 (TEAPOT)", 1, id="a code"),
        pytest.param(Answer(302, {"Location": "/v2/app/manifests/1"}), "redirects in circles", 6, id="a circle"),
        pytest.param(Answer(302, {"Location": "file:///etc/passwd"}), "without TLS", 1, id="a redirect to a file"),
        pytest.param(Answer(302, {"Location": "http://example.invalid/x"}), "without TLS", 1, id="a plain redirect"),
        pytest.param(Answer(302, {"Location": "http://[oops/"}), "an address that is none", 1, id="a broken redirect"),
        pytest.param(Answer(body=b"{" + b" " * (5 << 20)), "longer than 4096 KiB", 1, id="a huge manifest"),
        pytest.param(Answer(body=b"<html>"), "is not valid JSON", 1, id="a web page"),
        pytest.param(Answer(body=b"[" * 100_000), "is not valid JSON", 1, id="JSON without bottom"),
        pytest.param(Answer(body=b"{}", length=9), "the connection broke off", 1, id="a manifest cut short"),
        pytest.param(Answer(headers={"Content-Type": SCHEMA_1}, body=b'{"schemaVersion": 1}'), "schema 1", 1, id="old"),
        pytest.param(Answer(headers={"Content-Type": "text/x"}, body=b"{}"), "unknown type text/x", 1, id="unknown"),
        pytest.param(Answer(body=as_json(index([]))), "lists no image", 1, id="an index of nothing"),
    ],
)
def test_a_manifest_that_cannot_be_used(
    server: Stub, no_sleep: list[float], answer: Answer, said: str, requests: int
) -> None:
    server.replies[MANIFEST] = answer
    assert said in refused(server)
    assert len(server.requests) == requests


def test_a_helm_chart_is_no_image(server: Stub) -> None:
    config = descriptor(b"{}", "application/vnd.cncf.helm.config.v1+json")
    server.serve({MANIFEST: (OCI + "manifest.v1+json", manifest(config=config))})
    assert "application/vnd.cncf.helm.config.v1+json, not a container image" in refused(server)


def test_an_index_that_leads_to_itself_ends(server: Stub) -> None:
    inner = as_json(index([descriptor(BUILT.manifest, OCI + "index.v1+json")]))
    for _ in range(8):
        server.serve({f"/v2/app/manifests/{digest(inner)}": (OCI + "index.v1+json", inner)})
        inner = as_json(index([descriptor(inner, OCI + "index.v1+json")]))
    server.serve({MANIFEST: (OCI + "index.v1+json", inner)})
    assert "nests indexes more than 5 deep" in refused(server)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        pytest.param(f"manifests/{digest(BUILT.manifest)}", manifest(layers=[]), "The manifest", id="the manifest"),
        pytest.param(f"blobs/{digest(BUILT.config)}", b"{}", "The config", id="the config"),
        pytest.param(f"blobs/{digest(BUILT.blobs[1])}", SWAPPED, "Layer", id="a layer"),
    ],
)
def test_other_bytes_than_the_digest_says(server: Stub, path: str, body: bytes, said: str) -> None:
    server.serve({f"/v2/app/{path}": ("", body)})
    with pytest.raises(TargetError, match=rf"{said}.* does not match its digest"):
        read_all(open_image(f"registry:{server.host}/app@{digest(BUILT.manifest)}"))


def test_a_layer_that_breaks_off(server: Stub) -> None:
    blob = BUILT.blobs[1]
    server.replies[f"/v2/app/blobs/{digest(blob)}"] = Answer(body=blob[:50], length=len(blob))
    assert refused(server) == (
        f"Layer {digest(blob)} from {server.host} could not be read to its end: the connection broke off; try again."
    )


def test_a_layer_without_end_is_not_read_beyond_its_size(server: Stub) -> None:
    blob = BUILT.blobs[1]
    server.replies[f"/v2/app/blobs/{digest(blob)}"] = Answer(body=blob + bytes(4 << 20))
    assert f"is longer than the {len(blob)} bytes" in refused(server)


def test_foreign_layers_are_left_out_and_said_so(server: Stub) -> None:
    layers = json.loads(BUILT.manifest)["layers"]
    layers[0]["mediaType"] = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
    server.serve({MANIFEST: (OCI + "manifest.v1+json", manifest(layers=layers))})
    image = opened(server)
    delivered = [blob.digest for blob in image.layers()]
    assert image.notes == (f"Layer {digest(BUILT.blobs[0])} is foreign: it was not read.",)
    assert delivered == [digest(BUILT.blobs[1])]
    assert image.layer_order() == tuple(digest(blob) for blob in BUILT.blobs)


def challenge(realm: str, wanted: str) -> Callable[[Answer], Callable[[Request], Answer]]:
    """Wraps an answer: only with the header ``wanted`` it is given."""
    asked = Answer(401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="reg",scope="repository:app:pull"'})
    return lambda good: lambda request: good if request.headers.get("Authorization") == wanted else asked


def guard(server: Stub, realm: str, wanted: str = "Bearer t0ken") -> None:
    """Ask for a token before anything is given out."""
    wrap = challenge(realm, wanted)
    server.replies = {
        path: wrap(reply) if isinstance(reply, Answer) else reply for path, reply in server.replies.items()
    }


def test_an_anonymous_token_is_fetched_once(server: Stub) -> None:
    guard(server, f"http://{server.host}/token")
    server.replies["/token"] = Answer(body=b'{"token": "t0ken"}')
    assert read_all(opened(server)).flat() == {"/a": b"1", "/b": b"2"}
    tokens = [path for path in server.paths() if path.startswith("/token")]
    assert tokens == ["/token?service=reg&scope=repository%3Aapp%3Apull"]


def test_a_login_goes_to_the_token_service_alone(server: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard(server, f"http://{server.host}/token?account=x")
    server.replies["/token"] = Answer(body=b'{"access_token": "t0ken"}')
    logged_in(tmp_path, server.host, monkeypatch)
    assert read_all(opened(server)).flat() == {"/a": b"1", "/b": b"2"}
    basic = "Basic " + base64.b64encode(f"user:{SECRET}".encode()).decode()
    for request in server.requests:
        expected = {basic} if request.path.startswith("/token?account=x&service=reg") else {"Bearer t0ken", None}
        assert request.headers.get("Authorization") in expected


def test_an_identity_token_is_posted(server: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard(server, f"http://{server.host}/token")
    server.replies["/token"] = Answer(body=b'{"access_token": "t0ken"}')
    logged_in(tmp_path, server.host, monkeypatch, identitytoken=SECRET)
    opened(server).close()
    posted = next(request for request in server.requests if request.method == "POST")
    assert f"refresh_token={SECRET}" in posted.body.decode()
    assert "grant_type=refresh_token" in posted.body.decode()
    assert all(SECRET not in request.path for request in server.requests)


def test_an_expired_token_is_fetched_anew(server: Stub) -> None:
    valid = ["0"]
    numbers = iter(range(10))
    realm = f"http://{server.host}/token"
    for path, good in list(server.replies.items()):
        assert isinstance(good, Answer)
        server.replies[path] = lambda request, good=good: challenge(realm, f"Bearer {valid[0]}")(good)(request)
    server.replies["/token"] = lambda _: Answer(body=as_json({"token": str(next(numbers))}))
    image = opened(server)
    valid[0] = "1"
    assert read_all(image).flat() == {"/a": b"1", "/b": b"2"}


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(Answer(401), "refused the login from", id="a wrong password"),
        pytest.param(Answer(500), "gave no token: it answered 500", id="a broken service"),
        pytest.param(Answer(body=b"{}"), "is none", id="no token in it"),
        pytest.param(Answer(body=b'{"token": "a\\r\\nHost: b"}'), "is none", id="a token that is a header of its own"),
        pytest.param(Answer(body=b"x" * (2 << 20)), "longer than 1024 KiB", id="a token without end"),
    ],
)
def test_a_token_service_that_fails(
    server: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_sleep: list[float], reply: Answer, said: str
) -> None:
    guard(server, f"http://{server.host}/token")
    server.replies["/token"] = reply
    logged_in(tmp_path, server.host, monkeypatch)
    assert said in refused(server)


def test_a_login_is_not_sent_to_a_token_service_without_tls(
    server: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard(server, "http://tokens.invalid/token")
    logged_in(tmp_path, server.host, monkeypatch)
    assert "wants the login sent to tokens.invalid without TLS; it was not sent" in refused(server)


def test_an_authorization_stays_behind_on_a_redirect_to_another_host(
    server: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged_in(tmp_path, server.host, monkeypatch)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login user password {SECRET}\n")
    basic = "Basic " + base64.b64encode(f"user:{SECRET}".encode()).decode()
    asked = Answer(401, {"WWW-Authenticate": 'Basic realm="x"'})
    with stub() as storage:
        for blob in BUILT.blobs:
            path = f"/v2/app/blobs/{digest(blob)}"
            storage.replies["/signed" + path] = Answer(body=blob)
            server.replies[path] = Answer(307, {"Location": f"http://{storage.host}/signed{path}?signature=x"})
        wrapped = {path: reply for path, reply in server.replies.items() if isinstance(reply, Answer)}
        for path, good in wrapped.items():
            server.replies[path] = lambda request, good=good: (
                good if request.headers.get("Authorization") == basic else asked
            )
        assert read_all(opened(server)).flat() == {"/a": b"1", "/b": b"2"}
        assert storage.sent("Authorization") == set()
        assert server.sent("Authorization") == {basic}


def test_another_host_cannot_ask_for_the_login(server: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged_in(tmp_path, server.host, monkeypatch)
    with stub("localhost") as thief:
        path = f"/v2/app/blobs/{digest(BUILT.blobs[0])}"
        server.replies[path] = Answer(307, {"Location": f"http://{thief.host}/x?{SECRET}"})
        thief.replies["/x"] = Answer(401, {"WWW-Authenticate": f'Bearer realm="http://{thief.host}/token"'})
        assert refused(server).endswith(f"lies at {thief.host}, which answered 401.")
        assert thief.sent("Authorization") == set()
        assert thief.paths() == [f"/x?{SECRET}"]


def test_a_platform_in_the_config_counts_more_than_in_the_index(server: Stub) -> None:
    arm64 = replace(BUILT, platform="linux/arm64")
    server.serve({MANIFEST: (OCI + "index.v1+json", as_json(index([manifest_entry(arm64)])))})
    image = opened(server)
    image.close()
    assert image.target.platform == "linux/amd64"


def test_connection_refused_names_host_and_reason() -> None:
    with pytest.raises(TargetError, match=r"^127\.0\.0\.1:1 could not be reached: Connection refused\.$"):
        open_image("registry:127.0.0.1:1/app:1")


def test_a_host_that_is_not_known_is_named() -> None:
    with pytest.raises(TargetError, match=r"^registry\.invalid could not be reached: its name is not known\.$"):
        open_image("registry:registry.invalid/app:1")
