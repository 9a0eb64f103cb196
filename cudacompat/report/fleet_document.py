"""A fleet's answer as plain data, schema id ``cudacompat/fleet/v1``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from cudacompat.model import Target, Tool
from cudacompat.model.inventory import Nodes
from cudacompat.model.names import compact_names
from cudacompat.predict.fleet import FleetPrediction, Kind
from cudacompat.predict.fleet_changes import FleetRemedy
from cudacompat.predict.placement import Placement, Term
from cudacompat.report.document import (
    Document,
    EvidenceList,
    finding_document,
    host_document,
    scenario_document,
    stage_document,
    target_document,
    tool_document,
    verdict_document,
)

FLEET_SCHEMA = "cudacompat/fleet/v1"
FLEETS_SCHEMA = "cudacompat/fleets/v1"


def fleet_document(target: Target, tool: Tool, nodes: Nodes, answer: FleetPrediction) -> Document:
    """One object: every node in the inventory's order, the kinds of nodes, and the summary."""
    places = {id(node): (number, kind) for number, kind in enumerate(answer.kinds) for node in kind.nodes}
    verdicts = [verdict_document(kind.verdict) for kind in answer.kinds]
    evidence = EvidenceList()
    document: Document = {
        "schema": FLEET_SCHEMA,
        "tool": tool_document(tool),
        "target": target_document(target),
        "nodes": [
            {
                "node": node.name,
                "verdict": verdicts[places[id(node)][0]],
                "kind": places[id(node)][0],
                "gpu_count": node.gpu_count,
                "schedulable": node.schedulable,
            }
            for node in nodes.nodes
        ],
        "kinds": [_kind(kind, verdict, evidence) for kind, verdict in zip(answer.kinds, verdicts, strict=True)],
        "summary": _summary(nodes, answer),
    }
    document["evidence"] = evidence.document()
    return document


def fleets_document(documents: Sequence[Document]) -> Document:
    """The answers for several images of one workload."""
    return {"schema": FLEETS_SCHEMA, "fleets": list(documents)}


def _kind(kind: Kind, verdict: Document, evidence: EvidenceList) -> Document:
    return {
        "nodes": compact_names(node.name for node in kind.nodes),
        "count": len(kind.nodes),
        "host": host_document(kind.host),
        "verdict": verdict,
        "stages": [stage_document(stage, evidence) for stage in kind.stages],
        "scenarios": [scenario_document(scenario) for scenario in kind.scenarios],
        "findings": [finding_document(finding, evidence) for finding in kind.findings],
    }


def _summary(nodes: Nodes, answer: FleetPrediction) -> Document:
    about = answer.gpu_kinds
    outcomes: Counter[str] = Counter()
    for kind in about:
        outcomes[kind.verdict.outcome] += len(kind.nodes)
    return {
        "scheduler": nodes.scheduler,
        "nodes": len(nodes.nodes),
        "gpu_nodes": sum(outcomes.values()),
        "runs_on": sum(len(kind.nodes) for kind in about if kind.runs),
        "outcomes": dict(outcomes),
        "remedies": [_remedy(remedy) for remedy in answer.remedies],
        "placement": placement_document(answer.placement),
        "notes": list(nodes.notes),
    }


def _remedy(remedy: FleetRemedy) -> Document:
    return {
        "change": {"kind": remedy.change.kind, "text": remedy.change.text},
        "runs_on": remedy.runs_on,
        "of": remedy.machines,
        "hosts_to_change": remedy.hosts,
    }


def placement_document(placement: Placement | None) -> Document | None:
    """A placement in the words that Kubernetes and Slurm take."""
    if placement is None:
        return None
    return {
        "nodes": placement.chosen,
        "of": placement.good,
        "node_selector": _selector(placement.terms),
        "node_affinity": affinity(placement.terms) if placement.terms else None,
        "constraint": placement.constraint,
        "gpu_type": placement.gpu_type,
        "exclude": compact_names(placement.exclude) if placement.exclude else None,
    }


def affinity(terms: Iterable[Term]) -> Document:
    """A pod's spec.affinity.nodeAffinity."""
    wanted = [
        {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)} for key, values in term.values]}
        for term in terms
    ]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": wanted}}


def _selector(terms: Sequence[Term]) -> dict[str, str] | None:
    """A nodeSelector, where one value for each label is all there is to say."""
    if len(terms) != 1 or any(len(values) != 1 for _, values in terms[0].values):
        return None
    return {key: values[0] for key, values in terms[0].values}
