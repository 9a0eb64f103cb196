"""What ``nvidia-smi --query-gpu=driver_version,name,... --format=csv`` prints, one line for each GPU."""

from __future__ import annotations

import csv
import io

from cudacompat.errors import HostError
from cudacompat.host.boards import observed_gpu
from cudacompat.host.values import present, reported_driver
from cudacompat.model import Gpu, HostFacts

_NEEDED = "driver_version"
_KNOWN = frozenset({_NEEDED, "name", "gpu_name", "compute_cap", "uuid", "gpu_uuid"})


def matches(text: str) -> bool:
    """Whether a text's first line is such a heading."""
    heading = _fields(text.lstrip().split("\n", 1)[0])
    return len(heading) > 0 and not _KNOWN.isdisjoint(heading) and all(_is_field(name) for name in heading)


def _is_field(name: str) -> bool:
    # "memory.total [MiB]", "clocks.sm", "driver_version"
    return name.partition(" ")[0].replace(".", "").replace("_", "").isalnum()


def _fields(line: str) -> list[str]:
    return [name.strip().lower() for name in line.split(",")]


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


def _rows(text: str, origin: str) -> list[dict[str, str]]:
    lines = [line for line in csv.reader(io.StringIO(text.strip()), skipinitialspace=True) if line]
    heading, body = [name.strip().lower() for name in lines[0]], lines[1:]
    if any(len(line) != len(heading) for line in body):
        raise HostError(f"{origin}: a line of nvidia-smi's CSV has another number of fields than its heading")
    return [dict(zip(heading, line, strict=True)) for line in body]


def _names_gpus(rows: list[dict[str, str]]) -> bool:
    return any(_name(row) or row.get("compute_cap") for row in rows)


def _name(row: dict[str, str]) -> str | None:
    return row.get("name") or row.get("gpu_name")


def _gpu(row: dict[str, str]) -> tuple[Gpu, str | None]:
    return observed_gpu(_name(row), capability=row.get("compute_cap"), uuid=row.get("uuid") or row.get("gpu_uuid"))
