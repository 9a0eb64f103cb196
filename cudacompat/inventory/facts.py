"""What a scheduler says of a machine, as the host facts that a prediction needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from cudacompat import tables
from cudacompat.errors import Error
from cudacompat.host.boards import observed_gpu
from cudacompat.host.options import with_driver_cuda
from cudacompat.host.values import driver_version
from cudacompat.model import Gpu, HostFacts
from cudacompat.model.host import Injection
from cudacompat.model.inventory import Fleet, FleetNode, Node, Nodes, SlicedGpu, SlurmNode, SlurmSite
from cudacompat.model.names import compact_names

# In the order of trust: what GPU feature discovery saw, then what clouds say they deliver.
_PRODUCTS = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "eks.amazonaws.com/instance-gpu-name",
    "k8s.amazonaws.com/accelerator",
)
_COUNTS = (
    "nvidia.com/gpu.count",
    "cloud.google.com/gke-accelerator-count",
    "karpenter.k8s.aws/instance-gpu-count",
    "eks.amazonaws.com/instance-gpu-count",
)
# A board is in the machine, whether or not something hands it out.
_PRESENT = ("nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present")
_NVIDIA_RESOURCE = re.compile(r"nvidia\.com/(?:gpu|mig-)")
_MACHINES = {"amd64": "amd64", "x86_64": "amd64", "arm64": "arm64", "aarch64": "arm64"}
# Sites name the driver in a node's features or remarks: drv535, driver-550.54.15, nvidia_driver=535.
_DRIVER = re.compile(
    r"(?:^|[\s,;])(?:nvidia[-_.]?)?(?:drv|driver|nv)[-_.:=]?(?:version[-_.:=]?)?r?(\d{3}(?:\.\d{1,3}){0,2})(?=$|[\s,;])",
    re.IGNORECASE,
)
_DOWN = ("DOWN", "DRAIN", "FAIL", "MAINT", "UNKNOWN", "FUTURE", "POWERED_DOWN", "NOT_RESPONDING", "PLANNED")
_MIG_TYPE = re.compile(r"(?:(.+?)[_-])?(\d+g\.\d+gb)", re.IGNORECASE)


def fleet_nodes(fleet: Fleet) -> Nodes:
    """The machines of a Kubernetes cluster."""
    known: dict[object, HostFacts] = {}

    def facts(node: FleetNode) -> HostFacts:
        key = _fleet_key(node)
        if key not in known:
            known[key] = _fleet_host(node)
        return known[key]

    nodes = tuple(
        Node(n.name, facts(n), _fleet_count(n), n.labels, schedulable=n.usable) for n in fleet.nodes if n.name
    )
    return Nodes(nodes, "kubernetes", _notes(nodes))


def _fleet_key(node: FleetNode) -> object:
    """Everything that ``_fleet_host`` looks at."""
    labels = node.labels
    return (
        node.driver,
        node.compute_capability,
        tuple(labels.get(name) for name in _PRODUCTS),
        _may_have_gpu(node),
        _plugin(node),
        node.architecture,
        node.os_image,
        tuple(dict.fromkeys(node.sliced)),
    )


def _fleet_host(node: FleetNode) -> HostFacts:
    notes: list[str] = []
    gpus = _sliced_gpus(node.sliced, notes) if node.sliced else _labelled_gpus(node, notes)
    labelled = node.driver or next((gpu.driver for gpu in node.sliced if gpu.driver), None)
    system = tables.bottlerocket_driver(node.os_image)
    driver = _driver(labelled or (system.value if system else None), notes)
    if driver is None and gpus != ():
        notes.append(_why_no_driver(node))
    cuda = next((gpu.driver_cuda for gpu in node.sliced if gpu.driver_cuda), None)
    machine = _MACHINES.get(node.architecture or "")
    host = HostFacts(driver, cuda, "linux", machine, gpus, _plugin(node), origin="Kubernetes")
    return _finished(host if driver else replace(host, driver_cuda=None), notes)


def _has_gpu(node: FleetNode) -> bool:
    offered = any(count and _NVIDIA_RESOURCE.match(name) for name, count in node.allocatable.items())
    return offered or bool(node.sliced) or any(node.labels.get(name) for name in (*_PRODUCTS, *_COUNTS))


def _may_have_gpu(node: FleetNode) -> bool:
    return _has_gpu(node) or any(node.labels.get(name) == "true" for name in _PRESENT)


def _labelled_gpus(node: FleetNode, notes: list[str]) -> tuple[Gpu, ...] | None:
    if not _may_have_gpu(node):
        return ()
    product = next((node.labels[name] for name in _PRODUCTS if node.labels.get(name)), None)
    if product is None and node.compute_capability is None:
        notes.append("no label names the GPU: GPU feature discovery sets nvidia.com/gpu.product")
        return None
    if product and "MIG-INVALID" in product:
        notes.append(
            "the label nvidia.com/gpu.product says MIG-INVALID: the node's MIG layout does not fit its strategy"
        )
    return _observed(product, node.compute_capability, notes)


def _observed(product: str | None, capability: str | None, notes: list[str]) -> tuple[Gpu, ...] | None:
    gpu, note = observed_gpu(product, capability=capability)
    if note is not None and product is not None:
        notes.append(note)
    return (gpu,) if gpu.compute_capability is not None else None


def _sliced_gpus(sliced: tuple[SlicedGpu, ...], notes: list[str]) -> tuple[Gpu, ...] | None:
    kinds = dict.fromkeys((gpu.product, gpu.compute_capability) for gpu in sliced)
    found = [_observed(product, capability, notes) for product, capability in kinds]
    return tuple(gpu for gpus in found for gpu in gpus or ()) if all(found) else None


def _plugin(node: FleetNode) -> Injection | None:
    """Google's own device plugin hands GPUs in its own way, unless NVIDIA's operator does it there."""
    own = not any(label.startswith("nvidia.com/gpu.deploy.") for label in node.labels)
    return "gke" if node.is_gke and "cloud.google.com/gke-accelerator" in node.labels and own else None


def _why_no_driver(node: FleetNode) -> str:
    system = tables.bottlerocket_driver(node.os_image)
    if system is not None:
        return f"the driver is not labelled, and of the system only this is known: {system.basis}"
    if node.is_gke:
        return "the driver is not labelled; cloud.google.com/gke-gpu-driver-version is a word, not a version"
    return "the driver is not labelled: GPU feature discovery sets nvidia.com/cuda.driver-version.full"


def _fleet_count(node: FleetNode) -> int | None:
    offered = [count for name, count in node.allocatable.items() if _NVIDIA_RESOURCE.match(name)]
    if offered:
        return sum(offered)
    if node.sliced:
        return len(node.sliced)
    label = next((node.labels[name] for name in _COUNTS if node.labels.get(name, "").isdecimal()), None)
    return int(label[:9]) if label else (None if _may_have_gpu(node) else 0)


def site_nodes(site: SlurmSite) -> Nodes:
    """The machines of a Slurm site."""
    known: dict[object, HostFacts] = {}

    def facts(node: SlurmNode) -> HostFacts:
        key = (node.gres, node.features, node.remarks, node.architecture)
        if key not in known:
            known[key] = _site_host(node)
        return known[key]

    nodes = tuple(
        Node(
            node.name,
            facts(node),
            node.gpus(),
            features=node.features,
            gpu_types=tuple(dict.fromkeys(g.gpu_type for g in node.gres if g.kind == "gpu" and g.gpu_type)),
            schedulable=not any(word in state.upper() for state in node.states for word in _DOWN),
        )
        for node in site.nodes
    )
    return Nodes(nodes, "slurm", _notes(nodes))


def _site_host(node: SlurmNode) -> HostFacts:
    notes: list[str] = []
    gpus = _site_gpus(node, notes)
    matches = (_DRIVER.search(text) for text in (*node.features, *node.remarks))
    driver = _driver(next((match[1] for match in matches if match), None), notes)
    if driver is None and gpus != ():
        notes.append("no feature names the driver (drv550, driver-535.183.01); give --driver-map")
    machine = _MACHINES.get(node.architecture or "")
    return _finished(HostFacts(driver, None, "linux", machine, gpus, origin="Slurm"), notes)


def _site_gpus(node: SlurmNode, notes: list[str]) -> tuple[Gpu, ...] | None:
    if not node.gpus():
        return ()
    types = dict.fromkeys(g.gpu_type for g in node.gres if g.kind == "gpu")
    found = [_typed(name, node.features, notes) for name in types]
    return tuple(dict.fromkeys(gpu for gpus in found for gpu in gpus or ())) if all(found) else None


def _typed(name: str | None, features: tuple[str, ...], notes: list[str]) -> tuple[Gpu, ...] | None:
    """The board of a GRES type: the type's own name, or for MIG profiles and untyped GPUs a feature's."""
    mig = _MIG_TYPE.fullmatch(name) if name else None
    board = mig[1] if mig else name
    for candidate in (board,) if board else features:
        gpu, note = observed_gpu(candidate)
        if note is None:
            return (gpu,)
        if board:
            notes.append(f"the GPU type {candidate}: {note}")
    if not board:
        notes.append(f"the GRES {name or 'gpu'} does not name the board")
    return None


def _driver(text: str | None, notes: list[str]) -> str | None:
    if text is None:
        return None
    try:
        return driver_version(text)
    except Error as error:
        notes.append(str(error))
        return None


def _finished(host: HostFacts, notes: list[str]) -> HostFacts:
    return replace(with_driver_cuda(host), notes=tuple(dict.fromkeys(notes)))


def _notes(nodes: tuple[Node, ...]) -> tuple[str, ...]:
    """What could not be learned, with the nodes it concerns."""
    concerned: dict[str, list[str]] = {}
    for node in nodes:
        for note in node.host.notes:
            concerned.setdefault(note, []).append(node.name)
    return tuple(f"{compact_names(names)}: {note}" for note, names in concerned.items())


def with_drivers(nodes: Nodes, driver_of: Callable[[Node], str | None]) -> Nodes:
    """The machines with the drivers that ``driver_of`` knows laid over."""
    changed = tuple(_with_driver(node, driver_of(node)) for node in nodes.nodes)
    return Nodes(changed, nodes.scheduler, _notes(changed))


def _with_driver(node: Node, driver: str | None) -> Node:
    if driver is None or node.host.gpus == ():
        return node
    host = replace(node.host, driver=driver, driver_cuda=None, notes=_without_driver(node.host.notes))
    return replace(node, host=with_driver_cuda(host))


def _without_driver(notes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(note for note in notes if "driver" not in note)
