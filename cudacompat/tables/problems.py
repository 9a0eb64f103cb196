"""Something wrong in a table, told so that a person finds the row."""

from __future__ import annotations

from dataclasses import dataclass

from cudacompat.tables.store import Row

_NAMING = ("toolkit", "branch", "name", "code", "compute_capability", "first", "l4t", "id", "package", "cuda")


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault: table, the row as a person would name it, and what is wrong with it."""

    table: str
    row: str
    message: str

    def __str__(self) -> str:
        """The fault in one line."""
        return f"{self.table}, {self.row}: {self.message}"


def problem(table: str, row: Row, message: str) -> Problem:
    """A fault of one row."""
    return Problem(table, row_name(row), message)


def row_name(row: Row) -> str:
    """What tells a row from its neighbours: "branch 535", "wheel torch 2.7 cuda 12.8"."""
    if row.get("framework") or row.get("library"):
        parts = [row.get(key) for key in ("kind", "framework", "library", "release", "version", "package", "cuda")]
        return " ".join(str(part) for part in parts if part is not None)
    kind = f"{row['kind']} " if "kind" in row else ""
    named = [key for key in _NAMING if key in row]
    shown = named[:1] if named[:1] != ["package"] else named[:2]
    words = " ".join(f"{key} {row[key]}" for key in shown)
    return f"{kind}{words}" + (f" edition {row['edition']}" if "edition" in row else "")
