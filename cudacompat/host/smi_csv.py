"""What ``nvidia-smi --query-gpu=driver_version,name,... --format=csv`` prints, one line for each GPU."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace

from cudacompat import tables
from cudacompat.errors import HostError, UsageError
from cudacompat.host.boards import observed_gpu
from cudacompat.host.values import present, reported_driver
from cudacompat.model import Gpu, HostFacts

_NEEDED = "driver_version"
_KNOWN = frozenset({_NEEDED, "name", "gpu_name", "compute_cap", "uuid", "gpu_uuid"})
# Without a heading only what cannot be anything else counts: "450.00" may be a power limit.
_SURE_DRIVER = re.compile(r"\d{3,4}\.(?:\d{1,3}\.\d{1,3}|\d{3})", re.ASCII)
_DRIVER = re.compile(r"\d{3,4}\.\d{2,3}(?:\.\d{1,3})?", re.ASCII)
_UUID = re.compile(r"GPU-[0-9a-fA-F-]{8,60}", re.ASCII)
_CAPABILITY = re.compile(r"\d{1,2}\.\d", re.ASCII)
_MEMORY = re.compile(r"(\d{1,9})(?: MiB)?", re.ASCII)
_MODES = {"enabled": True, "disabled": False}

_Row = dict[str, str]


def matches(text: str) -> bool:
    """Whether a text's first line is such a heading, or lines without one whose columns are plain to see."""
    first = text.lstrip().split("\n", 1)[0]
    return _is_heading(_fields(first)) or (len(first) < 1000 and _columns(first) is not None)


def _is_heading(fields: Sequence[str]) -> bool:
    return not _KNOWN.isdisjoint(fields) and all(_is_field(name) for name in fields)


def _is_field(name: str) -> bool:
    # "memory.total [MiB]", "clocks.sm", "driver_version"
    return name.partition(" ")[0].replace(".", "").replace("_", "").isalnum()


def _fields(line: str) -> list[str]:
    return [name.strip().lower().partition(" [")[0] for name in line.split(",")]


def parse(text: str, origin: str) -> HostFacts:
    """Host facts from the CSV text. Raises HostError."""
    rows = _rows(text, origin)
    drivers = sorted({value for row in rows if (value := present(row.get(_NEEDED)))})
    if len(drivers) > 1:
        raise HostError(f"{origin}: the lines name several drivers ({', '.join(drivers[:4])}): give one host a file")
    seen = [_gpu(row) for row in rows]
    return HostFacts(
        driver=reported_driver(drivers[0], origin) if drivers else None,
        gpus=tuple(gpu for gpu, _ in seen) if _names_gpus(rows) else None,
        origin=origin,
        notes=tuple(dict.fromkeys(note for _, note in seen if note)) if _names_gpus(rows) else (),
    )


def _rows(text: str, origin: str) -> list[_Row]:
    bare = text.strip()
    try:
        lines = [line for line in csv.reader(io.StringIO(bare), skipinitialspace=True) if line]
    except csv.Error as error:
        raise HostError(f"{origin}: this is no CSV: {error}") from error
    first = bare.split("\n", 1)[0]
    named = _is_heading(_fields(first))
    heading, body = (_fields(first), lines[1:]) if named else (_columns(first) or [], lines)
    if any(len(line) != len(heading) for line in body):
        raise HostError(f"{origin}: a line of nvidia-smi's CSV has another number of fields than its first")
    return [{name: value for name, value in zip(heading, line, strict=True) if name} for line in body]


def _columns(line: str) -> list[str] | None:
    """The fields of a line without a heading, "" for those that may be anything; None where nothing is sure."""
    values = [value.strip() for value in line.split(",")]
    names = [_column(value, alone=len(values) == 1) for value in values]
    told = [name for name in names if name]
    return names if told and len(set(told)) == len(told) else None


def _column(value: str, *, alone: bool) -> str:
    if _SURE_DRIVER.fullmatch(value) or (alone and _DRIVER.fullmatch(value)):
        return _NEEDED
    if _UUID.fullmatch(value):
        return "uuid"
    if _CAPABILITY.fullmatch(value) and any(row.compute_capability == value for row in tables.architectures()):
        return "compute_cap"
    return "name" if _is_board(value) else ""


def _is_board(value: str) -> bool:
    try:
        return len(value) > 3 and not value.replace(".", "").isdigit() and bool(tables.find_gpu(value))
    except UsageError:
        return value.startswith("NVIDIA ")


def _names_gpus(rows: list[_Row]) -> bool:
    return any(_name(row) or row.get("compute_cap") for row in rows)


def _name(row: _Row) -> str | None:
    return row.get("name") or row.get("gpu_name")


def _gpu(row: _Row) -> tuple[Gpu, str | None]:
    gpu, note = observed_gpu(_name(row), capability=row.get("compute_cap"), uuid=row.get("uuid") or row.get("gpu_uuid"))
    memory = _MEMORY.fullmatch(row.get("memory.total", "").strip())
    mode = _MODES.get(row.get("mig.mode.current", "").strip().lower())
    return replace(gpu, memory_mib=int(memory[1]) if memory else None, mig_enabled=mode), note
