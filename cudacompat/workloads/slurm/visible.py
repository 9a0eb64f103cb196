"""Rules on CUDA_VISIBLE_DEVICES in Slurm jobs: S10-S14, S38, and V01-V07."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cudacompat.workloads.devices import read_value
from cudacompat.workloads.interface import Hit, Inventory
from cudacompat.workloads.names import is_near
from cudacompat.workloads.shell.script import Assignment
from cudacompat.workloads.slurm.book import BOOK
from cudacompat.workloads.slurm.gpus import asks_for_gpus, gpus_per_node
from cudacompat.workloads.slurm.reader import Launch, SlurmScript
from cudacompat.workloads.visible_rules import add_visible_rules

_NAME = "CUDA_VISIBLE_DEVICES"
_FIX = "delete the line: Slurm sets the variable for each job and step"
_JOB_GPUS = re.compile(r"\$\{?SLURM_(?:JOB|STEP)_GPUS\b")
_LOCAL = re.compile(r"\$\{?SLURM_(?:LOCALID|PROCID)\b")
_KNOWN = tuple(prefix + name for prefix in ("", "SINGULARITYENV_", "APPTAINERENV_")
               for name in (_NAME, "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"))  # fmt: skip


def _settings(script: SlurmScript) -> Iterator[Assignment]:
    """Every place that sets the variable, in the order of the text."""
    found = {(a.line, a.value): a for a in script.exported if a.name == _NAME}
    for launch in script.launches:
        inline = launch.settings.get(_NAME)
        if inline is not None:
            found.setdefault((inline.line, inline.value), inline)
    return iter(sorted(found.values(), key=lambda a: a.line))


def _values(script: SlurmScript) -> Iterator[tuple[int, str]]:
    return ((a.line, a.value) for a in _settings(script))


add_visible_rules(BOOK, _values)


def _set_before_srun(launch: Launch) -> Assignment | None:
    """The setting that srun itself is started with, which it does not hand to its step."""
    if launch.step is None:
        return None
    inline = launch.settings.get(_NAME)
    if inline is not None and not _inside_step(launch, inline):
        return inline
    return launch.exports.get(_NAME)


def _inside_step(launch: Launch, inline: Assignment) -> bool:
    """Whether the setting is made by the program that srun starts (``srun bash -c 'A=b ...'``, ``srun env A=b``)."""
    return inline.name in launch.inside


@BOOK.rule("S10", "warning", "CUDA_VISIBLE_DEVICES set before srun", fix=_FIX, source="run with Slurm 22.05.8")
def lost_at_srun(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S10: Slurm overwrites it in steps with GPUs and removes it in steps without."""
    seen: set[tuple[int, str]] = set()
    for launch in script.launches:
        found = _set_before_srun(launch)
        if found is not None and (found.line, found.value) not in seen:
            seen.add((found.line, found.value))
            yield Hit(
                found.line,
                f"{_NAME}={found.value} does not reach the srun step of line {launch.line}: Slurm sets its own",
            )


def _set_for_program(launch: Launch) -> Assignment | None:
    """The setting that the program really runs under."""
    inline = launch.settings.get(_NAME)
    if launch.step is None:
        return inline or launch.exports.get(_NAME)
    return inline if inline is not None and _inside_step(launch, inline) else None


def _runs_gpu_code(launch: Launch) -> bool:
    return launch.launcher.program != "other" or launch.container is not None or _NAME in launch.settings


@BOOK.rule(
    "S11",
    "warning",
    "CUDA_VISIBLE_DEVICES set for a program started directly",
    fix=_FIX,
    source="run with Slurm 22.05.8",
)
def narrowed(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S11: it narrows what Slurm gave, or names an index that is not there."""
    seen: set[int] = set()
    for launch in script.launches:
        found = _set_for_program(launch)
        options = script.options_of(launch)
        if found is None or found.line in seen or not asks_for_gpus(options) or not _runs_gpu_code(launch):
            continue
        if "$" in found.value or read_value(found.value).kind != "index":
            continue
        seen.add(found.line)
        gpus = gpus_per_node(options)
        beyond = [i for i in read_value(found.value).entries if gpus is not None and int(i) >= gpus]
        if beyond:
            message = f"{_NAME}={found.value}: index {beyond[0]} is not there, the job has {gpus} GPUs numbered from 0"
            yield Hit(found.line, message, level="error")
        else:
            message = f"{_NAME}={found.value} replaces what Slurm set for the program of line {launch.line}"
            yield Hit(
                found.line,
                f"{message}: it narrows the job's GPUs, or names another job's where devices are not confined",
            )


@BOOK.rule(
    "S12",
    "warning",
    "CUDA_VISIBLE_DEVICES without a GPU request",
    fix="ask for GPUs: --gpus-per-node=N",
    source="run with Slurm 22.05.8",
)
def without_request(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S12: srun unsets it; a program started directly uses GPUs of other jobs."""
    sets = [script.options_of(launch) for launch in script.launches] or [script.job]
    if any(asks_for_gpus(options) for options in sets):
        return
    for found in _settings(script):
        if read_value(found.value).kind not in ("empty", "unset"):
            message = f"{_NAME}={found.value}, but no GPU is asked for: srun unsets it, and a program started directly"
            yield Hit(found.line, f"{message} takes GPUs that Slurm may have given to others")


@BOOK.rule("S13", "warning", "CUDA_VISIBLE_DEVICES from Slurm's global ids", fix=_FIX, source="run with Slurm 22.05.8")
def global_ids(script: SlurmScript, inventory: Inventory) -> Iterator[Hit]:
    """S13: SLURM_JOB_GPUS holds the node's numbers; where devices are confined the job counts from 0."""
    constrained = None if inventory.site is None else inventory.site.constrain_devices
    for found in _settings(script):
        if _JOB_GPUS.search(found.value):
            yield Hit(
                found.line,
                f"{_NAME}={found.value} holds the node's numbers: where ConstrainDevices=yes the job's GPUs are "
                "numbered from 0 and these are other or absent ones",
                level="note" if constrained is False else None,
            )


@BOOK.rule(
    "S14",
    "warning",
    "CUDA_VISIBLE_DEVICES from the task's rank with --gpus-per-task",
    fix=_FIX,
    source="run with Slurm 22.05.8",
)
def by_rank(script: SlurmScript, inventory: Inventory) -> Iterator[Hit]:
    """S14: each task sees only its own GPU, as index 0 where devices are confined."""
    constrained = None if inventory.site is None else inventory.site.constrain_devices
    bound = any(script.options_of(launch).has("gpus-per-task") for launch in script.launches)
    for found in _settings(script):
        if _LOCAL.search(found.value) and (bound or script.job.has("gpus-per-task")):
            yield Hit(
                found.line,
                f"{_NAME}={found.value} with --gpus-per-task: where ConstrainDevices=yes every task has index 0 only, "
                "so tasks from 1 on see no GPU; elsewhere it works by luck",
                level="error" if constrained else "note" if constrained is False else None,
            )


@BOOK.rule("S38", "warning", "a misspelt variable of the GPU stack", fix="correct the name", source="public scripts")
def misspelt(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S38."""
    for found in script.exported:
        meant = next((name for name in _KNOWN if is_near(found.name, name)), None)
        if meant is not None:
            yield Hit(found.line, f"{found.name} means nothing to anybody: {meant} is the name", fix=f"write {meant}")
