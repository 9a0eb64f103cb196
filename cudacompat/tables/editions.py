"""Newer editions of the tables: read from a file, checked, kept for the user, written out, removed again.

A file is an edition as ``export`` writes it, a single table, or NVIDIA's releases.json.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudacompat.errors import DataError
from cudacompat.tables import releases_json
from cudacompat.tables.store import (
    LARGEST,
    NAMES,
    Row,
    bundled_edition,
    document,
    edition,
    forget,
    imported,
    seal,
    user_file,
)
from cudacompat.tables.verify import problems

SCHEMA = "cudacompat/data/v1"
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import has changed: the tables, the edition now in use, and the file it is kept in."""

    tables: tuple[str, ...]
    edition: str
    path: Path


def export() -> dict[str, Any]:
    """The tables in use as one edition, in the form that ``import_file`` reads."""
    return {"schema": SCHEMA, "edition": edition(), "tables": {name: document(name) for name in NAMES}}


def import_file(path: Path) -> Imported:
    """Check a newer edition and keep it for the user. On any fault nothing changes.

    Raises DataError naming the file, and the table and row that is wrong.
    """
    tables = _tables_in(_read(path), path)
    for name, table in tables.items():
        _refuse_older(name, table, path)
    found = problems({**{name: document(name) for name in NAMES}, **tables}, new=tables)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise DataError(f"{path} was not imported: {found[0]}{more}; the tables in use are unchanged")
    _keep({**imported(), **tables})
    forget()
    return Imported(tuple(tables), edition(), user_file())


def go_back() -> bool:
    """Use the bundled tables again; False when no imported ones were there. Raises DataError."""
    path = user_file()
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DataError(f"{path} cannot be removed: {error.strerror or error}") from error
    forget()
    return True


def _read(path: Path) -> object:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise DataError(f"{path} is larger than {LARGEST // 2**20} MiB: no edition of the tables is")
        loaded = json.loads(content, object_pairs_hook=_once, parse_constant=_no_constant)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is no JSON document: {error}") from error
    if _is_deep(loaded):
        raise DataError(f"{path} is nested more than {_DEEPEST} levels deep: no edition of the tables is")
    return loaded


def _is_deep(loaded: object) -> bool:
    level = [loaded]
    for _ in range(_DEEPEST):
        inner = [value for item in level if isinstance(item, dict) for value in item.values()]
        inner += [value for item in level if isinstance(item, list) for value in item]
        level = [item for item in inner if isinstance(item, dict | list)]
    return bool(level)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two values for one key read differently in different programs, so there must not be any."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"the key {twice[:40]!r} is there twice in one object")
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON value")


def _tables_in(loaded: object, path: Path) -> dict[str, Row]:
    """The tables of a file in any of the three forms."""
    if isinstance(loaded, dict):
        if isinstance(loaded.get("tables"), dict):
            found = loaded["tables"]
            if loaded.get("schema") != SCHEMA or not found:
                raise DataError(f"{path} is no edition of the schema {SCHEMA}")
            return {name: _known(name, table, path) for name, table in found.items()}
        if isinstance(loaded.get("table"), str):
            return {loaded["table"]: _known(loaded["table"], loaded, path)}
        if releases_json.recognise(loaded):
            return {"driver_branches": releases_json.merged(loaded, document("driver_branches"), path.name)}
    raise DataError(
        f"{path} is neither an edition of the tables (cudacompat data export), nor one table, "
        "nor NVIDIA's releases.json"
    )


def _known(name: str, table: object, path: Path) -> Row:
    if name not in NAMES:
        raise DataError(f"{path} has an unknown table {name[:40]!r}; known are {', '.join(NAMES)}")
    if not isinstance(table, dict):
        raise DataError(f"{path}: the table {name} is no JSON object")
    return table


def _refuse_older(name: str, table: Row, path: Path) -> None:
    """Only an edition that is a text can be compared; the schema refuses every other one afterwards."""
    have, given = str(document(name)["edition"]), table.get("edition")
    if isinstance(given, str) and given < max(have, bundled_edition()):
        raise DataError(
            f"{path} was not imported: its table {name} is of edition {given[:20]}, older than {have}, which is in use"
        )


def _keep(tables: Mapping[str, Row]) -> None:
    """Write all or nothing: a new file beside the old one, then one rename."""
    path = user_file()
    content = json.dumps({"schema": SCHEMA, "tables": dict(tables)}, ensure_ascii=False).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".edition.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(seal(content))
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DataError(f"the edition cannot be kept in {path.parent}: {error.strerror or error}") from error
