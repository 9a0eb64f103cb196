"""Logins where docker and podman keep them."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from cudacompat.sources.credentials import Credentials, Login, find_login

HOST = "reg.example:5000"


def auth(login: str = "user:pass") -> dict[str, str]:
    return {"auth": base64.b64encode(login.encode()).decode()}


def write(path: Path, document: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any login."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DOCKER_CONFIG", "XDG_CONFIG_HOME", "REGISTRY_AUTH_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path


def helper(folder: Path, name: str, answers: Mapping[str, tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A credential helper that knows these servers."""
    cases = "".join(
        f"""{server}) echo '{json.dumps({"ServerURL": server, "Username": user, "Secret": secret})}';;\n"""
        for server, (user, secret) in answers.items()
    )
    program = folder / "bin" / f"docker-credential-{name}"
    write(
        program,
        f'#!/bin/sh\nread server\ncase "$server" in\n{cases}*) echo "credentials not found in native keychain"; exit 1;;\nesac\n',
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")


def test_no_file_at_all(home: Path) -> None:
    assert find_login(HOST, "app") == Login(None)


@pytest.mark.parametrize(
    ("path", "variables"),
    [
        pytest.param(".docker/config.json", {}, id="docker's own place"),
        pytest.param("other/config.json", {"DOCKER_CONFIG": "other"}, id="DOCKER_CONFIG"),
        pytest.param("run/containers/auth.json", {}, id="podman's place at run time"),
        pytest.param(".config/containers/auth.json", {}, id="podman's lasting place"),
        pytest.param("xdg/containers/auth.json", {"XDG_CONFIG_HOME": "xdg"}, id="XDG_CONFIG_HOME"),
        pytest.param("my.json", {"REGISTRY_AUTH_FILE": "my.json"}, id="REGISTRY_AUTH_FILE"),
    ],
)
def test_every_place(home: Path, monkeypatch: pytest.MonkeyPatch, path: str, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, str(home / value))
    written = write(home / path, {"auths": {HOST: auth()}})
    assert find_login(HOST, "app") == Login(Credentials(written, "user", "pass"))


@pytest.mark.parametrize(
    ("key", "host", "repository", "found"),
    [
        pytest.param(HOST, HOST, "a/b", True, id="the host"),
        pytest.param(f"https://{HOST}", HOST, "a/b", True, id="an address"),
        pytest.param(f"https://{HOST}/v2/", HOST, "a/b", True, id="the API's address"),
        pytest.param(f"{HOST}/a", HOST, "a/b", True, id="a part of the registry"),
        pytest.param(f"{HOST}/a/b", HOST, "a/b", True, id="one repository"),
        pytest.param(f"{HOST}/a/b", HOST, "a/bc", False, id="another repository"),
        pytest.param(f"{HOST}/c", HOST, "a/b", False, id="another part of the registry"),
        pytest.param("reg.example", HOST, "a/b", False, id="another port"),
        pytest.param("evil-" + HOST, HOST, "a/b", False, id="another host"),
        pytest.param("https://index.docker.io/v1/", "docker.io", "library/x", True, id="Docker Hub's old address"),
        pytest.param("docker.io", "docker.io", "library/x", True, id="Docker Hub"),
        pytest.param("index.docker.io", "docker.io", "library/x", True, id="Docker Hub's index"),
        pytest.param("https://index.docker.io/v1/", HOST, "a", False, id="Docker Hub's login for another host"),
    ],
)
def test_a_login_is_for_one_place_alone(home: Path, key: str, host: str, repository: str, found: bool) -> None:
    write(home / ".docker/config.json", {"auths": {key: auth()}})
    assert (find_login(host, repository).credentials is not None) is found


def test_the_closest_part_of_a_registry_wins(home: Path) -> None:
    auths = {HOST: auth("host:1"), f"{HOST}/a": auth("part:2"), f"{HOST}/a/b/c": auth("deep:3")}
    write(home / ".config/containers/auth.json", {"auths": auths})
    logins = {name: find_login(HOST, name).credentials for name in ("x", "a/b", "a/b/c/d")}
    assert {name: found and found.username for name, found in logins.items()} == {
        "x": "host",
        "a/b": "part",
        "a/b/c/d": "deep",
    }


def test_a_password_may_have_colons_and_letters_of_any_kind(home: Path) -> None:
    write(home / ".docker/config.json", {"auths": {HOST: auth("user:pa:ß:ss")}})
    found = find_login(HOST, "app").credentials
    assert found is not None
    assert found.password == "pa:ß:ss"


def test_an_identity_token(home: Path) -> None:
    path = write(home / ".docker/config.json", {"auths": {HOST: {**auth("x:"), "identitytoken": "t"}}})
    assert find_login(HOST, "app").credentials == Credentials(path, identity_token="t")


def test_a_helper_for_one_registry(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper(home, "mine", {HOST: ("user", "pass")}, monkeypatch)
    path = write(home / ".docker/config.json", {"auths": {HOST: {}}, "credHelpers": {HOST: "mine"}})
    assert find_login(HOST, "app") == Login(Credentials(path, "user", "pass"))
    assert find_login("other.example", "app") == Login(None)


@pytest.mark.parametrize(
    ("host", "server"), [(HOST, HOST), ("docker.io", "https://index.docker.io/v1/")], ids=["a registry", "Docker Hub"]
)
def test_a_store_for_all_registries(home: Path, monkeypatch: pytest.MonkeyPatch, host: str, server: str) -> None:
    helper(home, "all", {server: ("<token>", "t")}, monkeypatch)
    path = write(home / ".docker/config.json", {"credsStore": "all"})
    assert find_login(host, "app") == Login(Credentials(path, identity_token="t"))
    assert find_login("other.example", "app") == Login(None)


def test_a_helper_that_is_not_installed_is_said_so(home: Path) -> None:
    path = write(home / ".docker/config.json", {"credsStore": "missing"})
    second = write(home / ".config/containers/auth.json", {"auths": {HOST: auth()}})
    login = find_login(HOST, "app")
    assert login.credentials == Credentials(second, "user", "pass")
    assert login.problems == (
        f"The credential helper docker-credential-missing does not work. The login that {path} refers to is missing.",
    )


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        {"auths": {HOST: "text"}},
        {"auths": {HOST: {"auth": "not base64!"}}},
        {"auths": {HOST: {"auth": "bm9jb2xvbg=="}}},
        {"auths": {HOST: {"auth": 7}}},
        {"auths": [1]},
        {"credHelpers": [1]},
    ],
    ids=str,
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_named(home: Path, document: object) -> None:
    path = write(home / ".docker/config.json", document)
    assert find_login(HOST, "app") == Login(None, (f"{path} is not a file of registry logins that can be read.",))


@pytest.mark.parametrize(
    "document", [{}, {"psFormat": "x"}, {"auths": {}}, {"auths": {HOST: {}}}, {"HttpHeaders": {"X": "y"}}], ids=str
)
def test_a_file_without_logins(home: Path, document: object) -> None:
    write(home / ".docker/config.json", document)
    assert find_login(HOST, "app") == Login(None)


def test_a_login_does_not_show_when_printed() -> None:
    assert "pass" not in repr(Credentials("file", "user", "pass", "token"))
