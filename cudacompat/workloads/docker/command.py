"""`docker run` and `podman run` command lines as the engines' own parsers read them.

Source: docker/cli opts/gpus.go and its outputs with CLI 28.2.2; options from docker-run(1) and podman-run(1).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from cudacompat.workloads.arguments import Grammar, parse
from cudacompat.workloads.launchers import unwrap

_ENGINES = frozenset({"docker", "podman", "nvidia-docker", "nerdctl"})
_VERBS = frozenset({"run", "create"})
_SHORT = {
    "a": "attach", "c": "cpu-shares", "d": "detach", "e": "env", "h": "hostname", "i": "interactive", "l": "label",
    "m": "memory", "P": "publish-all", "p": "publish", "q": "quiet", "t": "tty", "u": "user", "v": "volume",
    "w": "workdir",
}  # fmt: skip
_FLAGS_NAMES = """
    detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged publish-all
    quiet read-only rm sig-proxy tty replace tls-verify env-host http-proxy no-hosts rmi read-only-tmpfs passwd
    systemd-flag use-api-socket unsetenv-all rootfs no-hostname
"""
_FLAGS = frozenset(_FLAGS_NAMES.split())
_GRAMMAR = Grammar(_SHORT, _FLAGS)
_GLOBAL = Grammar(
    {"c": "context", "D": "debug", "H": "host", "l": "log-level"}, frozenset({"debug", "tls", "tlsverify"})
)


@dataclass(frozen=True, slots=True)
class GpuFlag:
    """One --gpus value as the CLI reads it.

    ``count`` -1: all; None when the value is refused. ``refused`` is the CLI's or the daemon's reason.
    """

    text: str
    count: int | None
    device_ids: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    driver: str = ""
    refused: str = ""
    refused_by_daemon: bool = False


@dataclass(frozen=True, slots=True)
class DockerRun:
    """A run line: engine, image, what follows it, and the options that concern GPUs."""

    engine: str
    image: str
    command: tuple[str, ...]
    line: int
    gpu_requests: tuple[GpuFlag, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    runtime: str | None = None
    devices: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    privileged: bool = False
    entrypoint: str | None = None


def is_engine_run(words: Sequence[str]) -> bool:
    """Whether the command line is `docker run` or one of its kin."""
    if not words or words[0].rsplit("/", 1)[-1] not in _ENGINES:
        return False
    rest = parse(words[1:], _GLOBAL).rest
    return bool(rest) and (rest[0] in _VERBS or rest[:2] in (("container", "run"), ("container", "create")))


def parse_run(words: Sequence[str], line: int) -> DockerRun:
    """Parse a line for which is_engine_run holds. ``image`` is "" when the line has none."""
    words, _ = unwrap(words)
    engine = words[0].rsplit("/", 1)[-1]
    rest = parse(words[1:], _GLOBAL).rest
    found = parse(rest[2:] if rest[0] == "container" else rest[1:], _GRAMMAR)
    env = dict(_env(text) for text in found.all("env"))
    return DockerRun(
        engine="docker" if engine == "nvidia-docker" else engine,
        image=found.rest[0] if found.rest else "",
        command=found.rest[1:],
        line=line,
        gpu_requests=tuple(read_gpus(text) for text in found.all("gpus")),
        env=MappingProxyType(env),
        runtime=found.last("runtime") or ("nvidia" if engine == "nvidia-docker" else None),
        devices=found.all("device"),
        volumes=found.all("volume") + found.all("mount"),
        privileged=found.last("privileged") not in (None, "false"),
        entrypoint=found.last("entrypoint"),
    )


def _env(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    return name, value if equals else f"${name}"


def read_gpus(text: str) -> GpuFlag:
    """Read a --gpus value: one CSV record of count, device=, capabilities=, driver=, options= fields."""
    try:
        fields = next(csv.reader([text], strict=True), [])
    except csv.Error:
        return GpuFlag(text, None, refused=f"{text!r} is no CSV record: a quote is missing")
    if not fields or text == "":
        return GpuFlag(text, None, refused="the value is empty")
    count: int | None = None
    ids: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    driver = ""
    for number, part in enumerate(fields):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = "count", part
            if number == 0 and part == "":
                return GpuFlag(text, None, refused="the value is empty")
        if key == "count":
            count = _count(value)
            if count is None:
                return GpuFlag(text, None, refused=f'invalid count ({value}): it must be "all" or a whole number')
        elif key == "device":
            ids = tuple(value.split(","))
        elif key == "capabilities":
            capabilities = tuple(value.split(","))
        elif key == "driver":
            driver = value
        elif key != "options":
            return GpuFlag(text, None, refused=f"unexpected key {key!r} in {part!r}")
    if count is None:
        count = 0 if ids else 1
    both = bool(ids) and count != 0
    refused = "cannot set both Count and DeviceIDs on device request" if both else ""
    return GpuFlag(text, count, ids, capabilities, driver, refused, both)


def _count(value: str) -> int | None:
    if value == "all":
        return -1
    return int(value) if re.fullmatch(r"[+-]?\d{1,9}", value) else None
