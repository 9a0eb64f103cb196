"""Rules on dynamic resource allocation: K25-K29."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cudacompat.workloads.document import Node
from cudacompat.workloads.interface import Hit, Inventory
from cudacompat.workloads.kubernetes.book import BOOK
from cudacompat.workloads.kubernetes.reader import KubernetesFile, template_text

_API = "resource.k8s.io/"
_KINDS = frozenset({"ResourceClaim", "ResourceClaimTemplate"})
# dra-driver-nvidia-gpu, reference of ResourceSlice attributes.
_ATTRIBUTES_NAMES = """
    type uuid productName brand architecture cudaComputeCapability driverVersion cudaDriverVersion addressingMode
    profile parentUUID pciBusID pcieRoot numaNode
"""
_ATTRIBUTES = frozenset(_ATTRIBUTES_NAMES.split())
_DRIVER = "gpu.nvidia.com"
_ATTRIBUTE = re.compile(
    r"device\.attributes\[\s*['\"]gpu\.nvidia\.com['\"]\s*\]\s*(?:\.(\w+)|\[\s*['\"](\w+)['\"]\s*\])"
)
_TEXT_COMPARE = re.compile(
    r"[dD]riverVersion\s*(?:<=?|>=?|[!=]=)\s*['\"]|['\"]\s*(?:<=?|>=?|[!=]=)\s*[\w.\[\]'\"]*[dD]riverVersion\b|[dD]riverVersion\.(?:startsWith|matches|contains)\("
)
_FLAT = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess")


def _requests(file: KubernetesFile) -> Iterator[tuple[str, Node]]:
    for item in file.objects:
        if item.kind in _KINDS and item.api.startswith(_API):
            spec = item.node.get("spec")
            devices = spec.get("spec", "devices") if item.kind == "ResourceClaimTemplate" else spec.get("devices")
            for request in devices.get("requests").items():
                yield item.api.removeprefix(_API), request


@BOOK.rule(
    "K25",
    "error",
    "the request's form is another API version's",
    fix="v1 and v1beta2: put the fields under exactly; v1beta1: write them flat",
    source="run with kubernetes-validate",
)
def wrong_form(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K25: flat fields belong to v1beta1, exactly to v1beta2 and v1. The old form alone is a note."""
    for version, request in _requests(file):
        flat = next((n for key in _FLAT if (n := request.get(key)).exists), None)
        exactly = request.get("exactly")
        if version in ("v1", "v1beta2") and flat is not None:
            yield Hit(
                flat.line, f"{_API}{version} wants these fields under exactly: the API refuses the flat form of v1beta1"
            )
        elif version in ("v1beta1", "v1alpha3") and exactly.exists:
            yield Hit(exactly.line, f"exactly is not known in {_API}{version}: the API refuses it")
        elif version in ("v1beta1", "v1alpha3") and flat is not None:
            yield Hit(
                flat.line, f"{_API}{version} is the older form: in v1 these fields move under exactly", level="note"
            )


def _expressions(file: KubernetesFile) -> Iterator[Node]:
    for _, request in _requests(file):
        bodies = [request, request.get("exactly"), *request.get("firstAvailable").items()]
        for body in bodies:
            yield from _cel(body)
    for item in file.objects:
        if item.kind == "DeviceClass" and item.api.startswith(_API):
            yield from _cel(item.node.get("spec"))


def _cel(body: Node) -> Iterator[Node]:
    for selector in body.get("selectors").items():
        expression = selector.get("cel", "expression")
        if expression.string:
            yield expression


@BOOK.rule(
    "K26",
    "error",
    "a CEL expression on an attribute that devices do not have",
    fix="select on uuid, productName or another published attribute",
    source="dra-driver-nvidia-gpu, ResourceSlice attributes",
)
def unknown_attribute(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K26."""
    for expression in _expressions(file):
        for match in _ATTRIBUTE.finditer(expression.string or ""):
            name = match[1] or match[2]
            if name not in _ATTRIBUTES:
                yield Hit(
                    expression.line,
                    f"{_DRIVER} publishes no attribute {name!r}: the expression fails and no device matches",
                )


@BOOK.rule(
    "K27",
    "error",
    "no container lists the claim",
    fix="add resources: claims: [{name: ...}] to the container",
    source="dra-driver-nvidia-gpu, demos",
)
def unlisted_claim(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K27."""
    for item in file.objects:
        for pod in item.pods:
            listed = {name.string for container in pod.containers for name in container.claims}
            for claim in pod.spec.get("resourceClaims").items():
                name = claim.get("name").string
                if name and name not in listed:
                    yield Hit(
                        claim.line, f"the pod has the claim {name!r}, but no container lists it: none gets the GPU"
                    )


@BOOK.rule(
    "K28",
    "error",
    "a claim that leads nowhere",
    fix="give resourceClaimTemplateName or resourceClaimName",
    source="Kubernetes documentation, dynamic resource allocation",
)
def loose_claim(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K28: a pod's claim without a source, or a container's claim that the pod does not declare."""
    for item in file.objects:
        for pod in item.pods:
            declared = pod.spec.get("resourceClaims").items()
            for claim in declared:
                if not claim.get("resourceClaimName").string and not claim.get("resourceClaimTemplateName").string:
                    yield Hit(
                        claim.line,
                        f"the claim {claim.get('name').string!r} names neither a claim nor a "
                        "template: the pod is stuck",
                    )
            yield from _unwritten(file, item.namespace, declared)
            names = {claim.get("name").string for claim in declared}
            for container in pod.containers:
                for name in container.claims:
                    if pod.spec.exists and name.string not in names:
                        yield Hit(
                            name.line,
                            f"container {container.name} lists the claim {name.string!r}, which "
                            "the pod does not declare",
                        )


def _unwritten(file: KubernetesFile, namespace: str, declared: tuple[Node, ...]) -> Iterator[Hit]:
    """References that none of the file's own claims and templates answers; nothing where the file has none."""
    for kind, key in (("ResourceClaimTemplate", "resourceClaimTemplateName"), ("ResourceClaim", "resourceClaimName")):
        here = {item.name for item in file.objects if item.kind == kind and item.namespace == namespace}
        for claim in declared:
            name = claim.get(key)
            if name.string and here and name.string not in here and not template_text(name):
                message = f"there is no {kind} {name.string!r} in this file (there: {', '.join(sorted(here)[:4])})"
                yield Hit(name.line, f"{message}: unless the cluster has it, the pod is stuck", level="warning")


@BOOK.rule(
    "K29",
    "warning",
    "a driver version compared as text",
    fix="device.attributes[...].driverVersion.compareTo(semver('570.0.0')) >= 0",
    source="dra-driver-nvidia-gpu, ResourceSlice attributes",
)
def text_compare(file: KubernetesFile, _inventory: Inventory) -> Iterator[Hit]:
    """K29: it is a semantic version, and 570.172.08 is published as 570.172.8."""
    for expression in _expressions(file):
        if _TEXT_COMPARE.search(expression.string or ""):
            yield Hit(
                expression.line, "driverVersion is compared as text: use compareTo(semver(...)), and no leading zeros"
            )
