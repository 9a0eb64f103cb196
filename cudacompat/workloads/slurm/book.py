"""The rule book of Slurm scripts, and what several of its rules ask of a script."""

from __future__ import annotations

from collections.abc import Iterator

from cudacompat.workloads.images import brings_cuda, guess_from_file
from cudacompat.workloads.interface import RuleBook
from cudacompat.workloads.slurm.options import OptionSet
from cudacompat.workloads.slurm.reader import Container, Launch, SlurmScript

BOOK: RuleBook[SlurmScript] = RuleBook()
_GPU_SERVERS = frozenset({"vllm", "tgi", "sglang"})
_GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")


def job_sets(script: SlurmScript) -> Iterator[OptionSet]:
    """Options that make a job: the script's, or each srun line's when there is no script around them."""
    if script.is_batch:
        yield script.job
        return
    seen: set[int] = set()
    for launch in script.launches:
        if launch.step is not None and id(launch.step) not in seen:
            seen.add(id(launch.step))
            yield launch.step.own


def step_sets(script: SlurmScript) -> Iterator[OptionSet]:
    """The own options of each srun step inside a batch script."""
    if not script.is_batch:
        return
    seen: set[int] = set()
    for launch in script.launches:
        if launch.step is not None and id(launch.step) not in seen:
            seen.add(id(launch.step))
            yield launch.step.own


def all_sets(script: SlurmScript) -> Iterator[OptionSet]:
    """Every set of options that was written together."""
    yield from job_sets(script)
    yield from step_sets(script)


def gpu_hint(launch: Launch) -> str | None:
    """Why the program that is started seems to want GPUs, as half a sentence; None when nothing says so.

    A variable that names devices is no hint here: without a request that is S12's matter.
    """
    if launch.launcher.starts_workers or launch.launcher.program in _GPU_SERVERS:
        return f"{launch.launcher.program} starts GPU processes"
    if launch.words and launch.words[0].rsplit("/", 1)[-1] == "nvidia-smi":
        return "nvidia-smi is called"
    return _container_hint(launch.container)


def names_devices(launch: Launch) -> bool:
    """Whether a variable names GPUs for the program that is started."""
    settings = (launch.settings.get(name) or launch.exports.get(name) for name in _GPU_VARIABLES)
    return any(found is not None and found.value not in ("", "-1", "none", "void") for found in settings)


def _container_hint(container: Container | None) -> str | None:
    if container is None:
        return None
    name = guess_from_file(container.image) or container.image
    known = brings_cuda(name) if name else None
    hints = {
        f"the image {container.image} brings CUDA by its name": known is True,
        "the container is started with GPU support": container.tool == "apptainer"
        and bool({"nv", "nvccli"} & set(container.flags)),
        "the container is started through pyxis, which brings GPUs into containers": container.tool == "pyxis"
        and known is None,
        "the container is started with --gpus": container.run is not None and bool(container.run.gpu_requests),
    }
    return next((text for text, holds in hints.items() if holds), None)
