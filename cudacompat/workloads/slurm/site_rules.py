"""Rules that compare a request with the site's nodes: S15, S16, S26, S27."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cudacompat.model.inventory import SlurmNode, SlurmSite
from cudacompat.workloads.interface import Hit, Inventory
from cudacompat.workloads.slurm.book import BOOK, all_sets, job_sets
from cudacompat.workloads.slurm.gpus import (
    MIG_TYPE,
    Entry,
    entries_of,
    gpu_uses,
    gpus_per_task_visible,
    node_range,
    tasks_per_node,
)
from cudacompat.workloads.slurm.options import OptionSet
from cudacompat.workloads.slurm.reader import SlurmScript

_RUN = "run with Slurm 22.05.8"
_REFUSED = 'Slurm answers "Requested node configuration is not available"'


@BOOK.rule(
    "S15", "error", "a GPU type that the site does not have",
    fix="use a type that sinfo -o %G shows, in the same case", source=_RUN, needs=("site",),
)  # fmt: skip
def unknown_type(script: SlurmScript, inventory: Inventory) -> Iterator[Hit]:
    """S15."""
    site = inventory.site or SlurmSite()
    for options in job_sets(script):
        here = nodes_for(options, site)
        types = {g.gpu_type for node in here for g in node.gres if g.kind == "gpu" and g.gpu_type}
        for use in gpu_uses(options):
            for entry in entries_of(use):
                if entry.kind == "gpu" and entry.gpu_type and "$" not in entry.gpu_type and entry.gpu_type not in types:
                    have = ", ".join(sorted(types)) or "none"
                    yield Hit(use.line, f"no node has GPUs of type {entry.gpu_type!r} (there: {have}): {_REFUSED}")


def nodes_for(options: OptionSet, site: SlurmSite) -> tuple[SlurmNode, ...]:
    """The site's nodes that the job's partition, node list and features leave."""
    partition = options.value("partition") or site.default_partition
    here = [
        n for n in site.nodes if partition is None or not n.partitions or set(partition.split(",")) & set(n.partitions)
    ]
    names = options.value("nodelist")
    if names and re.fullmatch(r"[\w,.-]+", names):
        here = [n for n in here if n.name in names.split(",")]
    feature = options.value("constraint")
    if feature and re.fullmatch(r"[\w.-]+", feature):
        here = [n for n in here if feature in n.features]
    return tuple(here)


@BOOK.rule(
    "S16", "error", "more than any node of the site offers",
    fix="ask for what one node has, or for more nodes", source=_RUN, needs=("site",),
)  # fmt: skip
def too_many(script: SlurmScript, inventory: Inventory) -> Iterator[Hit]:
    """S16: per-node counts against each node, per-job counts against the sum; unknown features."""
    site = inventory.site or SlurmSite()
    for options in job_sets(script):
        here = nodes_for(options, site)
        known = {feature for node in site.nodes for feature in node.features}
        feature = options.use("constraint")
        if feature is not None and (missing := set(re.findall(r"[\w.-]+", feature.value)) - known):
            yield Hit(feature.line, f"no node has the feature {sorted(missing)[0]}: Slurm refuses the job")
            continue
        least = (node_range(options) or (1, 1))[0]
        for use in gpu_uses(options):
            entries = [e for e in entries_of(use) if e.kind == "gpu" and e.count and _known_type(e, site)]
            if not entries:
                continue
            if use.name == "gpus":
                # Slurm takes only nodes that have every type of the list (tried with 22.05.8).
                whole = [n for n in here if all(n.gpus(e.gpu_type) for e in entries)]
                total = min(sum(node.gpus(e.gpu_type) for node in _biggest(whole, options, e)) for e in entries)
                if any((e.count or 0) > sum(n.gpus(e.gpu_type) for n in _biggest(whole, options, e)) for e in entries):
                    yield Hit(use.line, f"--gpus={use.value} is more than the {total} that the nodes have: {_REFUSED}")
            elif use.name in ("gres", "gpus-per-node", "gpus-per-task"):
                factor = tasks_per_node(options) or 1 if use.name == "gpus-per-task" else 1
                fitting = [n for n in here if all(n.gpus(e.gpu_type) >= (e.count or 0) * factor for e in entries)]
                if len(fitting) < least:
                    yield Hit(
                        use.line,
                        f"{len(fitting)} nodes offer --{use.name}={use.value}, the job needs {least}: {_REFUSED}",
                    )


def _known_type(entry: Entry, site: SlurmSite) -> bool:
    return entry.gpu_type is None or any(node.gpus(entry.gpu_type) for node in site.nodes)


def _biggest(here: Sequence[SlurmNode], options: OptionSet, entry: Entry) -> list[SlurmNode]:
    """The nodes with the most of these GPUs, as many as the job may have."""
    most = node_range(options)
    limit = most[1] if most is not None and options.has("nodes") else len(here)
    return sorted(here, key=lambda node: -node.gpus(entry.gpu_type))[:limit]


@BOOK.rule(
    "S26", "warning", "several MIG instances for one process",
    fix="give each task one instance (--gpus-per-task=TYPE:1)", source="CUDA programming guide; MIG user guide",
)  # fmt: skip
def several_instances(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S26: a process enumerates one MIG instance."""
    for options in all_sets(script):
        for use in gpu_uses(options):
            for entry in entries_of(use):
                if not entry.gpu_type or not MIG_TYPE.search(entry.gpu_type) or (entry.count or 0) < 2:
                    continue
                tasks, visible = tasks_per_node(options) or 1, gpus_per_task_visible(options)
                if use.name == "gpus-per-task" or tasks < (entry.count or 0) or (visible or 0) > 1:
                    yield Hit(use.line, f"{entry.text}: each process uses only one MIG instance of those it can see")


@BOOK.rule(
    "S27", "note", "MIG with --gpus-per-task on a Slurm before 23.11",
    fix="update Slurm, or start one step for each task", source="Slurm's CHANGELOG for 23.11", needs=("site",),
)  # fmt: skip
def same_instance(script: SlurmScript, inventory: Inventory) -> Iterator[Hit]:
    """S27: every task got the same instance."""
    version = None if inventory.site is None else inventory.site.version
    if version is None or version >= (23, 11):
        return
    for options in all_sets(script):
        use = options.use("gpus-per-task")
        types = [e.gpu_type or "" for u in gpu_uses(options) for e in entries_of(u)]
        if use is not None and any(MIG_TYPE.search(name) for name in types):
            yield Hit(use.line, f"Slurm {version[0]}.{version[1]:02} can give every task the same MIG instance")
