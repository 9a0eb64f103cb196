"""Laying the answers of several ways over each other: what the first one lacks, the next may fill."""

from __future__ import annotations

from dataclasses import replace

from cudacompat.model import Gpu, HostFacts


def filled(host: HostFacts, other: HostFacts) -> HostFacts:
    """``host`` with what it lacks taken from ``other``. The origin names both where ``other`` gave something."""
    richer = replace(
        host,
        driver=host.driver or other.driver,
        driver_cuda=host.driver_cuda or other.driver_cuda,
        os=other.os if host.os == "linux" else host.os,
        gpus=_gpus(host.gpus, other.gpus),
    )
    gave = richer != host
    return replace(
        richer,
        origin=f"{host.origin} and {other.origin}" if gave and host.origin != other.origin else host.origin,
        notes=tuple(dict.fromkeys((*host.notes, *other.notes))),
        details=tuple(dict.fromkeys((*host.details, *other.details))),
        faults=tuple(dict.fromkeys((*host.faults, *other.faults))),
    )


def _gpus(ours: tuple[Gpu, ...] | None, theirs: tuple[Gpu, ...] | None) -> tuple[Gpu, ...] | None:
    """Both ways number GPUs by their bus; where they disagree on how many there are, the first one counts."""
    if ours is None or theirs is None or len(ours) != len(theirs):
        return theirs if ours is None else ours
    return tuple(_gpu(one, other) for one, other in zip(ours, theirs, strict=True))


def _gpu(one: Gpu, other: Gpu) -> Gpu:
    if one.uuid and other.uuid and one.uuid != other.uuid:
        return one
    return Gpu(
        name=one.name or other.name,
        compute_capability=one.compute_capability or other.compute_capability,
        brands=one.brands or other.brands,
        uuid=one.uuid or other.uuid,
        forward_compat=one.forward_compat if one.forward_compat is not None else other.forward_compat,
        architecture=one.architecture or other.architecture,
        mig=one.mig or other.mig,
        mig_profiles=one.mig_profiles if one.mig else other.mig_profiles,
        mig_enabled=one.mig_enabled if one.mig_enabled is not None else other.mig_enabled,
        memory_mib=one.memory_mib if one.memory_mib is not None else other.memory_mib,
    )


def is_complete(host: HostFacts) -> bool:
    """Whether another way could add nothing that a prediction uses."""
    known = host.gpus is not None and all(gpu.name and gpu.compute_capability for gpu in host.gpus)
    return known and host.driver is not None and host.driver_cuda is not None
