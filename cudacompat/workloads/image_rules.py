"""Rules on the images of every kind of workload (X01 to X03)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from cudacompat.model.inventory import FleetNode
from cudacompat.tables import minor_compat_floor, parse_driver
from cudacompat.workloads.images import is_file, is_floating, is_unexpanded, tag_cuda
from cudacompat.workloads.interface import Hit, ImageUse, Inventory, RuleBook

D = TypeVar("D")
Uses = Callable[[D], Iterable[ImageUse]]
Nodes = Callable[[D, Inventory, ImageUse], Iterable[FleetNode]]
#: The oldest driver branch among the defaults of managed clusters (GKE 1.33: R535). An image that runs on
#: it needs no word about drivers where no fleet is given.
COMMON_BRANCH = 535


def add_floating_rule(book: RuleBook[D], uses: Uses[D]) -> None:
    """Register X03 in a format's book; ``uses`` finds the images of its documents."""

    @book.rule(
        "X03",
        "note",
        "an image without a fixed tag",
        fix="name a version, or better a digest (image@sha256:...)",
        source="public manifests",
    )
    def floating(document: D, _inventory: Inventory) -> Iterator[Hit]:
        seen: set[str] = set()
        for use in uses(document):
            known = use.reference in seen or is_unexpanded(use.reference) or is_file(use.reference)
            if not known and is_floating(use.reference):
                seen.add(use.reference)
                yield Hit(
                    use.line, f"{use.reference} can become another image at any time: this verdict holds for today's"
                )


def add_driver_rule(book: RuleBook[D], uses: Uses[D], nodes: Nodes[D]) -> None:
    """Register X01; ``nodes`` are those of the fleet on which the workload may land."""

    @book.rule(
        "X01",
        "warning",
        "the image's CUDA needs a newer driver than part of the fleet has",
        fix="select nodes by their driver (nvidia.com/cuda.driver-version.major), or take an image for an older CUDA",
        source="GPU feature discovery README; CUDA compatibility guide",
    )
    def driver(document: D, inventory: Inventory) -> Iterator[Hit]:
        for use in _first_of_each(uses(document)):
            cuda = tag_cuda(use.reference)
            floor = None if cuda is None else minor_compat_floor(cuda).value
            if floor is None or use.gpus is False:
                continue
            if inventory.fleet is None:
                yield from _without_fleet(use, cuda or "", floor)
            else:
                yield from _with_fleet(use, cuda or "", floor, tuple(nodes(document, inventory, use)))


def _first_of_each(uses: Iterable[ImageUse]) -> Iterator[ImageUse]:
    """One use of each image: the one that asks for GPUs, where one does."""
    chosen: dict[str, ImageUse] = {}
    for use in uses:
        if use.reference not in chosen or (use.gpus and not chosen[use.reference].gpus):
            chosen[use.reference] = use
    return iter(chosen.values())


def _without_fleet(use: ImageUse, cuda: str, floor: str) -> Iterator[Hit]:
    if int(floor.split(".", maxsplit=1)[0]) > COMMON_BRANCH and use.gpus:
        message = (
            f"{use.reference}: its tag names CUDA {cuda}, which needs driver {floor} or newer (or forward "
            "compatibility): whether it runs depends on each node's driver, and no node list was given"
        )
        yield Hit(use.line, message, level="note")


def _with_fleet(use: ImageUse, cuda: str, floor: str, nodes: tuple[FleetNode, ...]) -> Iterator[Hit]:
    known = [node for node in nodes if node.driver is not None]
    old = [node for node in known if _older(node.driver or "", floor)]
    if not old:
        return
    names = ", ".join(f"{node.name} ({node.driver})" for node in old[:3]) + (" ..." if len(old) > 3 else "")
    where = (
        "every node it can land on" if len(old) == len(nodes) else f"{len(old)} of {len(nodes)} nodes it can land on"
    )
    message = (
        f"{use.reference}: CUDA {cuda} by its tag needs driver {floor} or newer; {where} has an older one: {names}"
    )
    yield Hit(use.line, message, level="error" if len(old) == len(nodes) else "warning")


def _older(driver: str, floor: str) -> bool:
    return parse_driver(driver) < parse_driver(floor)
