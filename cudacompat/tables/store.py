"""Where a table's rows come from: the bundled edition, or a newer one that the user imported."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from cudacompat.errors import DataError

Row = dict[str, Any]
_P = ParamSpec("_P")
_R = TypeVar("_R")
_FORGETTERS: list[Callable[[], None]] = []

NAMES = (
    "cuda_releases",
    "minor_version_compat",
    "driver_branches",
    "windows_drivers",
    "forward_compat",
    "image_requirements",
    "gpus",
    "architectures",
    "toolkit_targets",
    "driver_ptx",
    "frameworks",
    "libraries",
    "cuda_errors",
    "jetson",
    "bottlerocket",
)
GO_BACK = "go back to the bundled tables with: cudacompat data import --bundled"
LARGEST = 4 * 1024 * 1024


def remembered(look_up: Callable[_P, _R]) -> Callable[_P, _R]:
    """Keep a look-up's answers until the tables change: predictions ask the same few things very often."""
    cached = lru_cache(maxsize=4096)(look_up)
    _FORGETTERS.append(cached.cache_clear)
    return cast("Callable[_P, _R]", cached)


def bundled_folder() -> Path:
    """The tables that ship with the package: beside it in a wheel, one level up in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "data"
    return inside if inside.is_dir() else package.parent / "data"


def user_file() -> Path:
    """Where an imported edition is kept; CUDACOMPAT_DATA_DIR overrides the platform's usual folder."""
    chosen = os.environ.get("CUDACOMPAT_DATA_DIR")
    if chosen:
        return Path(chosen) / "edition.json"
    from platformdirs import user_data_path

    return user_data_path("cudacompat", appauthor=False) / "edition.json"


def bundled(name: str) -> Row:
    """A table as it ships. Raises DataError naming the file."""
    path = bundled_folder() / f"{name}.json"
    try:
        return _table(json.loads(path.read_bytes()), str(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"the table {path} cannot be read: {error}") from error


def seal(content: bytes) -> bytes:
    """An imported edition as it is kept: the digest of what was checked, then the edition itself."""
    return hashlib.sha256(content).hexdigest().encode() + b"\n" + content


@remembered
def imported() -> Mapping[str, Row]:
    """The imported tables in use, by name; those that are older than the bundled ones are left out.

    Raises DataError when the kept file is not what was checked at its import.
    """
    path = user_file()
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            digest, _, content = file.read(LARGEST + 128).partition(b"\n")
        sealed = hashlib.sha256(content).hexdigest().encode() == digest
        tables = json.loads(content)["tables"] if sealed else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"the imported tables in {path} cannot be read ({error}); {GO_BACK}") from error
    if not isinstance(tables, dict):
        raise DataError(f"the imported tables in {path} were changed after their import; {GO_BACK}")
    newest = bundled_edition()
    return {name: _table(tables[name], str(path)) for name in NAMES if _edition_of(tables.get(name)) >= newest}


def _edition_of(table: Row | None) -> str:
    return str(table["edition"]) if table else ""


def _table(loaded: object, where: str) -> Row:
    if not isinstance(loaded, dict) or not isinstance(loaded.get("rows"), list):
        raise DataError(f"{where} has a table without a list of rows")
    return loaded


@remembered
def document(name: str) -> Row:
    """A table in use: edition, title, sources, rules and rows. Raises DataError."""
    return imported().get(name) or bundled(name)


@remembered
def rows(name: str, kind: str | None = None) -> tuple[Row, ...]:
    """A table's rows, or those of one kind."""
    return tuple(row for row in document(name)["rows"] if kind is None or row.get("kind") == kind)


def rules(name: str) -> tuple[Row, ...]:
    """What a table's subject follows in words: rows with id, text and source."""
    return tuple(document(name).get("rules", ()))


def sources(name: str, row: Row) -> str:
    """A row's sources in words."""
    known = document(name)["sources"]
    return "; ".join(str(known.get(key, key)) for key in row["source"])


@remembered
def bundled_edition() -> str:
    """The edition that ships with this version: all bundled tables carry the same."""
    return str(bundled("driver_branches")["edition"])


@remembered
def edition() -> str:
    """The edition in use ("2026-12"); with some tables imported, the older and the newer ("2026-12+2027-02")."""
    own = bundled_edition()
    newer = {str(table["edition"]) for table in imported().values()}
    if set(imported()) != set(NAMES):
        newer.add(own)
    ordered = sorted(newer)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]}+{ordered[-1]}"


def forget() -> None:
    """Read the tables anew on the next look-up: an import has changed them."""
    for forget_one in _FORGETTERS:
        forget_one()
