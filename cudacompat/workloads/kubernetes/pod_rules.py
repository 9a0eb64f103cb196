"""Rules on images, variables and volumes of pods: K05, K15-K21, X03, X01, V01-V07."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cudacompat.model.inventory import Fleet, FleetNode
from cudacompat.workloads.image_rules import add_driver_rule, add_floating_rule
from cudacompat.workloads.images import brings_cuda, capability_of_label, first_toolkit, is_unexpanded, too_old_for
from cudacompat.workloads.interface import Hit, ImageUse, Inventory
from cudacompat.workloads.kubernetes.book import BOOK, candidates, matching
from cudacompat.workloads.kubernetes.reader import Container, KubernetesFile, image_use, template_text, workloads_of
from cudacompat.workloads.visible_rules import add_visible_rules

_GKE_LIBRARIES = "/usr/local/nvidia/lib64"
_DRIVER_PATHS = re.compile(
    r"^/dev/nvidia|libcuda|libnvidia|/nvidia(?:/|$)|^/usr/lib/nvidia|^/home/kubernetes/bin/nvidia"
)
_HIDING = ("void", "none", "", "-1")
# Their users' objects bring the request.
_GIVEN_RESOURCES = frozenset({"TrainingRuntime", "ClusterTrainingRuntime", "PodTemplate"})


def _uses(file: KubernetesFile) -> Iterator[ImageUse]:
    return (use for workload in workloads_of(file) for use in workload.images)


def _gpu_uses(file: KubernetesFile) -> Iterator[ImageUse]:
    """Images of objects that ask for GPUs."""
    for item, pod, container in file.containers():
        if item.asks and container.image.string:
            yield image_use(item, pod, container)


def _nodes_of(file: KubernetesFile, inventory: Inventory, use: ImageUse) -> Iterable[FleetNode]:
    fleet = inventory.fleet or Fleet()
    found = {
        n.name: n
        for _, pod, c in file.containers()
        if c.image.string == use.reference and c.asks
        for n in candidates(fleet, pod)
    }
    return found.values()


def _values(file: KubernetesFile) -> Iterator[tuple[int, str]]:
    for _, _, container in file.containers():
        node = container.env.get("CUDA_VISIBLE_DEVICES")
        if node is not None and node.string is not None:
            yield node.line, node.string


add_floating_rule(BOOK, _gpu_uses)
add_driver_rule(BOOK, _uses, _nodes_of)
add_visible_rules(BOOK, _values)


@BOOK.rule(
    "K05",
    "warning",
    "a CUDA image and no GPU request",
    fix="ask for nvidia.com/gpu, or set NVIDIA_VISIBLE_DEVICES=void",
    source="NVIDIA/k8s-device-plugin issues 61 and 1605",
)
def no_request(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K05: heads and launchers beside pods with GPUs are left alone."""
    for item, _, container in file.containers():
        reference = container.image.string or ""
        visible = container.env.get("NVIDIA_VISIBLE_DEVICES")
        hidden = visible is not None and (visible.string or "") in _HIDING
        elsewhere = item.kind in _GIVEN_RESOURCES or container.asks_elsewhere
        if not item.asks and not hidden and not elsewhere and _has_cuda(reference, inventory):
            yield Hit(
                container.image.line,
                f"{reference} brings CUDA and nobody asks for a GPU: it runs on the CPU, or sees "
                "every GPU where NVIDIA's runtime is the default",
            )


def _has_cuda(reference: str, inventory: Inventory) -> bool | None:
    facts = inventory.images.get(reference)
    if facts is not None and facts.coverage.complete and facts.coverage.depth == "full":
        return bool(facts.components)
    return brings_cuda(reference)


