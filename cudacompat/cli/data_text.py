"""What ``cudacompat data`` prints: tables in columns, the list of tables, the self-check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from cudacompat.report.style import Style
from cudacompat.tables import edition
from cudacompat.tables.editions import Imported
from cudacompat.tables.problems import Problem
from cudacompat.tables.store import NAMES, Row, document, imported, sources, user_file
from cudacompat.tables.verify import Findings

_WIDEST = 38
# Long texts stand below a row and only when asked for; marks have a column of their own.
_BELOW = ("note", "contradiction", "confirmed_by")
_HIDDEN = {
    "kind",
    "source",
    "single_source",
    "designation_single_source",
    "verified_by_running",
    "core",
    "title",
    "first_release_date",
    "newest_seen_date",
    "meaning",
    "causes",
    "advice",
    "observed",
    "bundled_linux_driver",
    "bundled_windows_driver",
    "status",
    "document_names_branch",
    *_BELOW,
}
_HEADS = {
    "compute_capability": "cc",
    "compute_capabilities": "ccs",
    "oldest_compute_capability": "oldest cc",
    "linux_driver_min": "linux driver",
    "windows_driver_min": "windows driver",
    "forward_compat": "compat",
    "in_require_lists_of": "images of",
}


def list_document() -> dict[str, Any]:
    """The tables in use as JSON."""
    listed = [
        {
            "name": name,
            "edition": document(name)["edition"],
            "title": document(name)["title"],
            "rows": len(document(name)["rows"]),
            "origin": "imported" if name in imported() else "bundled",
        }
        for name in NAMES
    ]
    return {"schema": "cudacompat/tables/v1", "edition": edition(), "tables": listed}


def list_text(style: Style) -> str:
    """The tables in use, with what each holds."""
    found = list_document()
    lines = [f"Edition {found['edition']}" + (f", partly from {user_file()}" if imported() else ""), ""]
    cells = [[table["name"], table["edition"], str(table["rows"]), table["origin"]] for table in found["tables"]]
    head, *body = _columns(["table", "edition", "rows", "origin"], cells, style)
    lines.append(head)
    for line, table in zip(body, found["tables"], strict=True):
        lines += [line, *style.wrap(table["title"], first="    ")]
    return "\n".join(lines) + "\n"


def table_text(name: str, style: Style) -> str:
    """A table in columns, one block for each kind of row, then its rules."""
    table = document(name)
    lines = [style.paint(style.clean(table["title"]), "bold"), f"{name}, edition {table['edition']}"]
    lines += style.wrap(table["note"]) if "note" in table else []
    for kind, rows in groupby(sorted(table["rows"], key=_kind), key=_kind):
        lines += style.title(kind.replace("_", " ")) if kind else [""]
        lines += _block(name, list(rows), style)
    if table.get("rules"):
        lines += style.title("rules")
        for rule in table["rules"]:
            lines += style.wrap(rule["text"], first="- ")
            lines += _below(name, rule, style)
    lines += ["", "1: one source only.  !: sources contradict each other.  --verbose: whole values, notes and sources."]
    return "\n".join(lines) + "\n"


def _kind(row: Row) -> str:
    return str(row.get("kind", ""))


def _block(name: str, rows: list[Row], style: Style) -> Iterator[str]:
    keys = list(dict.fromkeys(key for row in rows for key in row if key not in _HIDDEN))
    widest = None if style.verbose else _WIDEST
    cells = [[*(_cell(row.get(key), widest) for key in keys), _marks(row)] for row in rows]
    head, *body = _columns([_HEADS.get(key, key.replace("_", " ")) for key in keys] + [""], cells, style)
    yield head
    for line, row in zip(body, rows, strict=True):
        yield line
        yield from _below(name, row, style)


def _columns(heads: list[str], cells: list[list[str]], style: Style) -> list[str]:
    widths = [max(len(row[index]) for row in [heads, *cells]) for index in range(len(heads))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [heads, *cells]
    ]
    return [style.paint(style.clean(lines[0]), "bold"), *(style.clean(line) for line in lines[1:])]


def _cell(value: Any, widest: int | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        ptx = {True: " +PTX", False: "", None: " +PTX?"}[value["ptx"]]
        value = " ".join(value["sass"]) + ptx
    if isinstance(value, list):
        value = " ".join(str(item) for item in value)
    text = str(value)
    return text if widest is None or len(text) <= widest else text[: widest - 3] + "..."


def _marks(row: Row) -> str:
    return ("1" if row.get("single_source") else "") + ("!" if "contradiction" in row else "")


def _below(name: str, row: Row, style: Style) -> Iterator[str]:
    if not style.verbose:
        return
    for key in _BELOW:
        value = row.get(key)
        texts = value if isinstance(value, list) else [value] if value else []
        for text in texts:
            yield from style.wrap(f"{key.replace('_', ' ')}: {text}", first="      ")
    yield from style.wrap(f"source: {sources(name, row)}", first="      ")


def verify_document(found: Findings) -> dict[str, Any]:
    """The self-check as JSON."""
    return {
        "schema": "cudacompat/verify/v1",
        "edition": edition(),
        "problems": _listed(found.problems),
        "single_source": _listed(found.single_source),
        "contradictions": _listed(found.contradictions),
    }


def _listed(items: Iterable[Problem]) -> list[dict[str, str]]:
    return [{"table": item.table, "row": item.row, "message": item.message} for item in items]


def verify_text(found: Findings, style: Style) -> str:
    """The self-check for a person: faults first, then what rests on one source or is disputed."""
    lines = [f"Edition {edition()}: " + _verdict(len(found.problems))]
    lines += _list("faults", found.problems, style)
    parts = (("rows with one source", found.single_source), ("rows whose sources disagree", found.contradictions))
    for title, items in parts:
        lines += _list(f"{len(items)} {title}", items, style) if style.verbose else _counts(title, items)
    if not style.verbose:
        lines += ["", "--verbose lists them."]
    return "\n".join(lines) + "\n"


def _verdict(faults: int) -> str:
    if not faults:
        return "the tables follow their schemas and agree with each other."
    return "1 fault." if faults == 1 else f"{faults} faults."


def _list(title: str, items: tuple[Problem, ...], style: Style) -> list[str]:
    if not items:
        return []
    return [*style.title(title), *(line for item in items for line in style.wrap(str(item), first="- "))]


def _counts(title: str, items: tuple[Problem, ...]) -> list[str]:
    tables = [item.table for item in items]
    shown = ", ".join(f"{name} {tables.count(name)}" for name in dict.fromkeys(tables))
    return [f"{len(items)} {title}" + (f": {shown}" if shown else "")]


def imported_text(done: Imported, style: Style) -> str:
    """What an import has changed, and how to undo it."""
    lines = style.wrap(f"Edition {done.edition} is in use. Imported: {', '.join(done.tables)}.")
    lines += style.wrap(f"Kept in {done.path}. To go back: cudacompat data import --bundled")
    return "\n".join(lines) + "\n"


def went_back(there_were: bool) -> str:
    """What going back has changed."""
    if not there_were:
        return f"The bundled tables (edition {edition()}) were in use already.\n"
    return f"The bundled tables (edition {edition()}) are in use again.\n"
