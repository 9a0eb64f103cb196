"""Where a table's rows come from: the bundled edition, or a newer one that the user imported."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from cudacompat.errors import DataError

Row = dict[str, Any]
_P = ParamSpec("_P")
_R = TypeVar("_R")
_FORGETTERS: list[Callable[[], None]] = []


def remembered(look_up: Callable[_P, _R]) -> Callable[_P, _R]:
    """Keep a look-up's answers until the tables change: predictions ask the same few things very often."""
    cached = lru_cache(maxsize=4096)(look_up)
    _FORGETTERS.append(cached.cache_clear)
    return cached  # type: ignore[return-value]


NAMES = (
    "cuda_releases",
    "minor_version_compat",
    "driver_branches",
    "windows_drivers",
    "forward_compat",
    "gpus",
    "architectures",
    "toolkit_targets",
    "driver_ptx",
    "frameworks",
    "libraries",
    "cuda_errors",
    "jetson",
)


def bundled_folder() -> Path:
    """The tables that ship with the package: beside it in a wheel, one level up in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "data"
    return inside if inside.is_dir() else package.parent / "data"


def user_folder() -> Path:
    """Where imported editions are kept; CUDACOMPAT_DATA_DIR overrides the platform's usual place."""
    chosen = os.environ.get("CUDACOMPAT_DATA_DIR")
    if chosen:
        return Path(chosen)
    from platformdirs import user_data_path

    return user_data_path("cudacompat") / "tables"


def _imported(name: str) -> Path | None:
    path = user_folder() / f"{name}.json"
    return path if path.is_file() else None


@remembered
def document(name: str) -> Row:
    """A table as loaded: edition, sources and rows. Raises DataError naming the file."""
    path = _imported(name) or bundled_folder() / f"{name}.json"
    return read_document(path)


def read_document(path: Path) -> Row:
    """One table file. Raises DataError when it cannot be read or is no table."""
    try:
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"the table {path} cannot be read: {error}") from error
    if not isinstance(loaded, dict) or not isinstance(loaded.get("rows"), list):
        raise DataError(f"the table {path} has no list of rows")
    return loaded


def rows(name: str, kind: str | None = None) -> tuple[Row, ...]:
    """A table's rows, or those of one kind."""
    found = document(name)["rows"]
    return tuple(row for row in found if kind is None or row.get("kind") == kind)


def sources(name: str, row: Row) -> str:
    """A row's sources in words."""
    known = document(name).get("sources", {})
    return "; ".join(str(known.get(key, key)) for key in row.get("source", []))


def edition() -> str:
    """The oldest edition among the tables in use ("2026-12")."""
    return str(document("driver_branches")["edition"])


def forget() -> None:
    """Read the tables anew on the next look-up: an import has changed them."""
    for forget_one in _FORGETTERS:
        forget_one()
