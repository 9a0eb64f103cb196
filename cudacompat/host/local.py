"""A machine's facts: every way of asking it, in order of how much they tell."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace

from cudacompat.errors import HostError
from cudacompat.host import jetson, nvidia_smi, nvml, proc
from cudacompat.host.container import container_note, inside, with_own_cuda
from cudacompat.host.machine import LocalMachine, Machine, oci_architecture
from cudacompat.host.merge import filled, is_complete
from cudacompat.host.mismatch import DriverMismatchError, mismatch_note
from cudacompat.host.options import with_driver_cuda
from cudacompat.host.stack import with_stack
from cudacompat.host.wsl import is_wsl, wsl_faults
from cudacompat.model import HostFacts

Way = Callable[[Machine], HostFacts | None]
WAYS: tuple[Way, ...] = (
    nvml.ask,
    nvidia_smi.ask,
    proc.ask,
    jetson.ask,
)


def local_host(ways: Sequence[Way] = WAYS, machine: Machine | None = None) -> HostFacts:
    """A machine's facts, by default this one's: the ways' answers merged, with notes on what they could not tell.

    Raises HostError when no way finds a driver; the sentence says what was tried and what to give instead.
    """
    asked = machine or LocalMachine()
    found, failures, mismatch = _told(asked, ways)
    if found is None and mismatch is None:
        told = f"answers on {asked.name} ({'; '.join(failures)})" if failures else f"found on {asked.name}"
        raise HostError(f"no NVIDIA driver {told}: give --driver (and --gpu), or --host FILE|ssh://NODE")
    if mismatch is not None:
        loaded = found.driver if found is not None else None
        # Neither version counts before the reboot, so neither is a fact to predict with.
        found = replace(found or HostFacts(), driver=None, driver_cuda=None, origin=asked.name)
        found = replace(found, faults=(mismatch_note(asked, loaded), *found.faults))
    return _completed(replace(found or HostFacts(), notes=(*failures, *(found.notes if found else ()))), asked)


def _told(machine: Machine, ways: Sequence[Way]) -> tuple[HostFacts | None, list[str], DriverMismatchError | None]:
    """What the ways told, merged; the sentences of those that failed; and the mismatch that one of them met."""
    found: HostFacts | None = None
    failures: list[str] = []
    mismatch: DriverMismatchError | None = None
    for way in ways:
        if found is not None and is_complete(found) and way is not jetson.ask:
            continue
        try:
            answer = way(machine)
        except DriverMismatchError as error:
            mismatch = error
        except HostError as error:
            failures.append(str(error))
        else:
            if answer is not None:
                found = answer if found is None else filled(found, answer)
    return found, failures, mismatch


def _completed(host: HostFacts, machine: Machine) -> HostFacts:
    """The host with its system, its container stack, and the CUDA version that is the driver's own."""
    if is_wsl(machine):
        detail = "under WSL the driver is the Windows one, and so is its number"
        host = replace(host, os="wsl2", details=(*host.details, detail), faults=(*host.faults, *wsl_faults(machine)))
    host = replace(host, machine=machine.architecture() or host.machine)
    mark = inside(machine)
    host = with_driver_cuda(with_own_cuda(host, machine, mark))
    host = replace(host, notes=(*host.notes, *_reasons(host)), faults=(*host.faults, *_faults(host)))
    if mark is not None:
        return replace(host, notes=(*host.notes, container_note(mark)))
    return with_stack(host, machine)


def _reasons(host: HostFacts) -> tuple[str, ...]:
    """Why a fact is null, where no way said it."""
    reasons = []
    if host.driver is not None and host.driver_cuda is None:
        reasons.append(
            f"the CUDA version of driver {host.driver} is neither shown nor in the table: give --driver-cuda"
        )
    if host.gpus is None:
        reasons.append("the GPUs are not known: neither NVML nor nvidia-smi answered; give --gpu")
    return tuple(reasons)


def _faults(host: HostFacts) -> tuple[str, ...]:
    """GPUs that nothing can use as they are."""
    if not any(gpu.mig_enabled and not gpu.mig for gpu in host.gpus or ()):
        return ()
    return ("a GPU has MIG enabled and no instance was seen: CUDA finds no device there until one is made",)


def local_machine() -> str | None:
    """This machine's CPU architecture in OCI's words, None for those without NVIDIA drivers."""
    return oci_architecture(platform.machine())
