"""The Docker engine: what it says of itself, or what its files say where it does not answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cudacompat.errors import HostError, UsageError
from cudacompat.host import cdi
from cudacompat.host.machine import Machine
from cudacompat.host.values import release

DAEMON_FILES = ("/etc/docker/daemon.json",)
INFO = ("info", "--format", "{{json .}}")


@dataclass(frozen=True, slots=True)
class Docker:
    """``version`` and ``runtime`` (the default one) None: not told. ``cdi_folders`` empty: CDI is off.

    ``own_vm`` is Docker Desktop: its engine and toolkit live in a virtual machine of their own.
    """

    installed: bool = False
    version: str | None = None
    runtime: str | None = None
    cdi_folders: tuple[str, ...] | None = None
    own_vm: bool = False
    rootless: bool = False
    notes: tuple[str, ...] = ()


def learn(machine: Machine) -> Docker:
    """The engine that `docker run` on a machine speaks to."""
    if machine.which("docker") is None and machine.which("dockerd") is None:
        return Docker()
    address = machine.variable("DOCKER_HOST") or ""
    if not address.startswith("unix://") and address:
        return Docker(True, notes=(f"DOCKER_HOST is {address[:80]}: docker run goes to another machine than this one",))
    try:
        answer = machine.ask("docker", *INFO)
    except HostError as error:
        return _by_files(machine, str(error))
    said = None if answer is None else _object(answer.out)
    if said is not None and isinstance(said.get("version"), dict):
        return Docker()  # podman under docker's name
    version = None if said is None else _release(said.get("ServerVersion"))
    if said is None or version is None:
        why = answer.err.strip().splitlines()[-1:] if answer is not None else []
        return _by_files(machine, " ".join(why)[:200])
    return _by_answer(said, version)


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _release(text: object) -> str | None:
    try:
        return release(text) if isinstance(text, str) else None
    except UsageError:
        return None


def _by_answer(said: Mapping[str, Any], version: str) -> Docker:
    folders, security = said.get("CDISpecDirs"), said.get("SecurityOptions")
    runtime = said.get("DefaultRuntime")
    return Docker(
        installed=True,
        version=version,
        runtime=runtime if isinstance(runtime, str) and runtime else None,
        # Engines before 25 do not know the key; null and an empty list mean that CDI is off.
        cdi_folders=tuple(map(str, folders or ())) if "CDISpecDirs" in said else None,
        own_vm="Docker Desktop" in str(said.get("OperatingSystem")),
        rootless=isinstance(security, list) and any("rootless" in str(item) for item in security),
    )


def _by_files(machine: Machine, why: str) -> Docker:
    """Version and settings of an engine that does not answer, as its program and file tell them."""
    notes = [f"Docker's engine was not asked{f' ({why})' if why else ''}: what its files say counts here"]
    version = None
    try:
        answer = machine.ask("dockerd", "--version")
        # "Docker version 29.2.0, build ..."
        version = _release(answer.out.rpartition("version ")[2].partition(",")[0]) if answer else None
    except HostError as error:
        notes.append(str(error))
    settings: Mapping[str, Any] | None = {}
    for path in _daemon_files(machine):
        try:
            text = machine.text(path)
        except HostError as error:
            notes.append(str(error))
            settings = None
            break
        if text is not None:
            settings = _object(text)
            notes += [f"{path} is no JSON object"] if settings is None else []
            break
    if settings is None:
        return Docker(True, version, notes=tuple(notes))
    return Docker(True, version, _runtime(settings), _folders(settings), notes=tuple(notes))


def _daemon_files(machine: Machine) -> tuple[str, ...]:
    home = machine.variable("HOME")
    return (*DAEMON_FILES, *((f"{home}/.config/docker/daemon.json",) if home else ()))


def _runtime(settings: Mapping[str, Any]) -> str:
    chosen = settings.get("default-runtime")
    return chosen if isinstance(chosen, str) and chosen else "runc"


def _folders(settings: Mapping[str, Any]) -> tuple[str, ...]:
    features, folders = settings.get("features"), settings.get("cdi-spec-dirs")
    if isinstance(features, dict) and features.get("cdi") is False:
        return ()
    return tuple(map(str, folders)) if isinstance(folders, list) and any(folders) else cdi.FOLDERS
