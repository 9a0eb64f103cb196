"""Shared by all tests: no login, engine or context of the machine leaks in; real servers, started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import servers

_SURROUNDINGS = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "CONTAINER_HOST")
USER, PASSWORD = "reader", "pass:word/ä"


@pytest.fixture(scope="session", autouse=True)
def _no_surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    empty = str(tmp_path_factory.mktemp("empty"))
    with pytest.MonkeyPatch.context() as patch:
        for name in (*_SURROUNDINGS, "REGISTRY_AUTH_FILE"):
            patch.delenv(name, raising=False)
        for name in ("DOCKER_CONFIG", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
            patch.setenv(name, empty)
        # What one test reads is not to answer for another's broken copy of it.
        patch.setenv("CUDACOMPAT_NO_CACHE", "1")
        yield


@pytest.fixture(scope="session")
def plain_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real registry that asks nobody for a login: "127.0.0.1:port"."""
    with servers.registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture(scope="session")
def private_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real registry with the one user USER and PASSWORD."""
    with servers.registry(tmp_path_factory.mktemp("private"), users={USER: PASSWORD}) as host:
        yield host


@pytest.fixture(scope="session")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real dockerd, empty at first: its URL."""
    with servers.docker_engine(tmp_path_factory.mktemp("docker")) as address:
        yield address


@pytest.fixture(scope="session")
def podman_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Podman service, empty at first: its URL."""
    with servers.podman_engine(tmp_path_factory.mktemp("podman")) as address:
        yield address
