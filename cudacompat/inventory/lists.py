"""Plain lists of hosts: a folder of host files, host facts as JSON lines, a table with commas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from cudacompat.errors import Error, HostError
from cudacompat.host import host_json
from cudacompat.host.file import read_host_file
from cudacompat.host.options import HostOptions, with_driver_cuda, with_options
from cudacompat.model import HostFacts
from cudacompat.model.inventory import Node, Nodes

MOST_NODES = 100_000
_NAMES = ("node", "name", "hostname", "host")
_COLUMNS = {
    "driver": ("driver", "driver_version", "nvidia_driver"),
    "driver_cuda": ("driver_cuda", "cuda", "cuda_version"),
    "gpus": ("gpu", "gpus", "gpu_name", "gpu_model", "product"),
    "compute_capability": ("compute_capability", "compute_cap", "cc"),
    "os": ("os", "host_os"),
    "injection": ("injection", "injection_mode"),
    "toolkit": ("toolkit", "toolkit_version"),
    "docker": ("docker", "docker_version"),
}
_COUNTS = ("gpu_count", "count", "gpus_per_node")


def read_folder(folder: Path) -> Nodes:
    """Every host file of a folder; a machine is called as its file is, without the ending."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not paths:
        raise HostError(
            f"{folder}: there is no host file in it; save 'cudacompat host --format json' of each node there"
        )
    if len(paths) > MOST_NODES:
        raise HostError(f"{folder}: more than {MOST_NODES} files")
    return _nodes((path.stem, read_host_file(path), None) for path in paths)


def read_lines(text: str, where: str) -> Nodes:
    """One JSON object a line: host facts with the machine's name as "node", or {"node": ..., "host": {...}}."""
    known: dict[str, HostFacts] = {}

    def rows() -> Iterator[tuple[str, HostFacts, int | None]]:
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            name, facts = _line(line, f"{where}:{number}")
            if facts not in known:
                known[facts] = with_driver_cuda(host_json.parse(facts, f"{where}:{number}"))
            yield name, known[facts], None

    return _nodes(rows())


def _line(line: str, where: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise HostError(f"{where}: no JSON: {str(error)[:120]}") from error
    if not isinstance(row, dict):
        raise HostError(f'{where}: expected an object, such as {{"node": "gpu01", "driver": "535.183.01"}}')
    key = next((key for key in _NAMES if isinstance(row.get(key), str) and row[key]), None)
    if key is None:
        raise HostError(f'{where}: the object does not name its machine; add "node"')
    name = row.pop(key)
    host = row.get("host", row)
    return name, json.dumps(host, sort_keys=True)


def read_table(text: str, where: str) -> Nodes:
    """A table with commas, semicolons or tabs whose heading names at least a node and one fact."""
    first = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    try:
        rows = [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise HostError(f"{where}: no table with commas: {error}") from error
    heading = [cell.strip().lower().replace(" ", "_").replace("-", "_") for cell in rows[0]]
    if len(rows) > MOST_NODES:
        raise HostError(f"{where}: more than {MOST_NODES} lines")
    known: dict[HostOptions, HostFacts] = {}

    def found() -> Iterator[tuple[str, HostFacts, int | None]]:
        for number, row in enumerate(rows[1:], 2):
            cells = dict(zip(heading, (cell.strip() for cell in row), strict=False))
            options = _options(cells)
            try:
                if options not in known:
                    known[options] = with_options(options)
            except Error as error:
                raise HostError(f"{where}, line {number}: {error}") from error
            yield _cell(cells, _NAMES), known[options], _count(cells)

    return _nodes(found())


def is_table(text: str) -> bool:
    """Whether a text begins with a heading that ``read_table`` understands."""
    first = text.lstrip().partition("\n")[0].strip().lower().replace(" ", "_")
    cells = {cell.strip("_ \"'").replace("-", "_") for sign in ",;\t" for cell in first.split(sign)}
    facts = {name for names in _COLUMNS.values() for name in names}
    return bool(cells & set(_NAMES)) and bool(cells & facts)


def _options(cells: Mapping[str, str]) -> HostOptions:
    given = {field: _cell(cells, names) or None for field, names in _COLUMNS.items() if field != "gpus"}
    gpus = tuple(name.strip() for name in _cell(cells, _COLUMNS["gpus"]).split("|") if name.strip())
    return HostOptions(gpus=gpus, **given)


def _cell(cells: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((cells[name] for name in names if cells.get(name)), "")


def _count(cells: Mapping[str, str]) -> int | None:
    text = _cell(cells, _COUNTS)
    return int(text) if text.isdecimal() and len(text) < 6 else None


def _nodes(rows: Iterator[tuple[str, HostFacts, int | None]]) -> Nodes:
    nodes = []
    for number, (name, host, count) in enumerate(rows, 1):
        guessed = None if host.gpus is None else len(host.gpus)
        nodes.append(Node(name or f"node {number}", host, guessed if count is None else count))
    return Nodes(tuple(nodes), None)
