"""Rules on a value of CUDA_VISIBLE_DEVICES that hold in every kind of workload (V01 to V07)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar

from cudacompat.model.prediction import Level
from cudacompat.workloads.devices import ProblemKind, read_value
from cudacompat.workloads.interface import Hit, Inventory, RuleBook

D = TypeVar("D")
#: Where values are set in a document: (line, value).
Values = Callable[[D], Iterable[tuple[int, str]]]
_SOURCE = "CUDA programming guide, environment variables; PyTorch's _parse_visible_devices"
_LIST_FIX = 'write indices or UUIDs, separated by commas: "0,1,2,3"'
_OF_KIND: Mapping[str, tuple[ProblemKind, Level, str, str]] = MappingProxyType(
    {
        "V01": ("duplicate", "error", "a device stands twice in CUDA_VISIBLE_DEVICES", "name each device once"),
        "V02": ("empty", "warning", "CUDA_VISIBLE_DEVICES hides every GPU", "unset it if the program needs a GPU"),
        "V03": ("invalid", "error", "an entry of CUDA_VISIBLE_DEVICES cuts the list", _LIST_FIX),
        "V04": ("mixed", "error", "indices and UUIDs are mixed in CUDA_VISIBLE_DEVICES", "use one kind only"),
        "V05": ("several-mig", "warning", "several MIG instances for one process", "give each process one instance"),
        "V06": ("not-a-list", "error", "CUDA_VISIBLE_DEVICES holds text that is no list of devices", _LIST_FIX),
    }
)


def add_visible_rules(book: RuleBook[D], values: Values[D]) -> None:
    """Register V01 to V07 in a format's book; ``values`` finds the settings in its documents."""
    for rule_id, (kind, level, title, fix) in _OF_KIND.items():
        book.rule(rule_id, level, title, fix=fix, source=_SOURCE)(_by_kind(kind, values))
    book.rule(
        "V07",
        "warning",
        "indices on nodes with different GPUs, without CUDA_DEVICE_ORDER",
        fix="export CUDA_DEVICE_ORDER=PCI_BUS_ID",
        source="Slurm gres.html; CUDA programming guide",
    )(_mixed_order(values))


def _by_kind(kind: ProblemKind, values: Values[D]) -> Callable[[D, Inventory], Iterable[Hit]]:
    def check(document: D, _inventory: Inventory) -> Iterator[Hit]:
        for line, value in values(document):
            if "$" in value or "{" in value:
                continue
            for problem in read_value(value).problems:
                if problem.kind == kind:
                    yield Hit(line, f"CUDA_VISIBLE_DEVICES={value}: {problem.text}")

    return check


def _mixed_order(values: Values[D]) -> Callable[[D, Inventory], Iterable[Hit]]:
    def check(document: D, inventory: Inventory) -> Iterator[Hit]:
        mixed = _mixed_nodes(inventory)
        for line, value in values(document):
            if mixed and re.fullmatch(r"\d+(,\d+)*", value):
                yield Hit(
                    line,
                    f"CUDA_VISIBLE_DEVICES={value} counts the fastest GPU first by default, and {mixed[0]} has "
                    "different GPUs: the index need not be nvidia-smi's",
                )

    return check


def _mixed_nodes(inventory: Inventory) -> list[str]:
    if inventory.site is None:
        return []
    return [n.name for n in inventory.site.nodes if len({g.gpu_type for g in n.gres if g.kind == "gpu"}) > 1]