@BOOK.rule(
    "K15",
    "warning",
    "device variables in a pod",
    fix="delete the variable: the device plugin sets it",
    source="NVIDIA/k8s-device-plugin issues 90 and 960",
)
def device_variables(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K15."""
    for item, _, container in file.containers():
        for name in ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
            node = container.env.get(name)
            value = None if node is None else node.string
            if node is None or value is None or (value in _HIDING and not container.asks):
                continue
            effect = (
                "names devices beside those the kubelet gives" if item.asks else "shows GPUs that were not asked for"
            )
            if name == "CUDA_VISIBLE_DEVICES":
                effect = "counts among the container's own GPUs: an index that is not there leaves none"
            yield Hit(node.line, f"{name}={value} {effect}")


@BOOK.rule(
    "K16",
    "warning",
    "the driver or its devices mounted by hand",
    fix="ask for nvidia.com/gpu and let the device plugin mount them",
    source="public manifests",
)
def mounted_driver(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K16: host paths of the driver, device nodes, privileged containers that ask for GPUs."""
    for item in file.objects:
        for pod in item.pods:
            for volume in pod.spec.get("volumes").items():
                path = volume.get("hostPath", "path")
                if path.string and _DRIVER_PATHS.search(path.string):
                    yield Hit(
                        path.line,
                        f"{path.string} comes from the node by hand: it holds on one node image "
                        "only, and breaks on a driver update",
                    )
            for container in pod.containers:
                privileged = container.node.get("securityContext", "privileged")
                if privileged.value is True and container.asks:
                    yield Hit(
                        privileged.line,
                        f"container {container.name} is privileged: it sees every GPU of the "
                        "node, whatever it asked for",
                    )


@BOOK.rule(
    "K17",
    "warning",
    "an image that does not look for the driver where GKE mounts it",
    fix=f"set LD_LIBRARY_PATH with {_GKE_LIBRARIES}",
    source="GoogleCloudPlatform/compute-gpu-installation issue 46",
    needs=("fleet", "image"),
)
def gke_path(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K17: Google's device plugin mounts the driver's libraries at /usr/local/nvidia."""
    for _, pod, container in file.containers():
        facts = inventory.images.get(container.image.string or "")
        if facts is None or not container.asks or not any(n.is_gke for n in matching(inventory.fleet or Fleet(), pod)):
            continue
        own = container.env.get("LD_LIBRARY_PATH")
        path = (
            own.string
            if own is not None
            else next((e.partition("=")[2] for e in facts.config.env if e.startswith("LD_LIBRARY_PATH=")), "")
        )
        if _GKE_LIBRARIES not in (path or "").split(":"):
            yield Hit(
                container.image.line,
                f"{container.image.string} has no {_GKE_LIBRARIES} in LD_LIBRARY_PATH: on GKE "
                "libcuda is not found, unless the node also runs NVIDIA's runtime",
            )


@BOOK.rule(
    "K18",
    "warning",
    "LD_LIBRARY_PATH replaced",
    fix="leave it to the image, or give the image's full list",
    source="public manifests; Kubernetes documentation, dependent variables",
)
def library_path(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K18: the value replaces the image's; only $(VAR) is expanded, and only for variables of the pod."""
    for _, _, container in file.containers():
        node = container.env.get("LD_LIBRARY_PATH")
        if node is None or node.string is None:
            continue
        value = node.string
        if re.search(r"\$\{?[A-Za-z_]", value):
            yield Hit(
                node.line,
                f"LD_LIBRARY_PATH={value}: Kubernetes expands $(VAR) only, so this text itself "
                "replaces the image's value",
            )
        elif "$(LD_LIBRARY_PATH)" in value:
            yield Hit(
                node.line,
                f"LD_LIBRARY_PATH={value}: $(VAR) stands for variables that the pod sets, not for the image's: this "
                "text itself replaces the image's value",
            )
        elif "$(" not in value and not {_GKE_LIBRARIES, "/usr/local/cuda/lib64"} <= set(value.split(":")):
            yield Hit(
                node.line,
                f"LD_LIBRARY_PATH={value} replaces the image's value: its own library folders are no longer searched",
            )


@BOOK.rule(
    "K19", "warning", "a GPU for an image without CUDA", fix="take the image's GPU tag", source="public manifests"
)
def no_cuda(file: KubernetesFile, inventory: Inventory) -> Iterator[Hit]:
    """K19: by its name, or by its content where that was read."""
    for _, _, container in file.containers():
        reference = container.image.string or ""
        if container.asks and reference and _has_cuda(reference, inventory) is False:
            yield Hit(
                container.image.line,
                f"{reference} brings no CUDA by its name, and a GPU is asked for it; only what "
                "the driver brings (nvidia-smi) works",
            )


@BOOK.rule(
    "K20",
    "note",
    "a template that was not expanded",
    fix="render it first (envsubst, helm template) and check the result",
    source="public manifests",
)
def unexpanded(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K20: images, GPU counts and node selectors that cannot be judged."""
    if file.template_lines and not file.objects:
        yield Hit(file.template_lines[0], "this is a template and no YAML yet: nothing in it can be judged")
        return
    for _, pod, container in file.containers():
        if container.image.string and is_unexpanded(container.image.string):
            yield Hit(
                container.image.line,
                f"image {container.image.string}: the variable is not expanded, the image cannot be judged",
            )
        for resource, node in container.gpu_entries():
            if template_text(node):
                yield Hit(
                    node.line, f"{resource}: {node.string}: the variable is not expanded, the request cannot be judged"
                )
        for key, (values, line) in pod.selector().items():
            if any(re.search(r"\$\{?\w|\{\{", value) for value in values):
                yield Hit(line, f"{key}: the variable is not expanded, the node choice cannot be judged")


@BOOK.rule(
    "K21",
    "warning",
    "a GPU newer than the image's CUDA",
    fix="take an image with a newer CUDA",
    source="PTX ISA release history; data/architectures.json",
)
def too_new(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K21: the selected GPU against the CUDA that the image's name tells."""
    for _, pod, container in file.containers():
        if not container.asks or not container.image.string:
            continue
        yield from _too_new(pod.accelerators(), container)


def _too_new(accelerators: tuple[tuple[str, int], ...], container: Container) -> Iterator[Hit]:
    reference = container.image.string or ""
    for product, _ in accelerators:
        capability = capability_of_label(product)
        why = None if capability is None else too_old_for(reference, capability)
        if capability is not None and why is not None:
            yield Hit(
                container.image.line,
                f"{reference}: {why}; {product} (compute capability {capability}) needs CUDA "
                f"{first_toolkit(capability)} "
                "for machine code of its own: the driver must compile PTX, or the kernels fail",
            )
            return
