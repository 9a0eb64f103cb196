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
_MOST_TERMS = 12
Row = tuple["str | None", ...]


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
    """Terms that together fit most: terms are alternatives, so what one leaves out another may add.

    Labels that say why a machine is right (its driver, its board) hold for machines that come later; names do
    not, so they only add what no label can.
    """
    unwanted = _counted(bad)
    terms: tuple[Term, ...] = ()
    left = list(good)
    while left and len(terms) < _MOST_TERMS:
        more = _best_terms(left, unwanted)
        if not more:
            break
        terms += more
        left = [node for node in left if not _fits(more, node)]
    if left and len(left) <= _MOST_NAMES:
        terms += _by_name(left)
    return Placement(_chosen(terms, good), len(good), terms=terms) if terms else None


def _best_terms(good: Sequence[Node], unwanted: set[Row]) -> tuple[Term, ...]:
    """The terms over one label or two that fit most machines, in the fewest words."""
    wanted = _counted(good)
    keys = [key for number, key in enumerate(_LABELS) if any(row[number] for row in wanted)]
    choices = [_terms((key,), wanted, unwanted) for key in keys]
    choices += [_terms((first, second), wanted, unwanted) for first in keys for second in keys if first != second]
    return max(choices, key=lambda terms: (_chosen(terms, good), -_size(terms)), default=())


def _counted(nodes: Iterable[Node]) -> set[Row]:
    """The nodes' values of all labels, each combination once."""
    return {tuple(node.labels.get(key) for key in _LABELS) for node in nodes}


def _by_name(nodes: Sequence[Node]) -> tuple[Term, ...]:
    names = [node.labels.get(_HOSTNAME) for node in nodes]
    return (Term(((_HOSTNAME, tuple(sorted(name for name in names if name))),)),) if all(names) else ()


def _terms(keys: tuple[str, ...], good: Iterable[Row], bad: Iterable[Row]) -> tuple[Term, ...]:
    """Terms over one or two labels: the combinations that only good machines have."""
    places = [_LABELS.index(key) for key in keys]

    def combinations(rows: Iterable[Row]) -> set[tuple[str, ...]]:
        found = (tuple(value for place in places if (value := row[place]) is not None) for row in rows)
        return {values for values in found if len(values) == len(keys)}

    wanted = combinations(good) - combinations(bad)
    if not wanted or len(wanted) > _MOST_VALUES:
        return ()
    if len(keys) == 1:
        return (Term(((keys[0], tuple(sorted(value for (value,) in wanted))),)),)
    seconds: dict[str, list[str]] = {}
    for first, second in sorted(wanted):
        seconds.setdefault(first, []).append(second)
    firsts: dict[tuple[str, ...], list[str]] = {}
    for first, values in seconds.items():
        firsts.setdefault(tuple(values), []).append(first)
    return tuple(Term(((keys[0], tuple(names)), (keys[1], values))) for values, names in sorted(firsts.items()))


def _chosen(terms: Collection[Term], nodes: Iterable[Node]) -> int:
    return sum(_fits(terms, node) for node in nodes)


def _fits(terms: Iterable[Term], node: Node) -> bool:
    return any(term.fits(node) for term in terms)


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
    troubled = tuple(node.name for node in bad if node.gpu_count != 0)
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
