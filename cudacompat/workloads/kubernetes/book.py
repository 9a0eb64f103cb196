"""The rule book of Kubernetes manifests, and the part of a fleet that a pod can land on."""

from __future__ import annotations

from cudacompat.model.inventory import Fleet, FleetNode
from cudacompat.workloads.interface import RuleBook
from cudacompat.workloads.kubernetes.reader import KubernetesFile, Pod, is_gpu_resource

BOOK: RuleBook[KubernetesFile] = RuleBook()


def matching(fleet: Fleet, pod: Pod) -> tuple[FleetNode, ...]:
    """Nodes that have the labels the pod asks for, whether they take pods or not."""
    wanted = pod.selector()
    return tuple(n for n in fleet.nodes if all(n.labels.get(k) in values for k, (values, _) in wanted.items()))


def candidates(fleet: Fleet, pod: Pod) -> tuple[FleetNode, ...]:
    """Nodes with the labels that take pods and offer some NVIDIA resource."""
    return tuple(
        n for n in matching(fleet, pod) if n.usable and any(is_gpu_resource(r) and c for r, c in n.allocatable.items())
    )
