"""Engine command lines of a script, or one line alone."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from cudacompat.model.host import Injection
from cudacompat.workloads.docker.command import DockerRun, is_engine_run, parse_run
from cudacompat.workloads.images import is_unexpanded
from cudacompat.workloads.interface import GpuRequest, ImageUse, Workload
from cudacompat.workloads.launchers import unwrap
from cudacompat.workloads.shell.script import flatten, read_script


@dataclass(frozen=True, slots=True)
class DockerLines:
    """The `docker run` and `podman run` lines of a text."""

    path: str
    text: str
    runs: tuple[DockerRun, ...]


def read_lines(text: str, path: str) -> DockerLines:
    """Find the run lines of a shell script."""
    runs = []
    for command in flatten(read_script(text, path), path):
        words, _ = unwrap(command.words)
        if is_engine_run(words):
            runs.append(parse_run(words, command.line))
    return DockerLines(path, text, tuple(runs))


def workloads_of(lines: DockerLines) -> tuple[Workload, ...]:
    """Each run line in the form that all formats share."""
    return tuple(_workload(lines.path, run) for run in lines.runs)


def _workload(path: str, run: DockerRun) -> Workload:
    requests = tuple(
        GpuRequest("--gpus", len(f.device_ids) or (None if f.count == -1 else f.count), "container", run.line)
        for f in run.gpu_requests
    )
    uses = (image_use(run),) if run.image else ()
    return Workload("docker-run", path, f"{run.engine} run {run.image}", run.line, uses, requests)


def image_use(run: DockerRun) -> ImageUse:
    """The use of the line's image."""
    # As the engines do: the image that is there already, else the registry's.
    target = None if is_unexpanded(run.image) else f"image://{run.image}"
    cdi = any(device.startswith("nvidia.com/") for device in run.devices)
    injection: Injection | None = "cdi" if cdi else None
    why_not = "" if target else "the name holds variables that this text does not set"
    asks = bool(run.gpu_requests) or run.runtime == "nvidia" or cdi
    return ImageUse(
        run.image, run.line, f"{run.engine} run", injection, target, why_not, asks, MappingProxyType(dict(run.env))
    )
