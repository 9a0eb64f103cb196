"""What a Compose file meets on a machine: Compose's release, and the runtimes that the engine knows."""

from __future__ import annotations

import json
import re

from cudacompat.errors import HostError
from cudacompat.host.docker import INFO
from cudacompat.host.machine import Machine

_COMMANDS = (("docker", "compose", "version", "--short"), ("docker-compose", "version", "--short"))


def compose_version(machine: Machine) -> tuple[int, ...] | None:
    """Compose's (major, minor, patch), of docker's plugin or else of docker-compose; None when neither tells."""
    for command in _COMMANDS:
        match = re.match(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})", _answer(machine, *command))
        if match is not None:
            return tuple(map(int, match.groups()))
    return None


def runtimes(machine: Machine) -> frozenset[str] | None:
    """The names of the engine's runtimes, None when it does not tell."""
    try:
        said = json.loads(_answer(machine, "docker", *INFO))
    except (ValueError, RecursionError):
        return None
    found = said.get("Runtimes") if isinstance(said, dict) else None
    return frozenset(map(str, found)) if isinstance(found, dict) and found else None


def _answer(machine: Machine, program: str, *arguments: str) -> str:
    try:
        answer = machine.ask(program, *arguments)
    except HostError:
        return ""
    return "" if answer is None else answer.out
