"""What keeps a job on the machines where its image runs: node affinity, or a Slurm constraint.

A choice is kept only when no machine that fails, or of which too little is known, fits it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from cudacompat.model.inventory import Node

# In this order: what decides a prediction, then what clouds and sites name their pools by.
_LABELS = (
    "nvidia.com/cuda.driver-version.full",
    "nvidia.com/cuda.driver-version.major",
    "nvidia.com/cuda.driver.major",
    "nvidia.com/gpu.product",
    "nvidia.com/gpu.family",
    "nvidia.com/gpu.compute.major",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-nodepool",
    "karpenter.k8s.aws/instance-gpu-name",
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
)
_HOSTNAME = "kubernetes.io/hostname"
_MOST_VALUES = 64
_MOST_NAMES = 64


@dataclass(frozen=True, slots=True)
class Term:
    """One nodeSelectorTerm: every label must have one of its values."""

    values: tuple[tuple[str, tuple[str, ...]], ...]

    def fits(self, node: Node) -> bool:
        """Whether a node has all of it."""
        return all(node.labels.get(key) in allowed for key, allowed in self.values)


@dataclass(frozen=True, slots=True)
class Placement:
    """A choice of machines. One of ``terms`` (Kubernetes) or ``constraint``, ``gpu_type``, ``exclude`` (Slurm).

    ``chosen`` of ``good`` machines on which the image runs fit it; no other machine does.
    """

    chosen: int
    good: int
    terms: tuple[Term, ...] = ()
    constraint: str | None = None
    gpu_type: str | None = None
    exclude: tuple[str, ...] = ()


def placement(scheduler: str | None, good: Sequence[Node], bad: Sequence[Node]) -> Placement | None:
    """The choice that fits most of ``good`` and none of ``bad``; None where there is nothing to choose by."""
    if scheduler == "kubernetes":
        return _affinity(good, bad)
    return _slurm(good, bad) if scheduler == "slurm" else None


def _affinity(good: Sequence[Node], bad: Sequence[Node]) -> Placement | None:
    choices = [_terms((key,), good, bad) for key in _LABELS]
    choices += [_terms((first, second), good, bad) for first in _LABELS for second in _LABELS if first != second]
    best = max(choices, key=lambda terms: (_chosen(terms, good), -_size(terms)), default=())
    if _chosen(best, good) < len(good) and len(good) <= _MOST_NAMES:
        names = _terms((_HOSTNAME,), good, bad)
        best = names if _chosen(names, good) == len(good) else best
    return Placement(_chosen(best, good), len(good), terms=best) if best else None


def _terms(keys: tuple[str, ...], good: Iterable[Node], bad: Iterable[Node]) -> tuple[Term, ...]:
    """Terms over these labels: the combinations that only good machines have, joined by the first label."""

    def combination(node: Node) -> tuple[str, ...] | None:
        found = tuple(node.labels.get(key) for key in keys)
        return tuple(value for value in found if value is not None) if None not in found else None

    wanted = {found for node in good if (found := combination(node))}
    wanted -= {found for node in bad if (found := combination(node))}
    if not wanted or len(wanted) > _MOST_VALUES:
        return ()
    if len(keys) == 1:
        return (Term(((keys[0], tuple(sorted(value for (value,) in wanted))),)),)
    by_rest: dict[tuple[str, ...], list[str]] = {}
    for first, *rest in sorted(wanted):
        by_rest.setdefault(tuple(rest), []).append(first)
    merged: dict[tuple[str, ...], list[str]] = {}
    for rest_values, firsts in by_rest.items():
        merged.setdefault(tuple(firsts), []).extend(rest_values)
    return tuple(Term(((keys[0], firsts), (keys[1], tuple(rest)))) for firsts, rest in sorted(merged.items()))


def _chosen(terms: Collection[Term], nodes: Iterable[Node]) -> int:
    return sum(any(term.fits(node) for term in terms) for node in nodes)


def _size(terms: Iterable[Term]) -> int:
    """How much there is to write: fewer labels, then fewer values."""
    return sum(10 * len(term.values) + sum(len(allowed) for _, allowed in term.values) for term in terms)


def _slurm(good: Sequence[Node], bad: Sequence[Node]) -> Placement | None:
    features = _separating(good, bad, lambda node: node.features)
    types = _separating(good, bad, lambda node: node.gpu_types)
    # Only one GPU type can be asked for.
    by_type = max(types, key=lambda name: _having(name, good, lambda node: node.gpu_types), default=None)
    with_type = _having(by_type, good, lambda node: node.gpu_types) if by_type else 0
    with_feature = sum(bool(set(node.features) & set(features)) for node in good)
    if with_feature == len(good) or with_feature >= max(with_type, 1):
        return Placement(with_feature, len(good), constraint="|".join(_needed(features, good)))
    troubled = tuple(node.name for node in bad if node.gpu_count)
    if len(troubled) <= _MOST_NAMES:
        return Placement(len(good), len(good), exclude=troubled)
    return Placement(with_type, len(good), gpu_type=by_type) if by_type else None


def _separating(good: Iterable[Node], bad: Iterable[Node], of: Callable[[Node], Sequence[str]]) -> list[str]:
    """The words that only good machines have."""
    wrong = {word for node in bad for word in of(node)}
    return list(dict.fromkeys(word for node in good for word in of(node) if word not in wrong))


def _having(word: str, nodes: Iterable[Node], of: Callable[[Node], Sequence[str]]) -> int:
    return sum(word in of(node) for node in nodes)


def _needed(features: Sequence[str], good: Sequence[Node]) -> list[str]:
    """As few of the features as choose the same machines."""
    open_nodes = [node for node in good if set(node.features) & set(features)]
    chosen: list[str] = []
    while open_nodes:
        best = max(features, key=lambda name: _having(name, open_nodes, lambda node: node.features))
        chosen.append(best)
        open_nodes = [node for node in open_nodes if best not in node.features]
    return sorted(chosen)
