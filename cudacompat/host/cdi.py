"""CDI specifications: whether containers can be given NVIDIA GPUs by name, and whether the spec is still right."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from cudacompat.errors import HostError
from cudacompat.host.machine import Machine

# CDI's own defaults; Docker and podman use the same.
FOLDERS = ("/etc/cdi", "/var/run/cdi")
KIND = "nvidia.com/gpu"
_ENDINGS = (".yaml", ".yml", ".json")
_MOST_FILES = 64
# A top-level line of the YAML that nvidia-ctk writes; a YAML reader would add nothing but a dependency.
_KIND = re.compile(r"""^["']?kind["']?\s*:\s*["']?([\w.-]{1,100}/[\w.-]{1,100})""", re.MULTILINE)
_LIBCUDA = re.compile(r"libcuda\.so\.(\d{3,4}(?:\.\d+)+)")
_HOOK = "enable-cuda-compat"


@dataclass(frozen=True, slots=True)
class Spec:
    """One specification file of kind nvidia.com/gpu: ``driver`` is the version in the library names it hands in."""

    path: str
    compat_hook: bool
    driver: str | None


@dataclass(frozen=True, slots=True)
class Specs:
    """The specifications for GPUs, and what could not be read. ``complete`` False: there may be more."""

    gpu: tuple[Spec, ...] = ()
    complete: bool = True
    notes: tuple[str, ...] = ()


def learn(machine: Machine, folders: Sequence[str] = FOLDERS) -> Specs:
    """The CDI specifications of a machine that name NVIDIA GPUs."""
    specs: list[Spec] = []
    notes: list[str] = []
    for folder in folders:
        try:
            names = machine.names(folder) or ()
            for name in [name for name in names if name.endswith(_ENDINGS)][:_MOST_FILES]:
                specs += _spec(f"{folder}/{name}", machine.text(f"{folder}/{name}") or "")
        except HostError as error:
            notes.append(str(error))
    return Specs(tuple(specs), not notes, tuple(notes))


def _spec(path: str, text: str) -> list[Spec]:
    if _kind(text) != KIND:
        return []
    drivers = set(_LIBCUDA.findall(text))
    return [Spec(path, _HOOK in text, drivers.pop() if len(drivers) == 1 else None)]


def _kind(text: str) -> str | None:
    if not text.lstrip().startswith("{"):
        found = _KIND.search(text)
        return found[1] if found else None
    try:
        kind = json.loads(text).get("kind")
    except (ValueError, RecursionError):
        return None
    return kind if isinstance(kind, str) else None


def of_another_driver(specs: Specs, driver: str | None) -> tuple[str, ...]:
    """Sentences on specifications that hand in the files of a driver that is no more."""
    return tuple(
        f"{spec.path} hands in the files of driver {spec.driver}, the driver is {driver}: CDI containers fail; "
        f"write it anew with 'nvidia-ctk cdi generate --output={spec.path}'"
        for spec in specs.gpu
        if spec.driver and driver and spec.driver != driver
    )


def without_hook(specs: Specs) -> tuple[str, ...]:
    """Sentences on specifications older than a toolkit that would write the compat hook."""
    return tuple(
        f"{spec.path} has no {_HOOK} hook, which this toolkit would write: an image's compat library is not "
        "put in front by it; the prediction assumes a fresh spec"
        for spec in specs.gpu
        if not spec.compat_hook
    )
