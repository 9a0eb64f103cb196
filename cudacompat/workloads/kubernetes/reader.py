"""Find the pods of a manifest: where images and GPU requests sit in each kind, with line numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cudacompat.workloads.document import Node, read_documents
from cudacompat.workloads.images import is_unexpanded
from cudacompat.workloads.interface import GpuRequest, ImageUse, Workload
from cudacompat.workloads.kubernetes.quantity import quantity
from cudacompat.workloads.launchers import Launcher, find_launcher
from cudacompat.workloads.shell.script import read_script

GPU = "nvidia.com/gpu"
SHARED = "nvidia.com/gpu.shared"
MIG_PREFIX = "nvidia.com/mig-"
OLD_GPU = "alpha.kubernetes.io/nvidia-gpu"
ACCELERATOR_LABELS = (
    "cloud.google.com/gke-accelerator",
    "nvidia.com/gpu.product",
    "karpenter.k8s.aws/instance-gpu-name",
    "eks.amazonaws.com/instance-gpu-name",
    "k8s.amazonaws.com/accelerator",
)
_TEMPLATE = ("spec", "template", "spec")
_TEMPLATE_KINDS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "ReplicationController",
                             "Service", "Revision", "Configuration", "Rollout"})  # fmt: skip
_MAX_SEARCH = 12
_OTHER_GPU = re.compile(r"gpu|vcuda|^nvidia\.com/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a pod. ``resources`` is the node of limits, requests and claims."""

    name: str
    node: Node
    image: Node
    resources: Node
    init: bool = False
    sidecar: bool = False

    def limit(self, resource: str) -> Node:
        """The limit's node of a resource."""
        return self.resources.get("limits").get(resource)

    def gpu_entries(self) -> Iterator[tuple[str, Node]]:
        """Limits (and requests without a limit) of NVIDIA resources."""
        limits = dict(self.resources.get("limits").entries())
        for resource, node in {**dict(self.resources.get("requests").entries()), **limits}.items():
            if is_gpu_resource(resource):
                yield resource, node

    @property
    def gpus(self) -> int | None:
        """How many devices it asks for; None when a count cannot be read."""
        counts = [gpu_count(node) for _, node in self.gpu_entries()]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def claims(self) -> tuple[Node, ...]:
        """The names of the resource claims it lists."""
        return tuple(item.get("name") for item in self.resources.get("claims").items())

    @property
    def asks(self) -> bool:
        """Whether it asks for a GPU. A count that cannot be read counts as asking."""
        return self.gpus != 0 or bool(self.claims)

    @property
    def asks_elsewhere(self) -> bool:
        """Whether it asks for GPUs under a name of another plugin (volcano.sh/vgpu-number, aliyun.com/gpu-mem)."""
        names = (name for part in ("limits", "requests") for name, _ in self.resources.get(part).entries())
        return any("/" in n and _OTHER_GPU.search(n) is not None and not is_gpu_resource(n) for n in names)

    @property
    def env(self) -> Mapping[str, Node]:
        """The variables with values."""
        return {
            item.get("name").string or "": item.get("value")
            for item in self.node.get("env").items()
            if item.get("value").exists
        }

    @property
    def launcher(self) -> Launcher:
        """What its command and arguments start."""
        words = [w.string or "" for key in ("command", "args") for w in self.node.get(key).items()]
        return _launcher(words)


def _launcher(words: list[str]) -> Launcher:
    for index, word in enumerate(words[:4]):
        if word in ("-c", "-lc", "-ec") and index and index + 1 < len(words):
            launchers = [find_launcher(c.words) for c in read_script(words[index + 1], "command").commands]
            telling = [x for x in launchers if x.starts_workers or x.model_gpus is not None]
            return telling[0] if telling else Launcher("other")
    return find_launcher(words if words and not words[0].startswith("-") else ["server", *words])


def is_gpu_resource(name: str) -> bool:
    """Whether an extended resource is an NVIDIA GPU or a share of one."""
    return name in (GPU, SHARED, OLD_GPU) or name.startswith(MIG_PREFIX)


def gpu_count(node: Node) -> int | None:
    """A resource's count, None when it is no whole number."""
    text = node.string
    value = None if text is None else quantity(text)
    return int(value) if value is not None and value.denominator == 1 else None


