"""What is known about a host. None always means: nobody said, and nothing was assumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Injection = Literal["legacy", "cdi", "csv", "enroot", "apptainer", "apptainer-nvccli", "gke", "none"]
INJECTIONS: tuple[Injection, ...] = get_args(Injection)
HostOs = Literal["linux", "wsl2", "jetson"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of the host.

    ``compute_capability`` is "major.minor"; ``brands`` every NVML brand the board may report, in
    libnvidia-container's words and lower case ("tesla", "nvidia"), empty when unknown.
    ``forward_compat`` tells whether forward compatibility supports the board: True, False, or None where
    NVIDIA's documents do not decide. ``mig`` are the UUIDs of its MIG instances and ``mig_profiles`` their
    profiles ("1g.10gb") in the same order; ``mig_enabled`` None: nobody said. ``memory_mib`` is in MiB.
    """

    name: str | None = None
    compute_capability: str | None = None
    brands: tuple[str, ...] = ()
    uuid: str | None = None
    forward_compat: bool | None = None
    architecture: str | None = None
    mig: tuple[str, ...] = ()
    mig_profiles: tuple[str, ...] = ()
    mig_enabled: bool | None = None
    memory_mib: int | None = None


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The facts of one host that decide a launch.

    ``driver`` is the kernel driver's version ("535.104.05"; under WSL the Windows number); ``driver_cuda``
    the CUDA version it reports, None when neither given nor derivable; ``machine`` is "amd64" or "arm64".
    ``gpus`` None: nobody said which; empty: the host has none. ``toolkit`` is the NVIDIA container
    toolkit's version, ``docker`` the engine's. ``origin`` says where the facts come from ("options",
    "nvidia-smi", a file's name). ``notes`` are sentences on what could not be learned, ``details`` on how
    containers get GPUs there and how that is known, ``faults`` on what is broken there and keeps containers
    from a GPU whatever their image.
    """

    driver: str | None = None
    driver_cuda: str | None = None
    os: HostOs = "linux"
    machine: str | None = None
    gpus: tuple[Gpu, ...] | None = None
    injection: Injection | None = None
    toolkit: str | None = None
    docker: str | None = None
    origin: str = "options"
    notes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
