"""Read a Compose file: services with extends and variables' defaults applied, and line numbers.

Source: the compose specification (services, deploy, interpolation).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cudacompat.workloads.document import Node, read_documents
from cudacompat.workloads.images import is_unexpanded
from cudacompat.workloads.interface import GpuRequest, ImageUse, Workload
from cudacompat.workloads.launchers import Launcher, find_launcher

_MAX_EXTENDS = 8
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?:(:?[-+?])([^}]*))?\}|(\w+)|(\$))")


@dataclass(frozen=True, slots=True)
class Service:
    """A service after extends. ``body`` holds its nodes; nodes keep the lines they were written on."""

    name: str
    line: int
    body: Mapping[str, Node]
    outside: bool = False

    def get(self, *path: str) -> Node:
        """The node at the end of the path."""
        first = self.body.get(path[0])
        return Node(None, self.line, exists=False) if first is None else first.get(*path[1:])

    @property
    def image(self) -> str | None:
        """The image with defaults of variables filled in, None when the service names none."""
        text = self.get("image").string
        return None if text is None else expand(text)

    def devices(self, place: str = "reservations") -> tuple[Node, ...]:
        """Entries of deploy.resources.<place>.devices that concern NVIDIA GPUs."""
        found = self.get("deploy", "resources", place, "devices").items()
        return tuple(d for d in found if (d.get("driver").string or "nvidia") == "nvidia")

    def environment(self) -> dict[str, tuple[str, int]]:
        """Variables with their values and lines, from either form."""
        node = self.get("environment")
        found = {k: (expand(v.string or ""), v.line) for k, v in node.entries()}
        for item in node.items():
            name, equals, value = (item.string or "").partition("=")
            if equals:
                found[name] = (expand(value), item.line)
        return found

    @property
    def asks(self) -> bool:
        """Whether it asks for GPUs in a way that brings the driver."""
        return bool(self.devices()) or self.get("gpus").exists or self.get("runtime").string == "nvidia"

    @property
    def gpus(self) -> int | None:
        """How many GPUs it gets, None when all or not certain."""
        requests = [*self.devices(), *self.get("gpus").items()]
        if not requests and self.get("runtime").string == "nvidia":
            visible, _ = self.environment().get("NVIDIA_VISIBLE_DEVICES", ("all", 0))
            listed = re.fullmatch(r"[\w:-]+(,[\w:-]+)*", visible) and visible not in ("all", "none", "void")
            return len(visible.split(",")) if listed else None
        if len(requests) != 1:
            return None
        ids = requests[0].get("device_ids").items()
        return len(ids) or requests[0].get("count").number

    @property
    def launcher(self) -> Launcher:
        """What its entrypoint and command start."""
        words: list[str] = []
        for key in ("entrypoint", "command"):
            node = self.get(key)
            words += [w.string or "" for w in node.items()] or (node.string or "").split()
        return find_launcher(words if words and not words[0].startswith("-") else ["server", *words])


@dataclass(frozen=True, slots=True)
class ComposeFile:
    """The services of a file."""

    path: str
    services: tuple[Service, ...]
    root: Node


def expand(text: str) -> str:
    """Fill in the defaults of variables; what has none stays as written."""

    def value(match: re.Match[str]) -> str:
        if match[5]:
            return "$"
        return match[3] if match[1] and match[2] in ("-", ":-") else match[0]

    return _VARIABLE.sub(value, text)


def read_compose(text: str, path: str) -> ComposeFile:
    """Read a Compose file's services."""
    documents = read_documents(text, path)
    root = documents[0] if documents else Node({}, 1)
    services = root.get("services")
    return ComposeFile(path, tuple(_service(name, node, services) for name, node in services.entries()), root)


def _service(name: str, node: Node, services: Node) -> Service:
    body: dict[str, Node] = {}
    outside = False
    chain: list[Node] = [node]
    while len(chain) < _MAX_EXTENDS:
        extends = chain[-1].get("extends")
        base = extends.string or extends.get("service").string
        if base is None:
            break
        if extends.get("file").string:
            outside = True
            break
        parent = services.get(base)
        if not parent.exists or parent in chain:
            break
        chain.append(parent)
    for part in reversed(chain):
        for key, child in part.entries():
            if key == "extends":
                continue
            body[key] = child if key not in body else _merge(body[key], child)
    present = {k: v for k, v in body.items() if v.tag != "!reset"}
    return Service(name, node.line, MappingProxyType(present), outside)


def _merge(below: Node, above: Node) -> Node:
    """The extending service's node over the extended one's: mappings are joined, lists too, scalars replaced."""
    if above.tag in ("!reset", "!override"):
        return above
    if isinstance(below.value, dict) and isinstance(above.value, dict):
        joined = dict(below.value)
        for key, child in above.value.items():
            joined[key] = _merge(joined[key], child) if key in joined else child
        return Node(joined, above.line, tag=above.tag)
    if isinstance(below.value, tuple) and isinstance(above.value, tuple):
        return Node(below.value + above.value, above.line, tag=above.tag)
    return above


def workloads_of(file: ComposeFile) -> tuple[Workload, ...]:
    """Each service with an image in the form that all formats share."""
    return tuple(_workload(file.path, service) for service in file.services)


def _workload(path: str, service: Service) -> Workload:
    use = image_use(service)
    requests = tuple(_requests(service))
    return Workload("compose", path, service.name, service.line, () if use is None else (use,), requests)


def _requests(service: Service) -> Iterator[GpuRequest]:
    for node in (*service.devices(), *service.get("gpus").items()):
        yield GpuRequest(
            "devices", len(node.get("device_ids").items()) or node.get("count").number, "service", node.line
        )
    if service.get("gpus").string == "all":
        yield GpuRequest("gpus", None, "service", service.get("gpus").line)


def image_use(service: Service) -> ImageUse | None:
    """The use of the service's image, None when it names none."""
    image = service.image
    if image is None:
        return None
    unexpanded = is_unexpanded(image)
    env = {name: value for name, (value, _) in service.environment().items()}
    why_not = "the name holds a variable without a default" if unexpanded else ""
    target = None if unexpanded else f"image://{image}"
    return ImageUse(
        image,
        service.get("image").line,
        f"service {service.name}",
        None,
        target,
        why_not,
        service.asks,
        MappingProxyType(env),
    )