@dataclass(frozen=True, slots=True)
class Pod:
    """Pods of one template: how many the object makes (None: unknown), and in which role."""

    role: str
    count: int | None
    spec: Node
    containers: tuple[Container, ...]

    @property
    def asks(self) -> bool:
        """Whether any container asks for a GPU, or the pod has a resource claim."""
        return any(c.asks for c in self.containers) or bool(self.spec.get("resourceClaims").items())

    @property
    def gpus(self) -> int:
        """Devices that the pod needs: the larger of each init container and the sum of the others."""
        running = sum(c.gpus or 0 for c in self.containers if not c.init or c.sidecar)
        return max([running, *(c.gpus or 0 for c in self.containers if c.init and not c.sidecar)])

    def selector(self) -> dict[str, tuple[tuple[str, ...], int]]:
        """Labels that nodes must have: name to (values, line), from nodeSelector and required affinity (In)."""
        found: dict[str, tuple[tuple[str, ...], int]] = {
            k: ((v.string or "",), v.line) for k, v in self.spec.get("nodeSelector").entries()
        }
        required = self.spec.get("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        terms = required.get("nodeSelectorTerms").items()
        for expression in terms[0].get("matchExpressions").items() if len(terms) == 1 else ():
            key = expression.get("key").string
            values = tuple(v.string or "" for v in expression.get("values").items())
            if key and expression.get("operator").string == "In":
                found[key] = (values, expression.line)
        return found

    def accelerators(self) -> tuple[tuple[str, int], ...]:
        """GPU names that the selectors allow, with their lines."""
        return tuple(
            (value, line)
            for key, (values, line) in self.selector().items()
            if key in ACCELERATOR_LABELS
            for value in values
        )


@dataclass(frozen=True, slots=True)
class KubernetesObject:
    """One object of the file with the pods it makes."""

    kind: str
    api: str
    name: str
    node: Node
    pods: tuple[Pod, ...] = ()

    @property
    def namespace(self) -> str:
        """The namespace written in it, "" for none."""
        return self.node.get("metadata", "namespace").string or ""

    @property
    def asks(self) -> bool:
        """Whether any of its pods asks for a GPU."""
        return any(pod.asks for pod in self.pods)


@dataclass(frozen=True, slots=True)
class KubernetesFile:
    """A manifest file. ``template_lines`` are lines with template text that kept it from being read at all."""

    path: str
    objects: tuple[KubernetesObject, ...]
    template_lines: tuple[int, ...] = ()
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def containers(self) -> Iterator[tuple[KubernetesObject, Pod, Container]]:
        """Every container with its pod and object."""
        for item in self.objects:
            for pod in item.pods:
                for container in pod.containers:
                    yield item, pod, container


def read_kubernetes(text: str, path: str) -> KubernetesFile:
    """Read a manifest. A Helm template that is no YAML gives a file without objects and its template lines."""
    templated = tuple(n for n, line in enumerate(text.splitlines(), start=1) if "{{" in line)
    if templated:
        from cudacompat.errors import TargetError

        try:
            documents = read_documents(text, path)
        except TargetError:
            return KubernetesFile(path, (), templated)
    else:
        documents = read_documents(text, path)
    objects = tuple(_object(node) for document in documents for node in _unpack(document))
    return KubernetesFile(path, objects, templated)


def _unpack(document: Node) -> Iterator[Node]:
    kind = document.get("kind").string or ""
    if kind.endswith("List") and document.get("items").items():
        yield from document.get("items").items()
    else:
        yield document


def _object(node: Node) -> KubernetesObject:
    kind, api = node.get("kind").string or "", node.get("apiVersion").string or ""
    name = node.get("metadata", "name").string or node.get("metadata", "generateName").string or ""
    pods = tuple(_pods(kind, node))
    return KubernetesObject(kind, api, name, node, pods)


def _pods(kind: str, node: Node) -> Iterator[Pod]:
    spec = node.get("spec")
    if kind in _READERS:
        return _READERS[kind](node)
    if kind in _TEMPLATE_KINDS and node.get(*_TEMPLATE).exists:
        return _templated(kind, node)
    if any(key.endswith("ReplicaSpecs") for key, _ in spec.entries()):
        return _roles(spec)
    return _anywhere(spec, 0)


def _templated(kind: str, node: Node) -> Iterator[Pod]:
    count = node.get("spec", "parallelism" if kind == "Job" else "replicas")
    yield _pod("pod", None if kind == "DaemonSet" else _count(count), node.get(*_TEMPLATE))


def _cron(node: Node) -> Iterator[Pod]:
    job = node.get("spec", "jobTemplate", "spec")
    yield _pod("pod", _count(job.get("parallelism")), job.get("template", "spec"))


def _roles(spec: Node) -> Iterator[Pod]:
    for key, roles in spec.entries():
        if key.endswith("ReplicaSpecs"):
            for role, body in roles.entries():
                yield _pod(role, _count(body.get("replicas")), body.get("template", "spec"))


def _count(node: Node) -> int | None:
    return 1 if not node.exists else node.number


def _trainer(node: Node) -> Iterator[Pod]:
    spec = node.get("spec")
    trainer = spec.get("trainer")
    containers = (
        (Container("trainer", trainer, trainer.get("image"), trainer.get("resourcesPerNode")),)
        if trainer.exists
        else ()
    )
    yield Pod("trainer", _count(trainer.get("numNodes")), spec.get("podTemplateOverrides"), containers)


def _replicated(jobs: Node) -> Iterator[Pod]:
    for job in jobs.items():
        inner = job.get("template", "spec")
        replicas, parallel = _count(job.get("replicas")), _count(inner.get("parallelism"))
        count = None if replicas is None or parallel is None else replicas * parallel
        yield _pod(job.get("name").string or "job", count, inner.get("template", "spec"))


def _ray(cluster: Node) -> Iterator[Pod]:
    head = cluster.get("headGroupSpec", "template", "spec")
    if head.exists:
        yield _pod("head", 1, head)
    for group in cluster.get("workerGroupSpecs").items():
        count = _count(group.get("replicas"))
        hosts = _count(group.get("numOfHosts"))
        total = None if count is None or hosts is None else count * hosts
        yield _pod(group.get("groupName").string or "worker", total, group.get("template", "spec"))


def _leader_worker(spec: Node) -> Iterator[Pod]:
    body = spec.get("leaderWorkerTemplate")
    groups, size = _count(spec.get("replicas")), _count(body.get("size"))
    worker, leader = body.get("workerTemplate", "spec"), body.get("leaderTemplate", "spec")
    total = None if groups is None or size is None else groups * size
    if not leader.exists:
        yield _pod("worker", total, worker)
        return
    yield _pod("leader", groups, leader)
    yield _pod("worker", None if total is None or groups is None else total - groups, worker)


def _anywhere(node: Node, depth: int) -> Iterator[Pod]:
    """Pod specs inside kinds that are not known, by their list of containers with images, or one container's keys."""
    if depth > _MAX_SEARCH:
        return
    listed = node.get("containers").items()
    if listed and any(item.get("image").exists for item in listed):
        yield _pod("pod", None, node)
        return
    for key, child in node.entries():
        if _is_container(key, child):
            yield Pod(key, None, node, (_container(child, False),))
        else:
            yield from _anywhere(child, depth + 1)
    for child in node.items():
        yield from _anywhere(child, depth + 1)


def _is_container(key: str, node: Node) -> bool:
    """Whether a single container stands here: Argo's container and script, or a model server that asks for GPUs."""
    named = key in ("container", "script") and node.get("image").exists
    resources = node.get("resources")
    return named or any(
        is_gpu_resource(name) for part in ("limits", "requests") for name, _ in resources.get(part).entries()
    )


_READERS: Mapping[str, Callable[[Node], Iterator[Pod]]] = {
    "Pod": lambda node: iter((_pod("pod", 1, node.get("spec")),)),
    "PodTemplate": lambda node: iter((_pod("pod", None, node.get("template", "spec")),)),
    "CronJob": _cron,
    "TrainJob": _trainer,
    "JobSet": lambda node: _replicated(node.get("spec", "replicatedJobs")),
    "TrainingRuntime": lambda node: _replicated(node.get("spec", "template", "spec", "replicatedJobs")),
    "ClusterTrainingRuntime": lambda node: _replicated(node.get("spec", "template", "spec", "replicatedJobs")),
    "RayCluster": lambda node: _ray(node.get("spec")),
    "RayJob": lambda node: _ray(node.get("spec", "rayClusterSpec")),
    "RayService": lambda node: _ray(node.get("spec", "rayClusterConfig")),
    "LeaderWorkerSet": lambda node: _leader_worker(node.get("spec")),
}


def _pod(role: str, count: int | None, spec: Node) -> Pod:
    containers = [_container(item, False) for item in spec.get("containers").items()]
    containers += [_container(item, True) for item in spec.get("initContainers").items()]
    return Pod(role, count, spec, tuple(containers))


def _container(node: Node, init: bool) -> Container:
    sidecar = init and node.get("restartPolicy").string == "Always"
    return Container(node.get("name").string or "", node, node.get("image"), node.get("resources"), init, sidecar)


def workloads_of(file: KubernetesFile) -> tuple[Workload, ...]:
    """The file's objects with images, in the form that all formats share."""
    return tuple(_workload(file.path, item) for item in file.objects if item.pods)


def _workload(path: str, item: KubernetesObject) -> Workload:
    uses = tuple(image_use(item, pod, c) for pod in item.pods for c in pod.containers if c.image.string)
    requests = tuple(
        GpuRequest(resource, gpu_count(node), "container", node.line)
        for pod in item.pods
        for c in pod.containers
        for resource, node in c.gpu_entries()
    )
    return Workload("kubernetes", path, f"{item.kind} {item.name}".strip(), item.node.line, uses, requests)


def image_use(item: KubernetesObject, pod: Pod, container: Container) -> ImageUse:
    """The use of one container's image."""
    reference = container.image.string or ""
    unexpanded = is_unexpanded(reference)
    gke = any(key.startswith("cloud.google.com/gke-") for key in pod.selector())
    env = {name: node.string or "" for name, node in container.env.items()}
    return ImageUse(
        reference,
        container.image.line,
        f"{item.kind} {item.name}, {pod.role}, container {container.name}",
        "gke" if gke else None,
        None if unexpanded else f"registry:{reference}",
        "a template's variable stands in the name" if unexpanded else "",
        container.asks,
        MappingProxyType(env),
    )


def template_text(node: Node) -> bool:
    """Whether a scalar holds text that a template or a shell would have replaced."""
    return re.search(r"\$\{?[A-Za-z_]\w*\}?|\{\{|<[A-Z_]{3,}>", node.string or "") is not None
