"""This machine: every way of asking it, in order of how much they tell."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from cudacompat.errors import HostError
from cudacompat.host import nvidia_smi, proc
from cudacompat.host.options import with_driver_cuda
from cudacompat.model import HostFacts
from cudacompat.model.host import HostOs

Way = Callable[[], HostFacts | None]
WAYS: tuple[Way, ...] = (
    nvidia_smi.ask,
    proc.ask,
)
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def local_host(ways: Sequence[Way] = WAYS, root: Path = Path("/")) -> HostFacts:
    """This machine's facts: the first way that answers, with notes on those that failed before it.

    Raises HostError when no way finds a driver; the sentence says what was tried and what to give instead.
    """
    failures: list[str] = []
    for way in ways:
        try:
            found = way()
        except HostError as error:
            failures.append(str(error))
            continue
        if found is not None:
            return _completed(found, failures, root)
    why = f" ({'; '.join(failures)})" if failures else ""
    raise HostError(f"no NVIDIA driver found on this machine{why}: give --driver (and --gpu), or --host FILE")


def _completed(host: HostFacts, failures: Sequence[str], root: Path) -> HostFacts:
    os = _os(root) if host.os == "linux" else host.os
    return with_driver_cuda(replace(host, os=os, machine=local_machine(), notes=(*host.notes, *failures)))


def local_machine() -> str | None:
    """This machine's CPU architecture in OCI's words, None for those without NVIDIA drivers."""
    return _MACHINES.get(platform.machine().lower())


def _os(root: Path) -> HostOs:
    """Which of the three driver worlds this is: /dev/dxg is WSL's GPU, nv_tegra_release is L4T's mark."""
    if (root / "dev/dxg").exists():
        return "wsl2"
    return "jetson" if (root / "etc/nv_tegra_release").exists() else "linux"
