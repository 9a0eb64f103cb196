"""Rules on combinations of GPU options that Slurm refuses or reads differently: S06-S09, S21-S25, S28, S39."""

from __future__ import annotations

from collections.abc import Iterator

from cudacompat.workloads.interface import Hit, Inventory
from cudacompat.workloads.slurm.book import BOOK, all_sets, job_sets, step_sets
from cudacompat.workloads.slurm.gpus import (
    asks_for_gpus,
    entries_of,
    gpu_entries,
    gpu_uses,
    gres_entries,
    node_range,
    whole_nodes,
)
from cudacompat.workloads.slurm.options import OptionSet, OptionUse
from cudacompat.workloads.slurm.reader import SlurmScript

_ONE_FIX = "keep one of them"
_RUN = "run with Slurm 22.05.8"


def _gpu_gres(options: OptionSet) -> OptionUse | None:
    use = options.use("gres")
    if use is None or not any(e.kind == "gpu" for e in gres_entries(use.value)):
        return None
    return use


@BOOK.rule(
    "S06", "warning", "--gres=gpu and --gpus-per-node together",
    fix=_ONE_FIX, source=f"Slurm's CHANGELOG for 26.05; {_RUN}",
)  # fmt: skip
def twice_per_node(script: SlurmScript, inventory: Inventory) -> Iterator[Hit]:
    """S06: refused from 26.05 on, the larger number wins before."""
    version = None if inventory.site is None else inventory.site.version
    for options in all_sets(script):
        gres, per_node = _gpu_gres(options), options.use("gpus-per-node")
        if gres is None or per_node is None:
            continue
        message = (
            f"--gres={gres.value} and --gpus-per-node={per_node.value} say the same thing: Slurm 26.05 and newer "
            "refuse that, older ones take the larger number"
        )
        refused = version is not None and version >= (26, 5)
        yield Hit(max(gres.line, per_node.line), message, level="error" if refused else None)


