"""What schedulers say about their machines: a Slurm site's nodes, a Kubernetes fleet's nodes, and plain nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cudacompat.model.host import HostFacts

NO_TEXT: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Gres:
    """Generic resources of one node: ``count`` of ``kind`` ("gpu", "shard", "mps"), typed or not."""

    kind: str
    gpu_type: str | None
    count: int


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """One Slurm node as sinfo and scontrol name it. ``remarks`` are its Comment and Extra fields."""

    name: str
    gres: tuple[Gres, ...] = ()
    features: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    cpus: int | None = None
    architecture: str | None = None
    states: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def gpus(self, gpu_type: str | None = None) -> int:
        """How many GPUs (of this type) the node has."""
        return sum(g.count for g in self.gres if g.kind == "gpu" and gpu_type in (None, g.gpu_type))


@dataclass(frozen=True, slots=True)
class SlurmSite:
    """A Slurm site. ``version`` is (major, minor); ``constrain_devices`` is ConstrainDevices of cgroup.conf.

    None means that nobody said. ``default_partition`` is the one that jobs without -p go to.
    """

    nodes: tuple[SlurmNode, ...] = ()
    version: tuple[int, int] | None = None
    constrain_devices: bool | None = None
    default_partition: str | None = None


@dataclass(frozen=True, slots=True)
class Taint:
    """A node's taint."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class SlicedGpu:
    """One device of a DRA ResourceSlice: a GPU or a part of one, as NVIDIA's DRA driver describes it."""

    product: str | None
    compute_capability: str | None
    driver: str | None
    driver_cuda: str | None


@dataclass(frozen=True, slots=True)
class FleetNode:
    """One Kubernetes node: labels, annotations, taints, what it offers and whether it takes pods."""

    name: str
    labels: Mapping[str, str] = field(default_factory=lambda: NO_TEXT)
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_TEXT)
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    ready: bool = True
    unschedulable: bool = False
    architecture: str | None = None
    os_image: str = ""
    sliced: tuple[SlicedGpu, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the scheduler places new pods there."""
        return self.ready and not self.unschedulable

    @property
    def is_gke(self) -> bool:
        """Whether Google's own device plugin runs there, by the labels GKE sets."""
        return any(label.startswith("cloud.google.com/gke-") for label in self.labels)

    @property
    def driver(self) -> str | None:
        """The driver version that labels or annotations state, in the order of trust; None when they do not."""
        full = self.labels.get("nvidia.com/cuda.driver-version.full")
        if full:
            return full
        old = [self.labels.get(f"nvidia.com/cuda.driver.{part}", "") for part in ("major", "minor", "rev")]
        if old[0]:
            return ".".join(part for part in old if part)
        return self.annotations.get("cloud.google.com/cuda.driver-version.full")

    @property
    def compute_capability(self) -> str | None:
        """The compute capability that GPU feature discovery found, "8.0"."""
        major = self.labels.get("nvidia.com/gpu.compute.major")
        minor = self.labels.get("nvidia.com/gpu.compute.minor")
        return f"{major}.{minor}" if major and minor else None


@dataclass(frozen=True, slots=True)
class Fleet:
    """A Kubernetes cluster's nodes. ``runtime_classes`` None: nobody said which exist."""

    nodes: tuple[FleetNode, ...] = ()
    runtime_classes: frozenset[str] | None = None
    has_resource_slices: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One machine of an inventory: its facts, and what a scheduler can choose it by.

    ``gpu_count`` counts what the scheduler hands out there (GPUs, or parts of them), None when unknown.
    ``labels`` are Kubernetes labels; ``features`` and ``gpu_types`` Slurm's. ``schedulable`` is False for a
    node that is drained, down, cordoned or not ready.
    """

    name: str
    host: HostFacts
    gpu_count: int | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: NO_TEXT)
    features: tuple[str, ...] = ()
    gpu_types: tuple[str, ...] = ()
    schedulable: bool = True


@dataclass(frozen=True, slots=True)
class Nodes:
    """An inventory. ``scheduler`` is "kubernetes" or "slurm", None for plain lists of hosts."""

    nodes: tuple[Node, ...]
    scheduler: str | None = None
    notes: tuple[str, ...] = ()
