"""WSL 2: Linux containers on a Windows driver."""

from __future__ import annotations

from cudacompat.host.machine import Machine

DEVICE = "/dev/dxg"
LIBRARIES = ("/usr/lib/wsl/lib/libdxcore.so", "/usr/lib/x86_64-linux-gnu/libdxcore.so")


def is_wsl(machine: Machine) -> bool:
    """Whether the GPU is reached through Windows: /dev/dxg is its device."""
    return machine.exists(DEVICE)


def wsl_faults(machine: Machine) -> tuple[str, ...]:
    """What is missing for GPUs under WSL."""
    if any(machine.exists(path) for path in LIBRARIES):
        return ()
    return (
        "libdxcore.so is not where WSL puts it (/usr/lib/wsl/lib): containers get no GPU without it; update WSL and "
        "the Windows driver, and start no Linux driver inside WSL",
    )
