"""Rules on launchers against the GPUs they get: S01, S04, S05, S20."""

from __future__ import annotations

from collections.abc import Iterator

from cudacompat.workloads.interface import Hit, Inventory
from cudacompat.workloads.slurm.book import BOOK, gpu_hint, names_devices
from cudacompat.workloads.slurm.gpus import (
    asks_for_gpus,
    gpus_per_node,
    gpus_per_task_visible,
    node_range,
    nodes,
    tasks_per_node,
    whole_nodes,
)
from cudacompat.workloads.slurm.options import OptionSet
from cudacompat.workloads.slurm.reader import Launch, SlurmScript

_ADD_GPUS = "add --gpus-per-node=N"


@BOOK.rule("S01", "warning", "no GPU is asked for", fix=_ADD_GPUS, source="run with Slurm 22.05.8")
def no_request(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S01: with ConstrainDevices the program sees no GPU, without it every GPU of the node."""
    for launch in script.launches:
        options = script.options_of(launch)
        hint = gpu_hint(launch)
        if hint is None or asks_for_gpus(options) or whole_nodes(options):
            continue
        yield Hit(
            launch.line,
            f"{hint}, but no GPU is asked for: where Slurm confines devices it sees none, elsewhere all of the node's, "
            "also those of other jobs",
        )
        return


@BOOK.rule(
    "S05", "warning", "--exclusive without a GPU option: srun steps get no GPUs", fix=_ADD_GPUS,
    source="run with Slurm 22.05.8; gres.html",
)  # fmt: skip
def exclusive_only(script: SlurmScript, inventory: Inventory) -> Iterator[Hit]:
    """S05: the batch shell gets all GPUs of the node, the step none."""
    constrained = None if inventory.site is None else inventory.site.constrain_devices
    for launch in script.launches:
        if launch.step is None or (gpu_hint(launch) is None and not names_devices(launch)):
            continue
        options = script.options_of(launch)
        if not whole_nodes(options) or asks_for_gpus(options):
            continue
        effect = (
            "cannot open any GPU"
            if constrained
            else "gets CUDA_VISIBLE_DEVICES unset, and no GPU where ConstrainDevices=yes"
        )
        message = f"--exclusive gives the batch shell all GPUs, but this srun step asks for none: it {effect}"
        yield Hit(launch.line, message, level="error" if constrained else None)
        return


@BOOK.rule(
    "S20", "warning", "a launcher for several nodes without srun",
    fix="start it through srun, once for each node", source="torchrun's documentation",
)  # fmt: skip
def first_node_only(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S20: the batch script runs on the first node only."""
    for launch in script.launches:
        launcher = launch.launcher
        if launch.step is not None or not launcher.starts_workers or not script.is_batch:
            continue
        job = node_range(script.job)
        told = launcher.nodes
        if launcher.program == "deepspeed" and launcher.rendezvous:
            continue
        several = (job is not None and job[0] > 1) or (told is not None and told[1] > 1)
        if several:
            count = job[0] if job is not None and job[0] > 1 else told[1] if told is not None else 0
            yield Hit(
                launch.line,
                f"{launcher.program} is meant for {count} nodes but is started in the batch shell: "
                "it runs on the first node alone",
            )


@BOOK.rule(
    "S04", "error", "launcher processes and GPUs do not match",
    fix="one launcher for each node: --ntasks-per-node=1 and --cpus-per-task for all its workers",
    source="run with Slurm 22.05.8; torch/distributed/run.py",
)  # fmt: skip
def processes_and_gpus(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S04: copies of the launcher on a node times processes of each, against the node's GPUs."""
    workers = sum(1 for launch in script.launches if launch.launcher.starts_workers)
    for launch in script.launches:
        options = script.options_of(launch)
        gpus = gpus_per_node(options)
        if gpus is None or (launch.container is not None and launch.container.tool == "docker"):
            continue
        copies = 1 if launch.step is None else tasks_per_node(options, launch.step.own)
        if launch.launcher.starts_workers:
            yield from _agents(launch, options, gpus, copies, alone=workers == 1)
        elif launch.launcher.model_gpus is not None:
            yield from _model(launch, options, gpus)
        elif launch.launcher.program == "mpirun" and launch.step is not None and copies is not None and copies > 1:
            yield Hit(
                launch.line,
                f"each of {copies} tasks per node starts an mpirun of its own",
                fix="call mpirun without srun",
            )


def _agents(launch: Launch, options: OptionSet, gpus: int, copies: int | None, *, alone: bool) -> Iterator[Hit]:
    program = launch.launcher.program
    visible = gpus if launch.step is None else gpus_per_task_visible(options) or gpus
    each = _processes(launch, options, visible)
    if each is None:
        return
    if each > visible:
        yield Hit(
            launch.line,
            f"{program} starts {each} processes on a node where it sees {visible} "
            f"GPU{'s' * (visible != 1)}: those with "
            f'LOCAL_RANK >= {visible} fail with "invalid device ordinal"',
            fix=f"start {visible} processes, or ask for {each} GPUs",
        )
        return
    if copies is None:
        return
    if copies * each > gpus:
        yield Hit(
            launch.line,
            f"srun starts {copies} copies of {program} on each node and each starts {each} processes: {copies * each} "
            f"processes share {gpus} GPUs, and the copies claim the same port",
            fix=_fix_many(copies, options),
        )
    elif copies > 1 and not launch.launcher.rendezvous:
        yield Hit(
            launch.line,
            f"srun starts {copies} copies of {program} on each node, none told to find the "
            "others: each is a job of its own",
            level="warning",
            fix=f"--ntasks-per-node=1 with {each * copies} processes, or give every copy --nnodes and --rdzv-endpoint",
        )
    elif copies * each < gpus and alone and "CUDA_VISIBLE_DEVICES" not in {**launch.exports, **launch.settings}:
        message = (
            f"{program} starts {copies * each} processes for {gpus} GPUs of each node: {gpus - copies * each} stay idle"
        )
        yield Hit(launch.line, message, level="warning", fix=f"start {gpus} processes, or ask for {copies * each} GPUs")


def _fix_many(copies: int, options: OptionSet) -> str:
    cpus = options.number("cpus-per-task")
    more = f" and --cpus-per-task={cpus * copies}" if cpus else ""
    return f"--ntasks-per-node=1{more}, or keep the tasks and start the program without a launcher (srun python ...)"


def _processes(launch: Launch, options: OptionSet, visible: int) -> int | None:
    launcher = launch.launcher
    if launcher.processes == "gpu":
        return visible
    if launcher.processes is not None:
        return launcher.processes
    machines = launcher.nodes[0] if launcher.nodes is not None else nodes(options)
    if launcher.total is None or not machines or launcher.total % machines:
        return None
    return launcher.total // machines


def _model(launch: Launch, options: OptionSet, gpus: int) -> Iterator[Hit]:
    wanted, count = launch.launcher.model_gpus or 1, nodes(options) or 1
    if wanted > gpus * count:
        split = f"{launch.launcher.tensor_parallel or 1} x {launch.launcher.pipeline_parallel or 1}"
        message = f"the model is split over {split} = {wanted} GPUs, the job has {gpus * count}"
        yield Hit(launch.line, message, fix=f"ask for {wanted} GPUs, or split over {gpus * count}")
