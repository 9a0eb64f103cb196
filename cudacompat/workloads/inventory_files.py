"""Read a fleet from `kubectl get nodes -o json`, a Slurm site from sinfo or scontrol output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from cudacompat.errors import HostError
from cudacompat.workloads.interface import Inventory
from cudacompat.workloads.inventory import Fleet, FleetNode, Gres, SlurmNode, SlurmSite, Taint

_NODE = re.compile(r"(?:^|\n)NodeName=(\S+)(.*?)(?=\n\s*\nNodeName=|\nNodeName=|\Z)", re.DOTALL)
_GRES = re.compile(r"(gpu|shard|mps)(?::([^:,()]+(?::[^:,()\d][^:,()]*)?))?:(\d+)")
MAX_NODES = 100_000
MAX_BYTES = 256 << 20


def read_inventory(path: str) -> Inventory:
    """Read a file with nodes: JSON is a Kubernetes fleet, anything else a Slurm site. Raises HostError."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise HostError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(raw) > MAX_BYTES:
        raise HostError(f"{path} is larger than {MAX_BYTES >> 20} MiB; give the nodes alone")
    text = raw.decode("utf-8-sig", "replace")
    if text.lstrip().startswith(("{", "[")):
        return Inventory(fleet=read_fleet(text, path))
    return Inventory(site=read_site(text, path))


def read_fleet(text: str, path: str) -> Fleet:
    """Read nodes (and runtime classes and resource slices that stand beside them in a List) from JSON.

    Raises HostError when the text is no such document.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HostError(f"{path}: no JSON of kubectl get nodes -o json: {str(error)[:120]}") from error
    items = document.get("items", [document]) if isinstance(document, dict) else None
    if not isinstance(items, list) or len(items) > MAX_NODES:
        raise HostError(f"{path}: expected the output of kubectl get nodes -o json")
    objects = [item for item in items if isinstance(item, dict)]
    nodes = tuple(_fleet_node(item) for item in objects if item.get("kind") == "Node")
    if not nodes:
        raise HostError(f"{path}: there is no node in it")
    classes = frozenset(
        _map(item, "metadata").get("name", "") for item in objects if item.get("kind") == "RuntimeClass"
    )
    slices = any(item.get("kind") == "ResourceSlice" for item in objects)
    return Fleet(nodes, classes or None, slices)


def _map(item: Mapping[str, object], key: str) -> dict[str, str]:
    found = item.get(key)
    return {str(k): v if isinstance(v, str) else str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def _fleet_node(item: Mapping[str, object]) -> FleetNode:
    metadata, spec, status = (_plain(item.get(key)) for key in ("metadata", "spec", "status"))
    labels = _map(metadata, "labels")
    ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in _list(status.get("conditions")))
    taints = tuple(
        Taint(str(t.get("key", "")), str(t.get("value", "")), str(t.get("effect", "")))
        for t in _list(spec.get("taints"))
    )
    allocatable = {k: int(v) for k, v in _map(status, "allocatable").items() if v.isdigit() and len(v) < 10}
    return FleetNode(
        str(metadata.get("name", "")),
        labels,
        _map(metadata, "annotations"),
        taints,
        allocatable,
        ready,
        spec.get("unschedulable") is True,
        labels.get("kubernetes.io/arch"),
    )


def _plain(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[dict[str, object]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def read_site(text: str, path: str) -> SlurmSite:
    """Read `scontrol show node`, or `sinfo -N -h -o "%N|%G|%f|%P|%c"`, or `sinfo -o "%P|%N|%G|%f|%c"` lines.

    A line of cgroup.conf (ConstrainDevices=yes) may stand in the same text. What it does not say stays
    unknown. Raises HostError when no node is found.
    """
    nodes = tuple(_scontrol(text)) or tuple(_sinfo(text))
    if not nodes:
        raise HostError(f"{path}: no nodes found; give scontrol show node, or sinfo -N -o '%N|%G|%f|%P|%c'")
    version = re.search(r"\bVersion=(\d+)\.(\d+)", text)
    default = re.search(r"(?:^|[|\s])([\w-]+)\*(?=[|\s]|$)", text)
    constrain = re.search(r"^\s*ConstrainDevices\s*=\s*(yes|no)\b", text, re.MULTILINE | re.IGNORECASE)
    return SlurmSite(
        nodes,
        (int(version[1]), int(version[2])) if version else None,
        constrain[1].lower() == "yes" if constrain else None,
        default[1] if default else None,
    )


def read_gres(text: str) -> tuple[Gres, ...]:
    """The resources of "gpu:a100:4,shard:a100:8" and "gpu:4(S:0-1)"."""
    return tuple(Gres(kind, gpu_type or None, int(count)) for kind, gpu_type, count in _GRES.findall(text))


def _scontrol(text: str) -> Iterator[SlurmNode]:
    for name, body in _NODE.findall(text):
        values = dict(re.findall(r"\b(Gres|AvailableFeatures|Partitions|CPUTot)=(\S*)", body))
        yield SlurmNode(
            name,
            read_gres(values.get("Gres", "")),
            _words(values.get("AvailableFeatures", "")),
            _words(values.get("Partitions", "")),
            int(values["CPUTot"]) if values.get("CPUTot", "").isdigit() else None,
        )


def _words(text: str) -> tuple[str, ...]:
    return () if text in ("", "(null)") else tuple(text.split(","))


def _sinfo(text: str) -> Iterator[SlurmNode]:
    """Lines with "|" between fields under a header that names them; one node for each name."""
    found: dict[str, SlurmNode] = {}
    header: list[str] = ["NODELIST", "GRES", "AVAIL_FEATURES", "PARTITION", "CPUS"]
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if "NODELIST" in fields:
            header = fields
            continue
        row = dict(zip(header, fields, strict=False))
        if len(fields) < 2 or not row.get("NODELIST"):
            continue
        for name in expand_names(row["NODELIST"]):
            partition = row.get("PARTITION", "").rstrip("*")
            node = found.get(name) or SlurmNode(
                name,
                read_gres(row.get("GRES", "")),
                _words(row.get("AVAIL_FEATURES", "")),
                (),
                _number(row.get("CPUS")),
            )
            found[name] = replace(node, partitions=node.partitions + ((partition,) if partition else ()))
    return iter(found.values())


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def expand_names(text: str) -> tuple[str, ...]:
    """The names of "gpu[01-03,07],cpu1", at most MAX_NODES."""
    names: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text):
        prefix, _, ranges = part.rstrip("]").partition("[")
        for piece in ranges.split(",") if ranges else [""]:
            first, _, last = piece.partition("-")
            if last.isdigit() and first.isdigit() and int(last) - int(first) < MAX_NODES - len(names):
                names += [f"{prefix}{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
            else:
                names.append(prefix + piece)
    return tuple(names[:MAX_NODES])
