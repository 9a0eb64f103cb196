"""``--nodes FILE``: an inventory in any of the forms that people have one in, recognised by its content."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cudacompat.errors import HostError
from cudacompat.inventory import facts, lists
from cudacompat.inventory.kubernetes import read_fleet
from cudacompat.inventory.slurm import read_site, read_site_json
from cudacompat.model.inventory import Fleet, Node, Nodes, SlurmSite

MAX_BYTES = 512 << 20
_MAX_YAML = 64 << 20
_ADVICE = (
    "expected kubectl get nodes -o json, sinfo --json, scontrol show node, a table with a heading (node,driver,gpu), "
    "host facts as JSON lines, or a folder of host files"
)
Content = Fleet | SlurmSite | Nodes


@dataclass(frozen=True, slots=True)
class Format:
    """A form of text: how to recognise it, and how to read it."""

    matches: Callable[[str], bool]
    read: Callable[[str, str], Content]


def _is_lines(text: str) -> bool:
    """Whether the first line is an object of its own, and not the only thing there."""
    first, _, rest = text.strip().partition("\n")
    return (
        first.startswith("{") and first.rstrip().endswith("}") and (rest.lstrip().startswith("{") or '"node"' in first)
    )


def _json(text: str, where: str) -> Content:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HostError(f"{where} is no JSON: {str(error)[:120]}") from error
    if isinstance(document, dict) and ("nodes" in document or "sinfo" in document):
        return read_site_json(document, where)
    return read_fleet(document, where)


def _yaml(text: str, where: str) -> Content:
    try:
        import yaml
    except ImportError as error:
        raise HostError(f"{where}: reading YAML needs PyYAML; give kubectl get nodes -o json") from error
    if len(text) > _MAX_YAML:
        raise HostError(f"{where}: more than {_MAX_YAML >> 20} MiB of YAML; give kubectl get nodes -o json")
    if "\n- &" in text or ": &" in text:
        raise HostError(f"{where}: YAML with anchors is no output of kubectl")
    try:
        return read_fleet(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)), where)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise HostError(f"{where} is no YAML: {' '.join(str(error).split())[:160]}") from error


FORMATS: tuple[Format, ...] = (
    Format(_is_lines, lists.read_lines),
    Format(lambda text: text.lstrip().startswith(("{", "[")), _json),
    Format(lambda text: text.lstrip().startswith(("apiVersion:", "---", "items:", "kind:")), _yaml),
    Format(lists.is_table, lists.read_table),
    Format(lambda text: "NodeName=" in text or "|" in text, read_site),
)


def read_content(path: str) -> Content:
    """What a file holds, as its scheduler says it. Raises HostError."""
    text = _text(Path(path))
    for known in FORMATS:
        if known.matches(text):
            return known.read(text, path)
    raise HostError(f"{path} is no inventory: {_ADVICE}")


def parse_nodes(content: Content) -> Nodes:
    """The machines that a scheduler's words are about."""
    if isinstance(content, Fleet):
        return facts.fleet_nodes(content)
    return facts.site_nodes(content) if isinstance(content, SlurmSite) else content


def read_nodes(paths: Iterable[str]) -> Nodes:
    """The machines of one or several files and folders; a name that comes again is the same machine.

    Raises HostError naming the file that cannot be read, has no known form, or names no machine.
    """
    contents: list[Content] = []
    for path in paths:
        contents.append(lists.read_folder(Path(path)) if Path(path).is_dir() else read_content(path))
    return joined(contents)


def joined(contents: Iterable[Content]) -> Nodes:
    """Several inventories as one; Kubernetes nodes and their resource slices meet by name."""
    every = list(contents)
    fleets = [content for content in every if isinstance(content, Fleet)]
    parts: list[Content] = [_one_fleet(fleets)] if fleets else []
    parts += [content for content in every if not isinstance(content, Fleet)]
    found = [parse_nodes(part) for part in parts]
    nodes: dict[str, Node] = {}
    for node in (node for part in found for node in part.nodes):
        nodes[node.name] = node
    if not nodes:
        raise HostError("the inventory names no machine")
    schedulers = {part.scheduler for part in found}
    return Nodes(
        tuple(nodes.values()),
        schedulers.pop() if len(schedulers) == 1 else None,
        tuple(note for part in found for note in part.notes),
    )


def _one_fleet(fleets: list[Fleet]) -> Fleet:
    if len(fleets) == 1:
        return fleets[0]
    nodes = {node.name: node for fleet in fleets for node in fleet.nodes if not node.sliced or node.labels}
    for node in (node for fleet in fleets for node in fleet.nodes if node.sliced):
        nodes[node.name] = replace(nodes[node.name], sliced=node.sliced) if node.name in nodes else node
    return Fleet(tuple(nodes.values()))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise HostError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(raw) > MAX_BYTES:
        raise HostError(f"{path} is larger than {MAX_BYTES >> 20} MiB; give the nodes alone")
    if b"\0" in raw[:4096]:
        raise HostError(f"{path} is no text: {_ADVICE}")
    return raw.decode("utf-8-sig", "replace")
