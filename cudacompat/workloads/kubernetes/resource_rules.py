"""Rules on GPU requests as the API and the scheduler read them: K01-K04, K09, K10, K23, K24, K33, K34."""

from __future__ import annotations

from collections.abc import Iterator

from cudacompat.workloads.interface import Hit, Inventory
from cudacompat.workloads.kubernetes.book import BOOK
from cudacompat.workloads.kubernetes.quantity import quantity
from cudacompat.workloads.kubernetes.reader import (
    GPU,
    MIG_PREFIX,
    OLD_GPU,
    KubernetesFile,
    KubernetesObject,
    Pod,
    gpu_count,
    is_gpu_resource,
    template_text,
)

_API = "Kubernetes API validation (kubernetes PR 57170)"


@BOOK.rule("K01", "error", "a GPU request without a limit", fix="put the number under limits", source=_API)
def requests_only(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K01."""
    for _, _, container in file.containers():
        limits = dict(container.resources.get("limits").entries())
        for resource, node in container.resources.get("requests").entries():
            if is_gpu_resource(resource) and resource not in limits:
                yield Hit(
                    node.line,
                    f'{resource} under requests only: refused with "Limit must be set for non '
                    'overcommitable resources"',
                )


@BOOK.rule(
    "K02",
    "error",
    "GPU request and limit differ",
    fix="make them equal, or leave the request out",
    source="NVIDIA/k8s-device-plugin issue 154",
)
def unequal(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K02."""
    for _, _, container in file.containers():
        for resource, node in container.resources.get("requests").entries():
            limit = container.limit(resource)
            asked, most = quantity(node.string or ""), quantity(limit.string or "")
            if is_gpu_resource(resource) and asked is not None and most is not None and asked != most:
                yield Hit(node.line, f"{resource}: request {node.string} and limit {limit.string}: they must be equal")


@BOOK.rule(
    "K03",
    "error",
    "a GPU limit without a number, or in the wrong place",
    fix="write resources: limits: nvidia.com/gpu: 1",
    source="run with kubernetes-validate",
)
def no_number(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K03: null or empty limits, and GPU fields beside limits instead of under it."""
    for _, _, container in file.containers():
        for part in ("limits", "requests"):
            for resource, node in container.resources.get(part).entries():
                if is_gpu_resource(resource) and (node.string is None or node.string.strip() == ""):
                    yield Hit(node.line, f"{resource} under {part} has no number: the API refuses it")
        for place, parent in (("resources", container.resources), ("the container", container.node)):
            for resource, node in parent.entries():
                if is_gpu_resource(resource):
                    yield Hit(node.line, f"{resource} stands directly under {place}: it belongs under resources.limits")


@BOOK.rule(
    "K04",
    "error",
    "a part of a GPU",
    fix="ask for a whole number; share GPUs with MIG, time-slicing or DRA",
    source=_API,
)
def fraction(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K04: extended resources are whole numbers."""
    for _, _, container in file.containers():
        for part in ("limits", "requests"):
            for resource, node in container.resources.get(part).entries():
                text = node.string
                if not is_gpu_resource(resource) or not text or not text.strip() or template_text(node):
                    continue
                value = quantity(text)
                if value is None or value.denominator != 1 or value < 0:
                    yield Hit(node.line, f'{resource}: {text}: refused with "must be an integer"')


@BOOK.rule(
    "K09",
    "warning",
    "several MIG instances in one container",
    fix="one instance for each container",
    source="NVIDIA/k8s-device-plugin issue 446",
)
def several_instances(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K09."""
    for _, _, container in file.containers():
        for resource, node in container.gpu_entries():
            if resource.startswith(MIG_PREFIX) and (gpu_count(node) or 0) > 1:
                yield Hit(node.line, f"{resource}: {node.string}: a process uses only one of the instances")


@BOOK.rule(
    "K10",
    "error",
    "two MIG profiles in one container",
    fix="one container for each profile",
    source="NVIDIA/k8s-device-plugin issue 728",
)
def two_profiles(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K10."""
    for _, _, container in file.containers():
        found = [(r, n) for r, n in container.gpu_entries() if r.startswith(MIG_PREFIX) and gpu_count(n)]
        if len(found) > 1:
            names = " and ".join(resource for resource, _ in found)
            yield Hit(found[1][1].line, f"{names} in one container: only one of them is visible")


@BOOK.rule(
    "K23",
    "note",
    "an init container asks for more GPUs than the pod's work",
    fix="lower it, or know that the pod holds the larger number",
    source="Kubernetes documentation, init containers",
)
def large_init(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K23: the pod's request is the larger of each init container and the sum of the others."""
    for item in file.objects:
        for pod in item.pods:
            running = sum(c.gpus or 0 for c in pod.containers if not c.init or c.sidecar)
            for container in pod.containers:
                if container.init and not container.sidecar and (container.gpus or 0) > running:
                    line = next(node.line for _, node in container.gpu_entries())
                    yield Hit(
                        line,
                        f"init container {container.name} asks for {container.gpus} GPUs, the "
                        f"work for {running}: the pod holds {container.gpus}",
                    )


@BOOK.rule(
    "K24",
    "warning",
    "the model's split and the pods' GPUs differ",
    fix="make tensor x pipeline parallel size the number of GPUs",
    source="vLLM's documentation",
)
def split(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K24: over one pod, or over the group of pods that serves one model."""
    for item in file.objects:
        for pod in item.pods:
            for container in pod.containers:
                wanted, gpus = container.launcher.model_gpus, _group_gpus(item, pod)
                if wanted is None or gpus is None or wanted == gpus or container.gpus is None:
                    continue
                launcher = container.launcher
                text = f"{launcher.tensor_parallel or 1} x {launcher.pipeline_parallel or 1} = {wanted}"
                effect = "the launcher fails" if wanted > gpus else f"{gpus - wanted} stay idle"
                line = next((n.line for k in ("args", "command") if (n := container.node.get(k)).exists), pod.spec.line)
                yield Hit(line, f"the model is split over {text} GPUs, and its pods have {gpus}: {effect}")


def _group_gpus(item: KubernetesObject, pod: Pod) -> int | None:
    """GPUs of the pods that serve together; None where it cannot be told."""
    if item.kind == "LeaderWorkerSet":
        size = item.node.get("spec", "leaderWorkerTemplate", "size").number or 1
        worker = item.pods[-1]
        return pod.gpus + worker.gpus * (size - 1) if pod.role == "leader" else worker.gpus * size
    if item.kind.startswith("Ray") or any(c.claims for c in pod.containers):
        return None
    return pod.gpus


@BOOK.rule(
    "K33",
    "warning",
    "zero GPUs to hide them",
    fix="set NVIDIA_VISIBLE_DEVICES=void instead",
    source="NVIDIA/k8s-device-plugin issue 61",
)
def zero(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K33."""
    for _, _, container in file.containers():
        for resource, node in container.gpu_entries():
            if node.string is not None and gpu_count(node) == 0:
                yield Hit(
                    node.line,
                    f"{resource}: 0 hides nothing: where NVIDIA's runtime is the default, all GPUs are visible",
                )


@BOOK.rule("K34", "error", "a resource name of before Kubernetes 1.10", fix=f"use {GPU}", source="kubernetes PR 24836")
def old_name(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K34."""
    for _, _, container in file.containers():
        for resource, node in container.gpu_entries():
            if resource == OLD_GPU:
                yield Hit(node.line, f"{OLD_GPU} is no resource any more: the pod stays Pending")
