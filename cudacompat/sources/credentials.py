"""Logins of registries, from where docker and podman keep them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cudacompat.sources.reference import DOCKER_HUB

if TYPE_CHECKING:
    from docker.auth import AuthConfig

_MAX_FILE = 4 << 20
# The key that docker login has always used for Docker Hub.
_HUB_KEY = "https://index.docker.io/v1/"


@dataclass(frozen=True, slots=True)
class Credentials:
    """A login: a name and a password, or an identity token. ``origin`` is the file that led to it."""

    origin: str
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Login:
    """What was found for a registry, and sentences on what could not be read."""

    credentials: Credentials | None
    problems: tuple[str, ...] = ()


def find_login(host: str, repository: str) -> Login:
    """The login for a repository of a registry; the first file that has one wins.

    Files: REGISTRY_AUTH_FILE, docker's config.json (DOCKER_CONFIG, ~/.docker), podman's auth.json. Their
    credential helpers and stores are asked through docker's library, when the file itself has no login.
    Never raises.
    """
    problems: list[str] = []
    for path in _files():
        try:
            document = _read(path)
            found = None if document is None else _find(document, host, repository, path)
        except ValueError:
            problems.append(f"{path} is not a file of registry logins that can be read.")
        except OSError as error:
            problems.append(f"{path} could not be read: {error.strerror or type(error).__name__}.")
        except _HelperError as error:
            problems.append(f"{error} The login that {path} refers to is missing.")
        else:
            if found is not None:
                return Login(found, tuple(problems))
    return Login(None, tuple(problems))


class _Store(Protocol):
    """What is used of docker.credentials.Store."""

    def get(self, server: str) -> Mapping[str, str]:
        """Username and Secret."""


class _HelperError(Exception):
    """A credential helper that does not work; says which."""


def _files() -> Iterator[str]:
    named = os.environ.get("REGISTRY_AUTH_FILE")
    if named:
        yield named
    home = Path("~").expanduser()
    yield str(Path(os.environ.get("DOCKER_CONFIG") or home / ".docker", "config.json"))
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield str(Path(runtime, "containers", "auth.json"))
    yield f"/run/containers/{os.getuid()}/auth.json"
    yield str(Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "containers", "auth.json"))


def _read(path: str) -> Mapping[str, object] | None:
    try:
        with Path(path).open("rb") as file:
            document = json.loads(file.read(_MAX_FILE))
    except FileNotFoundError:
        return None
    if not isinstance(document, dict):
        raise ValueError("not an object")
    return document


def _find(document: Mapping[str, object], host: str, repository: str, path: str) -> Credentials | None:
    from docker.auth import AuthConfig
    from docker.errors import DockerException

    # Only these keys: a file without them would be taken for the form that docker used before 2015.
    known = {key: document[key] for key in ("auths", "credHelpers", "credsStore") if document.get(key)}
    if not known:
        return None
    try:
        config = AuthConfig.load_config(None, known)
        entries = [_entry(config, key) for key in _keys(host, repository)]
        helper = config.get_credential_store(_HUB_KEY if host == DOCKER_HUB else host)
    except (DockerException, AttributeError, TypeError) as error:
        raise ValueError("not a login file") from error
    stored = next((found for entry in entries if (found := _as_credentials(entry, path)) is not None), None)
    return stored or (_from_helper(helper, host, path) if helper else None)


def _keys(host: str, repository: str) -> Iterator[str]:
    """Podman's keys may name a part of a registry: the closest first."""
    parts = repository.split("/")
    for end in range(len(parts), 0, -1):
        yield "/".join((host, *parts[:end]))
    yield host


def _entry(config: AuthConfig, key: str) -> object:
    """What the file itself says under a key, in any of the spellings of old tools."""
    spellings = [f"{start}{key}{end}" for start in ("", "https://", "http://") for end in ("", "/", "/v1/", "/v2/")]
    if key == DOCKER_HUB:
        spellings += [_HUB_KEY, "index.docker.io", "index.docker.io/v1/", "registry-1.docker.io"]
    return next((config.auths[name] for name in spellings if config.auths.get(name)), None)


def _from_helper(helper: str, host: str, path: str) -> Credentials | None:
    from docker.credentials import Store
    from docker.credentials.errors import CredentialsNotFound, StoreError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the helper is not installed is said below
            store: _Store = Store(helper)
            answer = store.get(_HUB_KEY if host == DOCKER_HUB else host)
        name, secret = answer["Username"], answer["Secret"]
    except CredentialsNotFound:
        return None
    except (StoreError, ValueError, KeyError, TypeError, OSError) as error:
        raise _HelperError(f"The credential helper docker-credential-{helper} does not work.") from error
    return Credentials(path, identity_token=secret) if name == "<token>" else Credentials(path, name, secret)


def _as_credentials(entry: object, origin: str) -> Credentials | None:
    if not isinstance(entry, dict):
        return None
    fields = {str(key).lower(): value for key, value in entry.items() if isinstance(value, str)}
    name, password, token = (fields.get(key, "") for key in ("username", "password", "identitytoken"))
    return Credentials(origin, name, password, token) if name or token else None
