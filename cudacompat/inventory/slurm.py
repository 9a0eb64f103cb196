"""A Slurm site's nodes, from sinfo and scontrol, as JSON or as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from cudacompat.errors import HostError
from cudacompat.inventory.values import listed, plain, text_of, texts
from cudacompat.model.inventory import Gres, SlurmNode, SlurmSite
from cudacompat.model.names import expand_names

_NODE = re.compile(r"(?:^|\n)NodeName=(\S+)(.*?)(?=\n\s*\nNodeName=|\nNodeName=|\Z)", re.DOTALL)
_GRES = re.compile(r"(gpu|shard|mps)(?::([^:,()]+(?::[^:,()\d][^:,()]*)?))?:(\d{1,9})")
_FIELD = re.compile(
    r"\b(Arch|Gres|ActiveFeatures|AvailableFeatures|Partitions|CPUTot|State|Comment|Extra)=(\S*(?: (?![A-Z]\w*=)\S+)*)"
)


def read_gres(text: str) -> tuple[Gres, ...]:
    """The resources of "gpu:a100:4,shard:a100:8" and "gpu:4(S:0-1)"."""
    return tuple(Gres(kind, gpu_type or None, int(count)) for kind, gpu_type, count in _GRES.findall(text))


def read_site_json(document: Mapping[str, object], where: str) -> SlurmSite:
    """Nodes of `scontrol show node --json` and `sinfo --json`, in the forms before and after Slurm 23.02.

    Raises HostError when there is no node in it.
    """
    rows = listed(document.get("nodes")) or listed(document.get("sinfo"))
    found: dict[str, SlurmNode] = {}
    for row in rows:
        names = [text_of(row.get("name"))] if "name" in row else texts(plain(row.get("nodes")).get("nodes"))
        for name in (name for text in names for name in expand_names(text)):
            # sinfo has a row for each partition of a node.
            old, new = found.get(name), _json_node(name, row)
            found[name] = new if old is None else replace(old, partitions=(*old.partitions, *new.partitions))
    if not found:
        raise HostError(f"{where}: no Slurm node in it; give sinfo --json or scontrol show node --json")
    return SlurmSite(tuple(found.values()), _json_version(document))


def _json_node(name: str, row: Mapping[str, object]) -> SlurmNode:
    gres, features = row.get("gres"), row.get("features")
    active = row.get("active_features") or (features.get("active") if isinstance(features, dict) else None)
    partition = row.get("partition")
    named = text_of(plain(partition).get("name")) or text_of(partition)
    state = row.get("state") or plain(row.get("node")).get("state")
    cpus = row.get("cpus")
    total = cpus.get("maximum", cpus.get("total")) if isinstance(cpus, dict) else cpus
    return SlurmNode(
        name,
        read_gres(text_of(gres.get("total")) if isinstance(gres, dict) else text_of(gres)),
        texts(active) or texts(features),
        texts(row.get("partitions")) or ((named,) if named else ()),
        total if isinstance(total, int) else None,
        text_of(row.get("architecture")) or None,
        (*texts(state), *texts(row.get("state_flags"))),
        tuple(text for text in (text_of(row.get("comment")), text_of(row.get("extra"))) if text),
    )


def _json_version(document: Mapping[str, object]) -> tuple[int, int] | None:
    meta = plain(document.get("meta"))
    release = text_of(plain(meta.get("Slurm") or meta.get("slurm")).get("release"))
    match = re.match(r"(\d{1,3})\.(\d{1,3})", release)
    return (int(match[1]), int(match[2])) if match else None


def read_site(text: str, where: str) -> SlurmSite:
    """Read `scontrol show node`, or `sinfo -N -h -o "%N|%G|%f|%P|%c"`, or `sinfo -o "%P|%N|%G|%f|%c"` lines.

    A line of cgroup.conf (ConstrainDevices=yes) may stand in the same text. What it does not say stays
    unknown. Raises HostError when no node is found.
    """
    nodes = tuple(_scontrol(text)) or tuple(_sinfo(text))
    if not nodes:
        raise HostError(f"{where}: no nodes found; give scontrol show node, or sinfo -N -o '%N|%G|%f|%P|%c'")
    version = re.search(r"\bVersion=(\d+)\.(\d+)", text)
    default = re.search(r"(?:^|[|\s])([\w-]+)\*(?=[|\s]|$)", text)
    constrain = re.search(r"^\s*ConstrainDevices\s*=\s*(yes|no)\b", text, re.MULTILINE | re.IGNORECASE)
    return SlurmSite(
        nodes,
        (int(version[1]), int(version[2])) if version else None,
        constrain[1].lower() == "yes" if constrain else None,
        default[1] if default else None,
    )


def _scontrol(text: str) -> Iterator[SlurmNode]:
    for name, body in _NODE.findall(text):
        values = dict(_FIELD.findall(body))
        yield SlurmNode(
            name,
            read_gres(values.get("Gres", "")),
            texts(values.get("ActiveFeatures")) or texts(values.get("AvailableFeatures")),
            texts(values.get("Partitions")),
            int(values["CPUTot"]) if values.get("CPUTot", "").isdecimal() else None,
            values.get("Arch") or None,
            tuple(values.get("State", "").split("+")),
            tuple(values[key] for key in ("Comment", "Extra") if values.get(key)),
        )


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
        partition = row.get("PARTITION", "").rstrip("*")
        for name in expand_names(row["NODELIST"]):
            node = found.get(name) or _sinfo_node(name, row)
            found[name] = replace(node, partitions=node.partitions + ((partition,) if partition else ()))
    return iter(found.values())


def _sinfo_node(name: str, row: Mapping[str, str]) -> SlurmNode:
    cpus = row.get("CPUS", "")
    states = (row["STATE"],) if row.get("STATE") else ()
    features = texts(row.get("AVAIL_FEATURES"))
    return SlurmNode(
        name, read_gres(row.get("GRES", "")), features, (), int(cpus) if cpus.isdecimal() else None, states=states
    )
