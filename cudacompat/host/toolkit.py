"""The NVIDIA container toolkit: its release and what its config file says."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cudacompat.errors import HostError, UsageError
from cudacompat.host.machine import Machine
from cudacompat.host.values import release

# The GPU Operator keeps its own beside the toolkit that it installs.
CONFIGS = (
    "/etc/nvidia-container-runtime/config.toml",
    "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml",
)
PROGRAMS = ("nvidia-ctk", "nvidia-container-cli", "nvidia-container-runtime")
# "NVIDIA Container Toolkit CLI version 1.17.8", "cli-version: 1.17.8", "NVIDIA Container Runtime version 1.17.8"
_VERSION = re.compile(r"(?:NVIDIA Container [A-Za-z ]{1,30}|cli-)version:?\s+v?(\d+\.\d+\.\d+\S{0,40})")
_MODES = ("auto", "legacy", "csv", "cdi", "jit-cdi")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """``version`` None: not installed or not told. ``mode`` is config.toml's, None when that cannot be read."""

    version: str | None = None
    mode: str | None = None
    installed: bool = False
    notes: tuple[str, ...] = ()


def learn(machine: Machine) -> Toolkit:
    """The toolkit of a machine. What could not be learned is a note."""
    notes: list[str] = []
    found = {name: version for name in PROGRAMS if (version := _version(machine, name, notes)) is not None}
    if len(set(found.values())) > 1:
        told = ", ".join(f"{name} {version}" for name, version in found.items())
        notes.append(f"the parts of the container toolkit are of different releases: {told}; the first one was taken")
    installed = bool(found) or any(machine.which(name) for name in PROGRAMS)
    if not installed:
        return Toolkit()
    mode = _mode(machine, notes)
    return Toolkit(next(iter(found.values()), None), mode, True, tuple(notes))


def _version(machine: Machine, program: str, notes: list[str]) -> str | None:
    try:
        answer = machine.ask(program, "--version")
    except HostError as error:
        notes.append(str(error))
        return None
    if answer is None:
        return None
    version = toolkit_version(answer.out)
    if version is None:
        notes.append(f"{program} --version told no release: {answer.words[:120] or f'code {answer.code}'}")
    return version


def toolkit_version(text: str) -> str | None:
    """The release in what one of the toolkit's programs prints."""
    found = _VERSION.search(text)
    try:
        return release(found[1]) if found else None
    except UsageError:
        return None


def _mode(machine: Machine, notes: list[str]) -> str | None:
    """The runtime's mode; without a config file the default, auto."""
    for path in CONFIGS:
        try:
            text = machine.text(path)
        except HostError as error:
            notes.append(f"{error}, so the toolkit's mode is not known")
            return None
        if text is not None:
            return _read_config(text, path, notes)
    return "auto"


def _read_config(text: str, path: str, notes: list[str]) -> str | None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        config = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        notes.append(f"{path} is no TOML ({error}), so the toolkit's mode is not known")
        return None
    notes += _telling(config, path)
    mode = _table(config, "nvidia-container-runtime").get("mode", "auto") or "auto"
    if mode not in _MODES:
        notes.append(f"{path} names the mode {str(mode)[:40]!r}, which is not known")
        return None
    return str(mode)


def _table(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = config.get(name, {})
    return table if isinstance(table, dict) else {}


def _telling(config: Mapping[str, Any], path: str) -> list[str]:
    """Settings that change a launch and that the prediction does not take into account."""
    found = []
    if config.get("disable-require") is True:
        found.append("disable-require = true: NVIDIA_REQUIRE_* refuses nothing there")
    if config.get("accept-nvidia-visible-devices-envvar-when-unprivileged") is False:
        found.append("accept-nvidia-visible-devices-envvar-when-unprivileged = false: only privileged containers ask")
    features = _table(config, "features")
    if features.get("disable-cuda-compat-lib-hook") is True:
        found.append("disable-cuda-compat-lib-hook = true: CDI puts no compat library in front")
    if features.get("allow-cuda-compat-libs-from-container") is True:
        found.append("allow-cuda-compat-libs-from-container = true: compat files are mounted as before 1.17.4")
    legacy = _table(_table(_table(config, "nvidia-container-runtime"), "modes"), "legacy")
    if legacy.get("cuda-compat-mode", "ldconfig") != "ldconfig":
        found.append(f"cuda-compat-mode = {str(legacy['cuda-compat-mode'])[:20]!r}: another choice of compat libraries")
    return [f"{path} has {text}; the prediction goes by the defaults" for text in found]
