"""Host facts from what a user gives on the command line or in a call, laid over other facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast, get_args

from cudacompat import tables
from cudacompat.errors import UsageError
from cudacompat.host.boards import capability_only, is_jetson, named_gpu
from cudacompat.host.values import cuda_version, driver_version, release
from cudacompat.model import Gpu, HostFacts
from cudacompat.model.host import INJECTIONS, HostOs, Injection

# The word for "this host has no GPU", in the place of a GPU's name.
NO_GPU = "none"


@dataclass(frozen=True, slots=True)
class HostOptions:
    """Host facts as they were typed; None and empty mean: not given.

    ``gpus`` holds names, ready ``Gpu`` objects, or the single word "none" for a host without a GPU.
    """

    driver: str | None = None
    driver_cuda: str | None = None
    os: str | None = None
    gpus: Sequence[str | Gpu] = ()
    compute_capability: str | None = None
    injection: str | None = None
    toolkit: str | None = None
    docker: str | None = None

    def describes_a_host(self) -> bool:
        """Whether this is about a certain machine; how GPUs are injected alone can be said of this one."""
        return bool(self.driver or self.driver_cuda or self.os or self.gpus or self.compute_capability)


def with_options(options: HostOptions, base: HostFacts | None = None) -> HostFacts:
    """The facts of ``base`` with everything that was given laid over them. Raises UsageError."""
    host = base if base is not None else HostFacts()
    gpus = _gpus(options)
    host = replace(host, os=_os(options, gpus, host), gpus=host.gpus if gpus is None else gpus)
    if options.driver is not None:
        # The CUDA version belonged to the driver that has been replaced.
        host = replace(host, driver=driver_version(options.driver), driver_cuda=None)
    if options.driver_cuda is not None:
        host = replace(host, driver_cuda=cuda_version(options.driver_cuda))
    if options.injection is not None:
        host = replace(host, injection=_injection(options.injection))
    if options.toolkit is not None:
        host = replace(host, toolkit=release(options.toolkit))
    if options.docker is not None:
        host = replace(host, docker=release(options.docker))
    return with_driver_cuda(replace(host, origin=_origin(options, base)))


def with_driver_cuda(host: HostFacts) -> HostFacts:
    """The host with the CUDA version that the tables know for its driver, where nobody gave one."""
    if host.driver is None or host.driver_cuda is not None:
        return host
    return replace(host, driver_cuda=tables.driver_cuda(host.driver, os=host.os).value)


def _gpus(options: HostOptions) -> tuple[Gpu, ...] | None:
    given, capability = tuple(options.gpus), options.compute_capability
    if not given:
        return (capability_only(capability),) if capability is not None else None
    if any(isinstance(item, str) and item.strip().lower() == NO_GPU for item in given):
        if len(given) > 1 or capability is not None:
            raise UsageError("the GPU 'none' says that the host has no GPU, so it stands alone")
        return ()
    return tuple(item if isinstance(item, Gpu) else named_gpu(item, capability) for item in given)


def _os(options: HostOptions, gpus: tuple[Gpu, ...] | None, host: HostFacts) -> HostOs:
    if options.os is not None:
        if options.os not in get_args(HostOs):
            raise UsageError(f"the host system {options.os[:40]!r} is none of {', '.join(get_args(HostOs))}")
        return cast("HostOs", options.os)
    return "jetson" if any(is_jetson(gpu) for gpu in gpus or ()) else host.os


def _injection(text: str) -> Injection:
    if text not in INJECTIONS:
        raise UsageError(f"the injection mode {text[:40]!r} is none of {', '.join(INJECTIONS)}")
    return text


def _origin(options: HostOptions, base: HostFacts | None) -> str:
    if base is None:
        return "options"
    return f"{base.origin} and options" if options != HostOptions() else base.origin