@BOOK.rule("S07", "error", "fewer GPUs than nodes", fix="raise --gpus, or lower --nodes", source=_RUN)
def fewer_than_nodes(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S07: --gpus counts for the whole job, and each node needs one of each type."""
    for options in job_sets(script):
        use, count = options.use("gpus"), node_range(options)
        if use is None or count is None:
            continue
        short = [e for e in gpu_entries(use.value) if e.count is not None and 0 < e.count < count[0]]
        if short and _gpu_gres(options) is None and not options.has("gpus-per-node"):
            message = f"--gpus={use.value} is for the whole job: fewer than its {count[0]} nodes, and Slurm refuses it"
            yield Hit(use.line, message)


@BOOK.rule(
    "S08",
    "warning",
    "--gpus over several nodes",
    fix="use --gpus-per-node, which gives every node the same",
    source=_RUN,
)
def uneven(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S08: Slurm chooses the split; 4 GPUs on 2 nodes came as 3 and 1."""
    for options in job_sets(script):
        use, count = options.use("gpus"), node_range(options)
        others = any(
            options.has(name) for name in ("gpus-per-node", "gpus-per-task", "gpus-per-socket", "ntasks-per-gpu")
        )
        if use is None or count is None or count[0] < 2 or others or _gpu_gres(options) is not None:
            continue
        total = sum(e.count or 0 for e in gpu_entries(use.value))
        if total > count[0]:
            yield Hit(
                use.line, f"--gpus={use.value} over {count[0]} nodes: Slurm chooses the split, and it need not be even"
            )


@BOOK.rule(
    "S09", "error", "GPUs per task or socket without the number of tasks or sockets",
    fix="add --ntasks (or --sockets-per-node)", source=_RUN,
)  # fmt: skip
def no_tasks(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S09: Slurm refuses to guess it."""
    counted = ("ntasks", "gpus", "nodes", "ntasks-per-node")
    for options in job_sets(script):
        task, socket = options.use("gpus-per-task"), options.use("gpus-per-socket")
        if task is not None and not any(options.has(name) for name in counted) and _positive(task):
            yield Hit(task.line, f"--gpus-per-task={task.value} without --ntasks or --gpus: Slurm refuses the job")
        if socket is not None and not options.has("sockets-per-node") and _positive(socket):
            yield Hit(
                socket.line, f"--gpus-per-socket={socket.value} without --sockets-per-node: Slurm refuses the job"
            )


def _positive(use: OptionUse) -> bool:
    return any(entry.count != 0 for entry in entries_of(use))


def _both(options: OptionSet, first: str, second: str) -> OptionUse | None:
    """The later of the two options when both are given."""
    one, other = options.use(first), options.use(second)
    if one is None or other is None:
        return None
    return one if one.line > other.line else other


@BOOK.rule("S21", "error", "--cpus-per-gpu with --cpus-per-task", fix=_ONE_FIX, source=_RUN)
def cpus_twice(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S21."""
    for options in all_sets(script):
        use = _both(options, "cpus-per-gpu", "cpus-per-task")
        if use is not None:
            yield Hit(use.line, "--cpus-per-gpu and --cpus-per-task exclude each other: Slurm refuses the job")


@BOOK.rule("S22", "error", "--mem-per-gpu with --mem or --mem-per-cpu", fix=_ONE_FIX, source=_RUN)
def memory_twice(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S22."""
    for options in all_sets(script):
        use = _both(options, "mem-per-gpu", "mem") or _both(options, "mem-per-gpu", "mem-per-cpu")
        if use is not None:
            yield Hit(use.line, "--mem, --mem-per-cpu and --mem-per-gpu exclude each other: Slurm refuses the job")


@BOOK.rule("S23", "error", "--mem-per-gpu without GPUs", fix="ask for GPUs, or use --mem", source=_RUN)
def memory_alone(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S23."""
    for options in job_sets(script):
        use = options.use("mem-per-gpu")
        if use is not None and not asks_for_gpus(options):
            yield Hit(use.line, f"--mem-per-gpu={use.value}, but the job asks for no GPU: Slurm refuses it")


@BOOK.rule(
    "S24", "error", "--ntasks-per-gpu with an option that it excludes", fix=_ONE_FIX, source=f"{_RUN}; sbatch(1)"
)
def tasks_twice(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S24."""
    for options in all_sets(script):
        for other in ("ntasks-per-node", "gpus-per-task", "gpus-per-socket"):
            use = _both(options, "ntasks-per-gpu", other)
            if use is not None:
                yield Hit(use.line, f"--ntasks-per-gpu and --{other} exclude each other: Slurm refuses the job")


@BOOK.rule(
    "S25", "error", "shards or MPS shares that no GPU can give",
    fix="ask for shares only, at most those of one GPU, or for whole GPUs", source=f"{_RUN}; gres.html",
)  # fmt: skip
def shares(script: SlurmScript, inventory: Inventory) -> Iterator[Hit]:
    """S25: not with gpu in one request; a request must fit on one GPU."""
    for options in all_sets(script):
        use = options.use("gres")
        entries = gres_entries(use.value) if use is not None else ()
        for entry in entries:
            if use is None or entry.kind not in ("shard", "mps") or entry.count == 0:
                continue
            if any(e.kind == "gpu" and e.count != 0 for e in entries):
                yield Hit(use.line, f"--gres={use.value}: {entry.kind} and gpu in one request are refused")
            elif (most := _most_shares(inventory, entry.kind)) is not None and (entry.count or 0) > most:
                yield Hit(use.line, f"{entry.text} must fit on one GPU, and no GPU of the site has more than {most}")


def _most_shares(inventory: Inventory, kind: str) -> int | None:
    """The most shares one GPU of the site offers, None when the site is not known."""
    if inventory.site is None:
        return None
    offers = [0]
    for node in inventory.site.nodes:
        total = sum(g.count for g in node.gres if g.kind == kind)
        offers.append(total // node.gpus() if node.gpus() else 0)
    return max(offers)


@BOOK.rule(
    "S28", "error", "a step asks for GPUs that the job does not have",
    fix="ask for the same type and at most the same number as the job", source=_RUN,
)  # fmt: skip
def step_beyond_job(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S28: a type the job did not name, or more than it has."""
    job = {e.gpu_type: e.count for use in gpu_uses(script.job) for e in entries_of(use) if e.kind == "gpu"}
    whole_node = whole_nodes(script.job)
    for options in step_sets(script):
        for use in gpu_uses(options):
            for entry in entries_of(use):
                if entry.kind != "gpu" or not entry.count:
                    continue
                if not job and not whole_node:
                    yield Hit(use.line, f"the step asks for {entry.text}, and the job asks for no GPU: the step fails")
                elif job and entry.gpu_type is not None and entry.gpu_type not in job:
                    had = ", ".join(sorted(name or "no type" for name in job))
                    yield Hit(use.line, f"the step asks for type {entry.gpu_type}, the job for {had}: the step fails")
                elif job and use.name in ("gres", "gpus-per-node") and entry.count > _most(script.job):
                    yield Hit(
                        use.line, f"the step asks for {entry.count} GPUs per node, the job has {_most(script.job)}"
                    )


def _most(job: OptionSet) -> int:
    """An upper bound of the job's GPUs on a node."""
    totals = [sum(e.count or 0 for e in entries_of(use) if e.kind == "gpu") for use in gpu_uses(job)]
    unbounded = job.has("gpus-per-task") or job.has("gpus-per-socket") or job.has("tres-per-task")
    return 1 << 30 if unbounded else max(totals, default=0)


@BOOK.rule("S39", "warning", "--gpu-bind=none with --gpus-per-task", fix="drop --gpu-bind=none", source=_RUN)
def unbound(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S39."""
    for options in all_sets(script):
        bind, task = options.use("gpu-bind", "tres-bind"), options.use("gpus-per-task")
        if bind is not None and task is not None and bind.value.startswith("none"):
            yield Hit(bind.line, "--gpu-bind=none with --gpus-per-task leaves CUDA_VISIBLE_DEVICES unset (Slurm 22.05)")
