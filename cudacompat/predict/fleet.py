"""One image on many machines: machines with the same facts are predicted once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cudacompat.model import Finding, HostFacts, ImageFacts, Scenario, Stage, Verdict
from cudacompat.model.inventory import Node, Nodes
from cudacompat.predict.fleet_changes import FleetRemedy, fleet_remedies
from cudacompat.predict.placement import Placement, placement
from cudacompat.predict.scenarios import judge
from cudacompat.predict.verdict import GREEN, rank


@dataclass(frozen=True, slots=True)
class Kind:
    """Machines with the same facts, in the inventory's order, and what happens on them."""

    host: HostFacts
    nodes: tuple[Node, ...]
    verdict: Verdict
    stages: tuple[Stage, ...]
    scenarios: tuple[Scenario, ...]
    findings: tuple[Finding, ...]

    @property
    def has_gpus(self) -> bool:
        """Whether a GPU is known or possible there: machines without one are not what the fleet is about."""
        return self.host.gpus != ()

    @property
    def runs(self) -> bool:
        """Whether the image runs there, limits or not."""
        return self.verdict.outcome in GREEN


@dataclass(frozen=True, slots=True)
class FleetPrediction:
    """The answer for an inventory: kinds of machines from the worst verdict to the best.

    ``remedies`` are changes that make the image run on more machines, each predicted again on all of them;
    ``placement`` chooses the machines on which it runs already, None where it runs on all or on none.
    """

    kinds: tuple[Kind, ...]
    remedies: tuple[FleetRemedy, ...]
    placement: Placement | None

    @property
    def gpu_kinds(self) -> tuple[Kind, ...]:
        """The kinds with GPUs; all of them where none has any."""
        return tuple(kind for kind in self.kinds if kind.has_gpus) or self.kinds


def predict_fleet(image: ImageFacts, nodes: Nodes) -> FleetPrediction:
    """Predict an image on every machine of an inventory. Pure; never raises on well-formed facts."""
    kinds = sorted(_kinds(image, nodes.nodes), key=lambda kind: (rank(kind.verdict), -len(kind.nodes)))
    about = [kind for kind in kinds if kind.has_gpus]
    good = [node for kind in about if kind.runs for node in kind.nodes if node.schedulable]
    bad = [node for kind in kinds if not (kind.has_gpus and kind.runs) for node in kind.nodes]
    troubled = any(not kind.runs for kind in about)
    return FleetPrediction(
        tuple(kinds),
        fleet_remedies(image, [(kind.host, kind.verdict, len(kind.nodes)) for kind in about]),
        placement(nodes.scheduler, good, bad) if troubled and good else None,
    )


def _kinds(image: ImageFacts, nodes: Iterable[Node]) -> list[Kind]:
    grouped: dict[HostFacts, list[Node]] = {}
    # Most machines share their facts' very object: asking for its identity first saves hashing all of it.
    known: dict[int, list[Node]] = {}
    for node in nodes:
        group = known.get(id(node.host))
        if group is None:
            facts = replace(node.host, notes=(), details=(), origin="")
            group = known[id(node.host)] = grouped.setdefault(facts, [])
        group.append(node)
    return [_kind(image, tuple(group)) for group in grouped.values()]


def _kind(image: ImageFacts, nodes: tuple[Node, ...]) -> Kind:
    merged = judge(image, nodes[0].host)
    return Kind(nodes[0].host, nodes, merged.verdict, merged.stages, merged.scenarios, merged.findings)
