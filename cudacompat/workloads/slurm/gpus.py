"""What a job's or a step's options ask for: GPUs per node, tasks per node, GPUs that one task can see.

Rules measured with Slurm 22.05.8 and read from sbatch(1) and gres.html. None always means that the text
does not decide it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cudacompat.workloads.slurm.options import OptionSet, OptionUse

GPU_OPTIONS = ("gres", "gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "tres-per-task")
MIG_TYPE = re.compile(r"(?:^|[_-])\dg\.\d+gb")
_COUNT = re.compile(r"(\d{1,9})([kmgtpKMGTP]?)")
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a request: ``kind`` "gpu", "shard", "mps" or another name; count 1 when not written."""

    kind: str
    gpu_type: str | None
    count: int | None
    text: str


def count_of(text: str) -> int | None:
    """A count with its suffix, None when it is not one."""
    match = _COUNT.fullmatch(text)
    return int(match[1]) * _FACTORS[match[2].lower()] if match else None


def gres_entries(value: str) -> tuple[Entry, ...]:
    """The entries of --gres: name[:type][:count], by comma. "none" and "0" counts ask for nothing."""
    return tuple(_gres_entry(text) for text in value.split(",") if text.strip() and text != "none")


def _gres_entry(text: str) -> Entry:
    kind, *rest = text.split(":")
    if not rest:
        return Entry(kind, None, 1, text)
    count = count_of(rest[-1])
    if count is not None:
        return Entry(kind, ":".join(rest[:-1]) or None, count, text)
    # The last part is a type when there is no other; a variable there may be either.
    return Entry(kind, ":".join(rest), None if "$" in text else 1, text)


def gpu_entries(value: str) -> tuple[Entry, ...]:
    """The entries of --gpus and its kin: [type:]count, by comma; text that is no number is a type."""
    return tuple(_gres_entry(f"gpu:{text}") for text in value.split(",") if text.strip())


def tres_entries(value: str) -> tuple[Entry, ...]:
    """The gres entries of --tres-per-task: gres/gpu[:type]=N or gres/gpu:N, by comma."""
    entries = []
    for text in value.split(","):
        match = re.fullmatch(r"gres/(\w+)(?::([^=]+?))?(?:=(\w+))?", text.strip())
        if match is None:
            continue
        kind, middle, last = match[1], match[2], match[3]
        if last is None and middle is not None and count_of(middle) is not None:
            middle, last = None, middle
        entries.append(Entry(kind, middle, 1 if last is None else count_of(last), text))
    return tuple(entries)


def entries_of(use: OptionUse) -> tuple[Entry, ...]:
    """The entries of any GPU option, whatever its form."""
    if use.name == "gres":
        return gres_entries(use.value)
    if use.name == "tres-per-task":
        return tres_entries(use.value)
    return gpu_entries(use.value)


def gpu_uses(options: OptionSet) -> tuple[OptionUse, ...]:
    """The GPU options that count, each by its last use."""
    found = (options.use(name) for name in GPU_OPTIONS)
    return tuple(use for use in found if use is not None)


def shared_entries(options: OptionSet) -> tuple[Entry, ...]:
    """Entries of --gres for shards and MPS."""
    value = options.value("gres")
    return tuple(e for e in gres_entries(value or "") if e.kind in ("shard", "mps") and e.count != 0)


def whole_nodes(options: OptionSet) -> bool:
    """Whether the job takes its nodes whole: --exclusive, but not --exclusive=user and its kin."""
    return options.value("exclusive") == ""


def asks_for_gpus(options: OptionSet) -> bool:
    """Whether GPUs (or shares of one) are asked for. A value that cannot be read counts as asking."""
    for use in gpu_uses(options):
        for entry in entries_of(use):
            if (entry.kind == "gpu" or "gpu" in entry.kind.lower()) and entry.count != 0:
                return True
    return bool(shared_entries(options))


def mentions_gpus(options: OptionSet) -> bool:
    """Whether a GPU option is written at all, also one that asks for none."""
    return any(e.kind == "gpu" for use in gpu_uses(options) for e in entries_of(use))


def _total(use: OptionUse | None) -> int | None:
    if use is None:
        return None
    total = 0
    for entry in entries_of(use):
        if entry.kind != "gpu":
            continue
        if entry.count is None:
            return None
        total += entry.count
    return total


def node_range(options: OptionSet) -> tuple[int, int] | None:
    """(least, most) nodes; None when the number follows from tasks and CPUs."""
    value = options.value("nodes")
    if value is not None:
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", value)
        return (int(match[1]), int(match[2] or match[1])) if match else None
    if options.number("ntasks") in (None, 1) and not options.has("ntasks"):
        gpus, per_node = _total(options.use("gpus")), _total(options.use("gpus-per-node"))
        if gpus and per_node and gpus % per_node == 0:
            return gpus // per_node, gpus // per_node
        return 1, 1
    return (1, 1) if options.number("ntasks") == 1 else None


def nodes(options: OptionSet) -> int | None:
    """The number of nodes when it is certain."""
    found = node_range(options)
    return found[0] if found is not None and found[0] == found[1] else None


def tasks_per_node(options: OptionSet, own: OptionSet | None = None) -> int | None:
    """Tasks on each node of a step with these options; ``own`` are the step's, which win over the job's."""
    for level in (own, options):
        if level is None:
            continue
        if level.has("ntasks-per-node"):
            return _capped(level.number("ntasks-per-node"), level)
        if level.has("ntasks"):
            return _spread(level.number("ntasks"), nodes(options))
    if options.has("ntasks-per-gpu"):
        per_gpu, gpus = options.number("ntasks-per-gpu"), _total(options.use("gpus-per-node", "gres"))
        return per_gpu * gpus if per_gpu and gpus else None
    return 1


def _capped(per_node: int | None, level: OptionSet) -> int | None:
    ntasks, count = level.number("ntasks"), nodes(level)
    if per_node is None or not level.has("ntasks"):
        return per_node
    return min(per_node, _spread(ntasks, count) or per_node)


def _spread(ntasks: int | None, count: int | None) -> int | None:
    if ntasks is None or not count:
        return None
    return ntasks // count if ntasks % count == 0 else None


def gpus_per_node(options: OptionSet) -> int | None:
    """GPUs on each node, None when not asked for or not certain. The largest of two requests wins."""
    per_node = [_total(options.use(name)) for name in ("gpus-per-node", "gres")]
    found = [count for count in per_node if count]
    if found:
        return max(found)
    count = nodes(options)
    total = _total(options.use("gpus"))
    if total and count and total % count == 0:
        return total // count
    per_task, tasks = _per_task(options), tasks_per_node(options)
    if per_task and tasks:
        return per_task * tasks
    per_socket, sockets = _total(options.use("gpus-per-socket")), options.number("sockets-per-node")
    return per_socket * sockets if per_socket and sockets else None


def _per_task(options: OptionSet) -> int | None:
    return _total(options.use("gpus-per-task", "tres-per-task"))


def gpus_per_task_visible(options: OptionSet) -> int | None:
    """GPUs that each task of a step can see: those bound to it, else all of the node's."""
    binding = options.value("gpu-bind") or ""
    if binding.startswith("none"):
        return gpus_per_node(options)
    per_task = _per_task(options)
    if per_task:
        return per_task
    if options.has("ntasks-per-gpu") or binding.startswith("single:"):
        return 1
    return gpus_per_node(options)
