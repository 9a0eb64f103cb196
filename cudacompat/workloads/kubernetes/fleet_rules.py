"""Rules that compare pods with a fleet's nodes: K06-K08, K11-K14, K22, K30-K32, X02."""

from __future__ import annotations

from collections.abc import Iterator

from cudacompat.model.inventory import Fleet, FleetNode
from cudacompat.model.prediction import Level
from cudacompat.workloads.interface import Hit, Inventory, Need
from cudacompat.workloads.kubernetes.book import BOOK, candidates, matching
from cudacompat.workloads.kubernetes.reader import (
    GPU,
    MIG_PREFIX,
    SHARED,
    Container,
    KubernetesFile,
    KubernetesObject,
    Pod,
    gpu_count,
)

_FLEET: tuple[Need, ...] = ("fleet",)
_GFD = "GPU feature discovery README"
_GPU_TAINTS = ("nvidia.com/gpu", "sku")


def _asking(file: KubernetesFile) -> Iterator[tuple[KubernetesObject, Pod, Container, str, int, int]]:
    """Containers that ask for a device: with the resource, the count and the line."""
    for item, pod, container in file.containers():
        for resource, node in container.gpu_entries():
            count = gpu_count(node)
            if count:
                yield item, pod, container, resource, count, node.line


def _usable(inventory: Inventory, pod: Pod) -> tuple[FleetNode, ...]:
    return tuple(n for n in matching(inventory.fleet or Fleet(), pod) if n.usable)


def _served_by_dra(inventory: Inventory) -> bool:
    """Whether an extended resource may be served by DRA, so that allocatable proves nothing."""
    return inventory.fleet is not None and inventory.fleet.has_resource_slices


