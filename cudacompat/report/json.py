"""JSON for programs: one object for one target, a list of them for several."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cudacompat.report.document import REPORTS_SCHEMA, Document, report_document
from cudacompat.report.interface import Other, Result, Unread
from cudacompat.report.style import Style


def render(results: Sequence[Result], style: Style) -> str:
    """The report of a single target, or ``cudacompat/reports/v1`` with one entry for each target."""
    del style
    if len(results) == 1:
        return text(_entry(results[0]))
    return text({"schema": REPORTS_SCHEMA, "reports": [_entry(result) for result in results]})


def _entry(result: Result) -> Document:
    if isinstance(result, Unread):
        return {"target": {"reference": result.reference}, "error": result.error}
    if isinstance(result, Other):
        return result.document
    return report_document(result)


def text(document: Document) -> str:
    """A document as text. Everything beyond ASCII is escaped, so that no terminal can be steered by it."""
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n"
