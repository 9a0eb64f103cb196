"""The self-check of the tables: each against its JSON Schema, all against each other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cudacompat.errors import DataError, UsageError
from cudacompat.tables import checks, device_checks
from cudacompat.tables.problems import Problem, row_name
from cudacompat.tables.store import NAMES, Row, bundled_folder, document

if TYPE_CHECKING:
    from jsonschema import ValidationError

_MOST = 50
# Terminal control and line breaks: a table's texts are printed.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Findings:
    """A self-check: what is wrong, and which rows rest on one source or on sources that disagree."""

    problems: tuple[Problem, ...]
    single_source: tuple[Problem, ...]
    contradictions: tuple[Problem, ...]


def verify() -> Findings:
    """Check the tables in use. Raises DataError when a table cannot be read at all."""
    tables = {name: document(name) for name in NAMES}
    marked = [(name, row) for name, table in tables.items() for row in (*table["rows"], *table.get("rules", ()))]
    return Findings(
        problems=tuple(problems(tables)),
        single_source=tuple(
            Problem(name, row_name(row), row.get("note", "one source"))
            for name, row in marked
            if row.get("single_source")
        ),
        contradictions=tuple(
            Problem(name, row_name(row), row["contradiction"]) for name, row in marked if "contradiction" in row
        ),
    )


def problems(tables: Mapping[str, Row], new: Iterable[str] = NAMES) -> list[Problem]:
    """What is wrong with a full set of tables; the cross-checks run only on tables of the right form.

    ``new`` names the tables whose form is not known to be right.
    """
    formal = [item for name in new for item in form_problems(name, tables[name])]
    if formal:
        return formal[:_MOST]
    found = []
    for check in (*checks.CHECKS, *device_checks.CHECKS):
        try:
            found += list(check(tables))
        except UsageError as error:
            found.append(Problem(check.__name__, "a version", str(error)))
    return found[:_MOST]


def form_problems(name: str, table: Row) -> Iterator[Problem]:
    """Where a table does not follow its JSON Schema, or holds texts that a terminal would act on."""
    errors = sorted(_validator(name).iter_errors(table), key=lambda error: [str(part) for part in error.absolute_path])
    for error in errors[:_MOST]:
        yield Problem(name, _where(table, list(error.absolute_path)), _what(error))
    for index, row in enumerate(table["rows"] if isinstance(table.get("rows"), list) else ()):
        if _CONTROL.search(_texts(row)):
            yield Problem(name, f"row {index + 1}", "a text holds control characters")
    if _CONTROL.search(_texts({key: value for key, value in table.items() if key != "rows"})):
        yield Problem(name, "the file", "a text outside the rows holds control characters")


def _texts(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {_texts(item)}" for key, item in value.items())
    if isinstance(value, list):
        return " ".join(_texts(item) for item in value)
    return value if isinstance(value, str) else ""


@lru_cache(maxsize=32)
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    path = bundled_folder() / "schemas" / f"{name}.json"
    try:
        return Draft202012Validator(json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise DataError(f"the schema {path} cannot be read: {error}") from error


def _where(table: Row, path: list[Any]) -> str:
    """Row number and name of a place in a table."""
    if len(path) < 2 or path[0] not in ("rows", "rules"):
        return ".".join(str(part) for part in path) or "the file"
    row = table[path[0]][path[1]]
    name = row_name(row) if isinstance(row, dict) else ""
    words = f"{path[0][:-1]} {path[1] + 1}" + (f" ({_clean(name)[:80]})" if name else "")
    return words + "".join(f", {part}" for part in path[2:])


def _what(error: ValidationError) -> str:
    found = _clean(json.dumps(error.instance, ensure_ascii=True))
    shown = found if len(found) <= 80 else found[:80] + "..."
    if error.validator == "pattern" and isinstance(error.schema, Mapping):
        return f"{shown} is no {error.schema.get('description', 'value of the right form')}"
    return _clean(error.message)[:200]


def _clean(text: str) -> str:
    return _CONTROL.sub("?", text)
