"""The result of reading a container's environment, whichever runtime reads it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """The request that a runtime would carry out.

    ``devices`` are the entries of the device list, empty for "none" and for containers without a request;
    ``capabilities`` are sorted. ``requirements`` are sorted too (the toolkit passes them in random order);
    enroot's stand in the order of their variables' names, in which it passes them. ``error`` is the text of
    a refusal, None without one. ``is_gpu_container`` False: the runtime does nothing at all.
    """

    devices: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    error: str | None = None
    is_gpu_container: bool = False
    is_legacy_image: bool = False
    disable_require: bool = False
    imex_channels: tuple[str, ...] = ()
    mig_config: str | None = None
    mig_monitor: str | None = None


CAPABILITIES = ("compat32", "compute", "display", "graphics", "ngx", "utility", "video")
