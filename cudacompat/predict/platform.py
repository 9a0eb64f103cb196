"""Stage platform: an image for this operating system and architecture exists."""

from __future__ import annotations

import re

from cudacompat.model import CudaError, Finding, HostFacts, ImageFacts, Stage
from cudacompat.predict.launch import Judged, Launch

# Boards that exist only with NVIDIA's own Arm CPUs (Grace, Tegra, GB10): naming one names the architecture.
_ARM_BOARDS = re.compile(r"\b(?:GH200|GB200|GB300|GB10|Grace|Jetson|Orin|Xavier|Thor|Tegra)\b", re.IGNORECASE)
_ELF_NAMES = {"amd64": "x86_64", "arm64": "aarch64"}


def machine_of(host: HostFacts, gpu_name: str | None) -> str | None:
    """The host's architecture in OCI's words, given or implied by the board; None when neither says."""
    if host.machine:
        return host.machine
    if host.os == "jetson" or (gpu_name and _ARM_BOARDS.search(gpu_name)):
        return "arm64"
    return None


def judge(launch: Launch) -> Judged:
    """Compare the chosen platform with the host's."""
    platform = launch.image.target.platform or launch.image.config.platform
    system, _, rest = platform.partition("/")
    machine = machine_of(launch.host, launch.gpu.name)
    architecture = rest.partition("/")[0]
    if system == "unknown" or architecture in ("", "unknown"):
        return _unnamed(launch, machine)
    if system != "linux":
        return _wrong(launch, platform, "the image is no Linux image")
    if machine is not None and architecture != machine:
        return _wrong(launch, platform, f"the host is {machine}")
    said = f"the image is for {platform}" + ("" if machine else " (the host's architecture was not given)")
    return Judged(Stage("platform", "ok", said), tuple(_binaries_differ(launch.image, architecture)))


def _unnamed(launch: Launch, machine: str | None) -> Judged:
    """A folder or a broken config names no platform: the binaries do."""
    named = {name for name in launch.image.machines if name in _ELF_NAMES.values()}
    if len(named) != 1:
        summary = "the image names no platform, and its binaries do not tell it either"
        return Judged(Stage("platform", "unknown", summary, missing=("platform",)))
    found = next(name for name, elf in _ELF_NAMES.items() if elf in named)
    if machine is not None and found != machine:
        return _wrong(launch, f"linux/{found} (by its binaries)", f"the host is {machine}")
    return Judged(Stage("platform", "ok", f"the image's binaries are for {found}", confidence="medium"))


def _wrong(launch: Launch, platform: str, why: str) -> Judged:
    offered = [name for name in launch.image.available_platforms if name != platform]
    others = f"; the index also offers {', '.join(offered)}" if offered else ""
    summary = f"the image is for {platform}, but {why}{others}"
    error = CudaError(None, None, "exec format error")
    fix = "Pull or build the image for the host's platform (--platform)."
    finding = Finding("platform-mismatch", "error", "platform", summary, fix)
    return Judged(Stage("platform", "fails", summary, error=error), (finding,))


def _binaries_differ(image: ImageFacts, architecture: str) -> list[Finding]:
    wanted = _ELF_NAMES.get(architecture)
    others = {name: count for name, count in image.machines.items() if name in _ELF_NAMES.values()}
    if wanted is None or not others or wanted in others:
        return []
    seen = ", ".join(f"{count} {name}" for name, count in others.items())
    message = f"the config says {architecture}, but the image's binaries are {seen}"
    fix = "Check the build: a wrong base image or platform variant ends in 'exec format error'."
    return [Finding("machine-mismatch", "warning", "platform", message, fix)]
