"""A driver that was updated without a reboot: the module in the kernel and the libraries on disk differ."""

from __future__ import annotations

import re

from cudacompat.errors import HostError
from cudacompat.host.machine import Machine

FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")
_LIBRARY = re.compile(r"libnvidia-ml\.so\.(\d{3,4}(?:\.\d+)+)")


class DriverMismatchError(HostError):
    """NVML's error 18, or nvidia-smi's words for it."""


def mismatch_note(machine: Machine, loaded: str | None) -> str:
    """What to do. ``loaded`` is the module's version; the libraries' is in their file names."""
    installed = [version for version in installed_libraries(machine) if version != loaded]
    module = f"the loaded kernel module is of driver {loaded}" if loaded else "the loaded kernel module is older"
    files = f"the libraries on disk of {' and '.join(installed)}" if installed else "the libraries on disk are newer"
    after = f"--driver {installed[0]}" if len(installed) == 1 else "--driver"
    return (
        f"driver/library version mismatch: {module}, {files}. The driver was updated without a reboot, and until "
        f"one no container gets a GPU, so no driver version counts now. Reboot; {after} checks for the time after it"
    )


def installed_libraries(machine: Machine) -> list[str]:
    """The versions in the names of NVML's library files, each once."""
    names: list[str] = []
    for folder in FOLDERS:
        try:
            names += machine.names(folder) or ()
        except HostError:
            continue
    return list(dict.fromkeys(found[1] for name in names if (found := _LIBRARY.fullmatch(name))))