@BOOK.rule(
    "K06",
    "error",
    "more GPUs than any node has",
    fix="ask for what one node has, in several pods",
    source="Kubernetes scheduling documentation",
    needs=_FLEET,
)
def too_many(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K06: extended resources must fit in one node."""
    for _, pod, _, resource, count, line in _asking(file):
        offers = [n.allocatable.get(resource, 0) for n in _usable(inventory, pod)]
        if offers and 0 < max(offers) < count and not _served_by_dra(inventory):
            yield Hit(
                line, f"{resource}: {count}, and the largest matching node offers {max(offers)}: the pod stays Pending"
            )


@BOOK.rule(
    "K07",
    "error",
    "whole GPUs where nodes offer MIG instances only",
    fix="ask for a profile that the nodes offer (nvidia.com/mig-...)",
    source="NVIDIA/k8s-device-plugin README",
    needs=_FLEET,
)
def mixed_mig(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K07."""
    for _, pod, _, resource, _, line in _asking(file):
        nodes = candidates(inventory.fleet or Fleet(), pod)
        profiles = sorted({r for n in nodes for r, c in n.allocatable.items() if r.startswith(MIG_PREFIX) and c})
        if resource == GPU and profiles and not any(n.allocatable.get(GPU) for n in nodes):
            yield Hit(line, f"{GPU}: the matching nodes offer {', '.join(profiles[:4])} only: the pod stays Pending")


@BOOK.rule(
    "K08",
    "error",
    "a MIG profile that no node offers",
    fix="ask for a profile that the fleet has",
    source="NVIDIA/k8s-device-plugin README",
    needs=_FLEET,
)
def absent_profile(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K08."""
    for _, pod, _, resource, _, line in _asking(file):
        if not resource.startswith(MIG_PREFIX):
            continue
        offered = {
            r for n in _usable(inventory, pod) for r, c in n.allocatable.items() if r.startswith(MIG_PREFIX) and c
        }
        if resource not in offered:
            yield Hit(
                line, f"{resource}: no matching node offers it (there: {', '.join(sorted(offered)) or 'no profile'})"
            )


@BOOK.rule(
    "K11",
    "warning",
    "several shares of GPUs in one container",
    fix="ask for 1: more shares give no more of the GPU",
    source="NVIDIA/k8s-device-plugin README",
    needs=_FLEET,
)
def several_shares(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K11: shares may be of one GPU, or the pod is refused (failRequestsGreaterThanOne)."""
    for _, pod, _, resource, count, line in _asking(file):
        nodes = [n for n in candidates(inventory.fleet or Fleet(), pod) if n.allocatable.get(resource)]
        shared = [n for n in nodes if _replicas(n) > 1]
        if count > 1 and nodes and len(shared) == len(nodes) and resource in (GPU, SHARED):
            yield Hit(
                line,
                f"{resource}: {count} on nodes that share GPUs: two shares may be of one GPU, or "
                "the pod ends with UnexpectedAdmissionError",
            )


def _replicas(node: FleetNode) -> int:
    text = node.labels.get("nvidia.com/gpu.replicas", "1")
    return int(text) if text.isdigit() else 1


@BOOK.rule(
    "K12",
    "error",
    "whole GPUs where nodes offer shared ones only",
    fix=f"ask for {SHARED}",
    source="NVIDIA/k8s-device-plugin README",
    needs=_FLEET,
)
def renamed(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K12: renameByDefault gives the shares another name."""
    for _, pod, _, resource, _, line in _asking(file):
        nodes = candidates(inventory.fleet or Fleet(), pod)
        if (
            resource == GPU
            and any(n.allocatable.get(SHARED) for n in nodes)
            and not any(n.allocatable.get(GPU) for n in nodes)
        ):
            yield Hit(line, f"{GPU}: the matching nodes offer {SHARED} only: the pod stays Pending")


@BOOK.rule(
    "K13",
    "error",
    "a node label that no node has",
    fix="use a value that kubectl get nodes --show-labels shows",
    source=_GFD,
    needs=_FLEET,
)
def absent_label(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K13: also product names with -SHARED or -MIG-... behind them."""
    fleet = inventory.fleet or Fleet()
    for item in file.objects:
        for pod in item.pods:
            for key, (values, line) in pod.selector().items():
                here = {n.labels[key] for n in fleet.nodes if key in n.labels}
                if pod.asks and not here & set(values):
                    near = next((v for v in sorted(here) if any(v.startswith(want) for want in values)), None)
                    hint = f"; there is {near}" if near else ""
                    yield Hit(line, f"no node has {key}={' or '.join(values)}{hint}: the pod stays Pending")


@BOOK.rule(
    "K14",
    "warning",
    "no toleration for the GPU nodes' taint",
    fix="tolerate it, unless the cluster adds the toleration (ExtendedResourceToleration)",
    source="Kubernetes documentation, admission plugins",
    needs=_FLEET,
)
def no_toleration(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K14: only where every node the pod can land on has the taint."""
    for item in file.objects:
        for pod in item.pods:
            nodes = candidates(inventory.fleet or Fleet(), pod)
            blocked = [
                t
                for n in nodes
                for t in n.taints
                if t.effect != "PreferNoSchedule" and not _tolerates(pod, t.key, t.value)
            ]
            free = [
                n
                for n in nodes
                if all(t.effect == "PreferNoSchedule" or _tolerates(pod, t.key, t.value) for t in n.taints)
            ]
            if any(c.gpus for c in pod.containers) and nodes and not free:
                line = next(line for i, p, _, _, _, line in _asking(file) if p is pod and i is item)
                yield Hit(
                    line,
                    f"every matching node has the taint {blocked[0].key}: without a toleration the pod stays Pending",
                )


def _tolerates(pod: Pod, key: str, value: str) -> bool:
    for toleration in pod.spec.get("tolerations").items():
        wanted, operator = toleration.get("key").string, toleration.get("operator").string or "Equal"
        if wanted in (None, "") and operator == "Exists":
            return True
        if wanted == key and (operator == "Exists" or (toleration.get("value").string or "") == value):
            return True
    return False


@BOOK.rule(
    "K22",
    "warning",
    "a runtime class that the cluster does not have",
    fix="use a class that kubectl get runtimeclass shows",
    source="NVIDIA/k8s-device-plugin README",
    needs=_FLEET,
)
def runtime_class(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K22: judged where the cluster's runtime classes are known."""
    known = None if inventory.fleet is None else inventory.fleet.runtime_classes
    for item in file.objects:
        for pod in item.pods:
            node = pod.spec.get("runtimeClassName")
            if known is not None and node.string and node.string not in known:
                yield Hit(
                    node.line, f"runtimeClassName {node.string}: the cluster has no such class, the pod is rejected"
                )


@BOOK.rule(
    "K30",
    "error",
    "the image has no build for the nodes' architecture",
    fix="take a multi-architecture image, or select nodes by kubernetes.io/arch",
    source="the image's index",
    needs=("fleet", "image"),
)
def other_machine(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K30."""
    for _, pod, container in file.containers():
        facts = inventory.images.get(container.image.string or "")
        nodes = candidates(inventory.fleet or Fleet(), pod)
        if facts is None or not container.asks or not nodes:
            continue
        offered = {p.split("/")[1] for p in facts.available_platforms or (facts.config.platform,) if "/" in p}
        missing = [n for n in nodes if n.architecture and n.architecture not in offered]
        if missing:
            level: Level | None = None if len(missing) == len(nodes) else "warning"
            message = (
                f"{container.image.string} is built for {', '.join(sorted(offered))}, and "
                f"{missing[0].name} is {missing[0].architecture}"
            )
            yield Hit(container.image.line, f'{message}: "exec format error" there', level=level)


@BOOK.rule(
    "K31",
    "warning",
    "a rolling update without room for the new pods",
    fix="strategy: {type: Recreate}, or maxSurge: 0",
    source="Kubernetes documentation, deployments",
    needs=_FLEET,
)
def no_room(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K31: the new pod needs GPUs while the old ones hold theirs."""
    for item in file.objects:
        if item.kind != "Deployment" or not item.pods or not item.pods[0].count:
            continue
        strategy, pod = item.node.get("spec", "strategy"), item.pods[0]
        surge, spare = (
            strategy.get("rollingUpdate", "maxSurge").string,
            strategy.get("rollingUpdate", "maxUnavailable").number,
        )
        if strategy.get("type").string == "Recreate" or surge in ("0", "0%") or not pod.gpus:
            continue
        offered = sum(n.allocatable.get(GPU, 0) // pod.gpus for n in _usable(inventory, pod))
        if offered and offered == (pod.count or 0) and not spare:
            yield Hit(
                item.node.get("spec").line,
                f"{pod.count} pods fill the {offered} places of the fleet: at an update the new pod stays Pending",
            )


@BOOK.rule(
    "K32",
    "warning",
    "the matching nodes take no pods",
    fix="uncordon or repair them, or select others",
    source="Kubernetes documentation, nodes",
    needs=_FLEET,
)
def unusable(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K32: NotReady, cordoned, or nothing allocatable despite the labels."""
    for _, pod, _, resource, _, line in _asking(file):
        labelled = [n for n in matching(inventory.fleet or Fleet(), pod) if _looks_gpu(n)]
        if not labelled or candidates(inventory.fleet or Fleet(), pod) or _served_by_dra(inventory):
            continue
        node = labelled[0]
        why = "not ready" if not node.ready else "cordoned" if node.unschedulable else f"without allocatable {resource}"
        yield Hit(line, f"{node.name} has the labels but is {why}, and no other node matches: the pod stays Pending")


def _looks_gpu(node: FleetNode) -> bool:
    return any(key.startswith(("nvidia.com/gpu", "cloud.google.com/gke-accelerator")) for key in node.labels)


@BOOK.rule(
    "X02",
    "warning",
    "no node selector in a fleet with several GPU architectures",
    fix="nodeAffinity on nvidia.com/gpu.compute.major",
    source=_GFD,
    needs=_FLEET,
)
def any_architecture(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """X02."""
    for item in file.objects:
        for pod in item.pods:
            nodes = candidates(inventory.fleet or Fleet(), pod)
            found = sorted({n.compute_capability for n in nodes if n.compute_capability})
            if (
                any(c.gpus for c in pod.containers)
                and len({cc.split(".")[0] for cc in found}) > 1
                and not pod.accelerators()
            ):
                line = next(line for i, p, _, _, _, line in _asking(file) if p is pod and i is item)
                yield Hit(
                    line,
                    f"the pod can land on GPUs of compute capability {', '.join(found)}: the "
                    "image must run on all of them",
                )
