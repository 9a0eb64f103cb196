"""Kubernetes nodes, from `kubectl get nodes -o json` and the ResourceSlices that may stand beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from cudacompat.errors import HostError
from cudacompat.inventory.values import listed, mapping, plain, text_of
from cudacompat.model.inventory import Fleet, FleetNode, SlicedGpu, Taint

MOST_NODES = 100_000
_DRA_DRIVER = "gpu.nvidia.com"


def read_fleet(document: object, where: str) -> Fleet:
    """Nodes, runtime classes and resource slices of a List or of a single object.

    Raises HostError when there is neither a node nor a slice in it.
    """
    objects = _objects(document, where)
    slices = _sliced(item for item in objects if item.get("kind") == "ResourceSlice")
    nodes = [_node(item) for item in objects if item.get("kind") == "Node"]
    known = {node.name for node in nodes}
    nodes = [replace(node, sliced=slices[node.name]) if node.name in slices else node for node in nodes]
    nodes += [FleetNode(name, sliced=found) for name, found in slices.items() if name not in known]
    if not nodes:
        raise HostError(f"{where}: there is no node in it; give the output of kubectl get nodes -o json")
    classes = frozenset(
        text_of(plain(item.get("metadata")).get("name")) for item in objects if item.get("kind") == "RuntimeClass"
    )
    return Fleet(tuple(nodes), classes or None, bool(slices))


def _objects(document: object, where: str) -> list[Mapping[str, object]]:
    items = document.get("items", [document]) if isinstance(document, dict) else document
    if not isinstance(items, list):
        raise HostError(f"{where}: expected the output of kubectl get nodes -o json")
    if len(items) > MOST_NODES:
        raise HostError(f"{where}: more than {MOST_NODES} objects; give the nodes alone")
    return [item for item in items if isinstance(item, dict)]


def _node(item: Mapping[str, object]) -> FleetNode:
    metadata, spec, status = (plain(item.get(key)) for key in ("metadata", "spec", "status"))
    labels = mapping(metadata.get("labels"))
    ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in listed(status.get("conditions")))
    taints = tuple(
        Taint(text_of(t.get("key")), text_of(t.get("value")), text_of(t.get("effect")))
        for t in listed(spec.get("taints"))
    )
    info = plain(status.get("nodeInfo"))
    return FleetNode(
        text_of(metadata.get("name")),
        labels,
        mapping(metadata.get("annotations")),
        taints,
        {k: int(v) for k, v in mapping(status.get("allocatable")).items() if v.isdecimal() and len(v) < 10},
        ready,
        spec.get("unschedulable") is True,
        labels.get("kubernetes.io/arch") or text_of(info.get("architecture")) or None,
        text_of(info.get("osImage")),
    )


def _sliced(slices: Iterable[Mapping[str, object]]) -> dict[str, tuple[SlicedGpu, ...]]:
    found: dict[str, list[SlicedGpu]] = {}
    for item in slices:
        spec = plain(item.get("spec"))
        if spec.get("driver") == _DRA_DRIVER and isinstance(spec.get("nodeName"), str):
            found.setdefault(text_of(spec["nodeName"]), []).extend(_devices(listed(spec.get("devices"))))
    return {name: tuple(devices) for name, devices in found.items()}


def _devices(devices: Sequence[Mapping[str, object]]) -> Iterator[SlicedGpu]:
    for device in devices:
        # v1beta1 has one more level.
        attributes = plain(device.get("attributes") or plain(device.get("basic")).get("attributes"))
        if _value(attributes, "type") in (None, "gpu", "mig"):
            yield SlicedGpu(
                _value(attributes, "productName"),
                _pair(_value(attributes, "cudaComputeCapability")),
                _value(attributes, "driverVersion"),
                _pair(_value(attributes, "cudaDriverVersion")),
            )


def _value(attributes: Mapping[str, object], name: str) -> str | None:
    value = plain(attributes.get(name, attributes.get(f"{_DRA_DRIVER}/{name}")))
    return next((text for text in (value.get("string"), value.get("version")) if isinstance(text, str)), None)


def _pair(version: str | None) -> str | None:
    """ "8.0" of the semantic version "8.0.0"."""
    return ".".join(version.split(".")[:2]) if version else None
