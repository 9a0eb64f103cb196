"""YAML and JSON as trees with line numbers, bounded against documents that explode.

Read with PyYAML's composer (libyaml where it is there), which keeps marks and shares the nodes of aliases:
nothing is expanded, and the expanded size is counted before anybody walks the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudacompat.errors import TargetError, UsageError
from cudacompat.workloads.interface import MAX_DOCUMENTS, MAX_VALUES, MAX_YAML_BYTES, check_size

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 100
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its line. ``value`` is a scalar, a tuple of nodes, or a dict; ``exists`` False: nothing there.

    ``text`` is a scalar as written. Navigation never fails: it ends in a node that does not exist.
    """

    value: Scalar | tuple[Node, ...] | dict[str, Node]
    line: int
    text: str = ""
    exists: bool = True
    tag: str = ""
    end_line: int = 0

    def get(self, *path: str) -> Node:
        """The node at the end of the path of keys."""
        node = self
        for key in path:
            found = node.value.get(key) if isinstance(node.value, dict) else None
            if found is None:
                return Node(None, node.line, exists=False)
            node = found
        return node

    def items(self) -> tuple[Node, ...]:
        """The list's nodes; empty for anything else."""
        return self.value if isinstance(self.value, tuple) else ()

    def entries(self) -> Iterator[tuple[str, Node]]:
        """The mapping's keys and nodes; nothing for anything else."""
        return iter(self.value.items()) if isinstance(self.value, dict) else iter(())

    @property
    def string(self) -> str | None:
        """The scalar as text, None for null, lists, mappings and absent nodes."""
        if not self.exists or self.value is None or isinstance(self.value, (tuple, dict)):
            return None
        return self.text

    @property
    def number(self) -> int | None:
        """The scalar as a whole number (also from quotes), None otherwise."""
        text = self.string
        return int(text) if text is not None and text.isdigit() and len(text) < 10 else None


def read_documents(text: str, path: str) -> tuple[Node, ...]:
    """The documents of a YAML or JSON text, empty ones left out.

    Raises TargetError with file and line for broken text and above the bounds.
    """
    try:
        import yaml
    except ImportError as error:
        raise UsageError(
            "reading YAML needs an extra that is not installed: pip install 'cudacompat[workloads]'"
        ) from error
    check_size(text, path, MAX_YAML_BYTES, "manifest")
    if text.lstrip()[:1] in "{[":
        text = text.replace("\t", "  ")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents: list[Node] = []
    total = 0
    try:
        for number, root in enumerate(yaml.compose_all(text, Loader=loader)):
            if number >= MAX_DOCUMENTS:
                line = root.start_mark.line + 1
                raise TargetError(f"{path}, line {line}: more than {MAX_DOCUMENTS} documents; split the file")
            convert = _Convert(path)
            node, size = convert.node(root, 0)
            total += size
            if total > MAX_VALUES:
                raise TargetError(f"{path}, line {node.line}: more than {MAX_VALUES} values; split the file")
            if node.value is not None:
                documents.append(node)
    except yaml.MarkedYAMLError as error:
        raise TargetError(_broken(path, error)) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise TargetError(f"{path}: this is no readable YAML: {str(error)[:200]}") from error
    return tuple(documents)


def _broken(path: str, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    line = 1 if mark is None else mark.line + 1
    return f"{path}, line {line}: broken YAML: {error.problem or error.context or 'unreadable'}"


class _Convert:
    """Converts one document's nodes, each once, however many aliases point at it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._done: dict[int, tuple[Node, int]] = {}
        self._open: set[int] = set()

    def node(self, source: yaml.Node, depth: int) -> tuple[Node, int]:
        key = id(source)
        if key in self._done:
            return self._done[key]
        line = source.start_mark.line + 1
        if key in self._open:
            raise TargetError(f"{self._path}, line {line}: an anchor contains itself")
        if depth > MAX_DEPTH:
            raise TargetError(f"{self._path}, line {line}: nested deeper than {MAX_DEPTH} levels")
        self._open.add(key)
        result = self._convert(source, line, depth)
        self._open.discard(key)
        if result[1] > MAX_VALUES:
            raise TargetError(
                f"{self._path}, line {line}: it holds more than {MAX_VALUES} values, counting "
                "what its anchors stand for; split it"
            )
        self._done[key] = result
        return result

    def _convert(self, source: yaml.Node, line: int, depth: int) -> tuple[Node, int]:
        import yaml

        end = source.end_mark.line + 1
        if isinstance(source, yaml.SequenceNode):
            items = [self.node(child, depth + 1) for child in source.value]
            return Node(tuple(n for n, _ in items), line, tag=source.tag, end_line=end), 1 + sum(s for _, s in items)
        if isinstance(source, yaml.MappingNode):
            return self._mapping(source, line, depth)
        value = _scalar(source.tag, source.value)
        return Node(value, line, text=source.value, tag=source.tag, end_line=end), 1

    def _mapping(self, source: yaml.MappingNode, line: int, depth: int) -> tuple[Node, int]:
        entries: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        size = 1
        for key_node, value_node in source.value:
            value, value_size = self.node(value_node, depth + 1)
            size += 1 + value_size
            if key_node.tag == "tag:yaml.org,2002:merge":
                for part in reversed(value.items() or (value,)):
                    merged.update(part.entries())
                continue
            key = str(key_node.value)
            # A key's line serves better than its value's where the value is a block below it.
            entries[key] = Node(value.value, key_node.start_mark.line + 1, value.text, True, value.tag, value.end_line)
        return Node({**merged, **entries}, line, tag=source.tag, end_line=source.end_mark.line + 1), size


def _scalar(tag: str, text: str) -> Scalar:
    kind = tag.rsplit(":", 1)[-1]
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    try:
        if kind == "int" and len(text) < 20:
            return int(text.replace("_", ""), 10)
        if kind == "float" and len(text) < 40:
            return float(text.replace("_", ""))
    except ValueError:
        return text
    return text
