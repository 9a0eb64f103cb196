"""Seen from inside a container: what is the host's there, and what is not."""

from __future__ import annotations

import re
from dataclasses import replace

from cudacompat import tables
from cudacompat.errors import HostError
from cudacompat.host.machine import Machine
from cudacompat.model import HostFacts

MARKS = ("/.dockerenv", "/run/.containerenv", "/.singularity.d")
CGROUP, MOUNTS = "/proc/1/cgroup", "/proc/self/mountinfo"
VARIABLES = ("KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "LD_LIBRARY_PATH")
LINKER_FOLDER = "/etc/ld.so.conf.d"
_CGROUP = re.compile(r"/(?:docker|kubepods|libpod|containerd|crio|actions_job)\b")
_OWN_DISK = re.compile(r"\S+ \S+ \S+ / / .* - \S+ /dev/\S+ ")
_ROOT = re.compile(r"^\S+ \S+ \S+ \S+ / .*(?:/docker/|containers/storage|containerd|/overlay2/|enroot)", re.MULTILINE)


def inside(machine: Machine) -> str | None:
    """What shows that this is inside a container, None where nothing does."""
    mounts = _text(machine, MOUNTS)
    for name in VARIABLES[:-1]:
        if machine.variable(name):
            return name
    for mark in MARKS:
        # A virtual machine whose disk was made from an image carries the image's marks.
        if machine.exists(mark) and not _has_own_disk(mounts):
            return mark
    if _CGROUP.search(_text(machine, CGROUP)):
        return CGROUP
    return MOUNTS if _ROOT.search(mounts) else None


def _has_own_disk(mounts: str) -> bool:
    """Whether the root folder is the top of a block device: no engine starts containers so."""
    roots = [line for line in mounts.splitlines() if line.split(" ", 5)[4:5] == ["/"]]
    return bool(roots) and _OWN_DISK.match(roots[-1]) is not None


def _text(machine: Machine, path: str) -> str:
    try:
        return machine.text(path) or ""
    except HostError:
        return ""


def compat_in_front(machine: Machine) -> str | None:
    """Where a compat directory stands in front of the driver's own libcuda, None where none is seen."""
    for place in (machine.variable("LD_LIBRARY_PATH") or "").split(":"):
        if "/compat" in place and machine.exists(f"{place.rstrip('/')}/libcuda.so.1"):
            return f"{place} in LD_LIBRARY_PATH"
    try:
        names = machine.names(LINKER_FOLDER) or ()
    except HostError:
        return None
    found = next((name for name in names if name.startswith("00-compat-")), None)
    return f"{LINKER_FOLDER}/{found}" if found else None


def with_own_cuda(host: HostFacts, machine: Machine, container: str | None) -> HostFacts:
    """The host with the CUDA version of the driver itself.

    NVML and nvidia-smi ask the libcuda that the loader finds. Where that is a compat library, they show its
    CUDA version, while the driver version stays the kernel's: then the driver's branch decides.
    """
    if host.driver is None or host.driver_cuda is None or host.os == "jetson":
        return host
    own = tables.driver_cuda(host.driver, host.os)
    if own.value is None or tables.cuda_pair(host.driver_cuda) <= tables.cuda_pair(own.value):
        return host
    place = compat_in_front(machine)
    shown = f"{host.origin} shows CUDA {host.driver_cuda}, driver {host.driver} by itself has {own.value} ({own.basis})"
    if place is None and (container is None or own.confidence != "high"):
        return replace(host, notes=(*host.notes, f"{shown}: a compat library may be in front; the shown one was taken"))
    where = f" ({place})" if place else ""
    note = f"{shown}: a compat library is in effect here{where}, so the driver's own {own.value} was taken"
    return replace(host, driver_cuda=own.value, notes=(*host.notes, note))


def container_note(mark: str) -> str:
    """What cannot be known from inside."""
    return (
        f"this is inside a container ({mark}): the driver is the host's and the GPUs are those handed in here, but "
        "the host's container toolkit, Docker and injection mode are not seen; give --toolkit-version, "
        "--docker-version or --injection"
    )
