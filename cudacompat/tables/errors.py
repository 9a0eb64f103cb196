"""CUDA's error codes."""

from __future__ import annotations

from cudacompat.tables.store import remembered, rows, sources
from cudacompat.tables.types import ErrorEntry


@remembered
def errors() -> tuple[ErrorEntry, ...]:
    """Every known error, by number."""
    return tuple(
        ErrorEntry(
            code=row["code"],
            driver_name=row.get("driver_name"),
            runtime_name=row.get("runtime_name"),
            message=row["message"],
            meaning=row["meaning"],
            causes=row["causes"],
            advice=row["advice"],
            source=sources("cuda_errors", row),
        )
        for row in rows("cuda_errors")
    )


@remembered
def error(code_or_name: int | str) -> ErrorEntry | None:
    """An error by its number (as number or text) or by its driver or runtime name, in any case."""
    text = str(code_or_name).strip().lower()
    for entry in errors():
        names = (str(entry.code), entry.driver_name or "", entry.runtime_name or "")
        if text in (name.lower() for name in names if name):
            return entry
    return None
