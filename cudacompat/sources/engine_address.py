"""Where local engines listen: what the environment says, the docker context in use, the usual sockets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cudacompat.sources.contract import NoEngineError, UnavailableError

if TYPE_CHECKING:
    from docker.tls import TLSConfig

Kind = Literal["docker", "podman"]

_ENGINES: dict[Kind, str] = {"docker": "the Docker engine", "podman": "Podman"}
_ADVICE: dict[Kind, str] = {
    "docker": "start it, or name it in DOCKER_HOST",
    "podman": "start its service with systemctl --user start podman.socket, or name it in CONTAINER_HOST",
}


@dataclass(frozen=True, slots=True)
class Address:
    """An engine's URL. ``engine`` is what it is called inside a sentence."""

    engine: str
    url: str
    tls: TLSConfig | None = None

    @property
    def subject(self) -> str:
        """What the engine is called at a sentence's beginning."""
        return _capital(self.engine)

    @property
    def shown(self) -> str:
        """The URL as it may be printed: a socket's path, a host without login."""
        scheme, _, rest = self.url.partition("://")
        return rest if scheme == "unix" else f"{scheme}://{rest.rpartition('@')[2]}"


def find_engine(kind: Kind) -> Address:
    """The engine's address. Raises UnavailableError when there is no engine as far as one can see."""
    name = _ENGINES[kind]
    named = _docker_named(name) if kind == "docker" else _podman_named(name)
    if named is not None:
        return named
    for path in _sockets(kind):
        # A socket that may not be looked at is there all the same: connecting to it says why.
        if _is_there(path):
            return Address(name, f"unix://{path}")
    raise NoEngineError(f"{_capital(name)} does not run here; {_ADVICE[kind]}.")


def _docker_named(name: str) -> Address | None:
    if os.environ.get("DOCKER_HOST"):
        from docker.errors import DockerException
        from docker.utils import kwargs_from_env

        try:
            settings = kwargs_from_env()
        # A certificate that DOCKER_CERT_PATH promises and that is not there.
        except (DockerException, OSError) as error:
            raise UnavailableError(f"DOCKER_HOST cannot be used: {error}.") from error
        return Address(name, settings["base_url"], settings.get("tls"))
    return _of_context(name)


def _of_context(name: str) -> Address | None:
    """The address by the docker context in use, None for the default one."""
    config = Path(os.environ.get("DOCKER_CONFIG") or Path("~/.docker").expanduser()) / "config.json"
    chosen = os.environ.get("DOCKER_CONTEXT")
    if not chosen and not config.exists():
        return None
    from docker.context import ContextAPI
    from docker.context.config import get_current_context_name

    chosen = chosen or get_current_context_name()
    if chosen == "default":
        return None
    try:
        context = ContextAPI.get_context(chosen)
        host = context.Host if context else None
    # The library lets through whatever a broken file leads to, up to bare Exceptions.
    except Exception as error:
        raise UnavailableError(f"The docker context {chosen!r} cannot be read: {error}.") from error
    if not host:
        raise UnavailableError(f"There is no docker context {chosen!r}; docker context ls lists those there are.")
    return Address(name, host, context.TLSConfig)


def _podman_named(name: str) -> Address | None:
    url = os.environ.get("CONTAINER_HOST")
    return Address(name, url) if url else None


def _sockets(kind: Kind) -> Iterator[Path]:
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    if kind == "docker":
        yield Path("/var/run/docker.sock")
        yield runtime / "docker.sock"
        yield Path("~/.docker/run/docker.sock").expanduser()
    else:
        yield runtime / "podman" / "podman.sock"
        yield Path("/run/podman/podman.sock")


def _is_there(path: Path) -> bool:
    try:
        return path.is_socket()
    except OSError:
        return True


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]
