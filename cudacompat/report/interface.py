"""What every output format gets, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cudacompat.model import Finding, Report
from cudacompat.report.style import Style


@dataclass(frozen=True, slots=True)
class Unread:
    """A target that could not be read: its name as given, and the sentence that says why."""

    reference: str
    error: str


@dataclass(frozen=True, slots=True)
class Other:
    """A result that is no single image's report, such as a workload's.

    ``findings`` serve every format; ``document`` is its JSON form and ``text`` writes it for a person.
    """

    reference: str
    findings: tuple[Finding, ...]
    document: dict[str, object]
    text: Callable[[Style], str]


Result = Report | Unread | Other


class Render(Protocol):
    """Turns results into the whole text of one output, ending in a newline."""

    def __call__(self, results: Sequence[Result], style: Style) -> str:
        """Render the results of one run, in the order of its targets."""
