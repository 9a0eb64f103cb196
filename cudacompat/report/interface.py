"""What every output format gets, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cudacompat.model import Report
from cudacompat.report.style import Style


@dataclass(frozen=True, slots=True)
class Unread:
    """A target that could not be read: its name as given, and the sentence that says why."""

    reference: str
    error: str


Result = Report | Unread


class Render(Protocol):
    """Turns results into the whole text of one output, ending in a newline."""

    def __call__(self, results: Sequence[Result], style: Style) -> str:
        """Render the results of one run, in the order of its targets."""
