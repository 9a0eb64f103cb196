"""What every output format gets, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from cudacompat.model import Finding, Report, Verdict
from cudacompat.predict.rules import Rule
from cudacompat.report.style import Style

_NO_RULES: Mapping[str, Rule] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Unread:
    """A target that could not be read: its name as given, and the sentence that says why."""

    reference: str
    error: str


@dataclass(frozen=True, slots=True)
class Silenced:
    """A finding that somebody silenced: why, and where that is written. ``in_file``: in the file itself."""

    finding: Finding
    reason: str
    where: str
    in_file: bool


@dataclass(frozen=True, slots=True)
class Nested:
    """An image that a file names on a line: its report, or the sentence that says why there is none."""

    reference: str
    line: int
    report: Report | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A rule that could not be judged, and the facts that it waits for."""

    rule: str
    title: str
    waits_for: str


@dataclass(frozen=True, slots=True)
class Other:
    """A result that is no single image's report, such as a workload's.

    ``findings`` serve every format; ``document`` is its JSON form and ``text`` writes it for a person.
    ``rules`` explain those findings that the catalogue of predictions does not know. ``is_file`` tells
    that ``reference`` is a file's path. ``place`` names the host where one run has several.
    """

    reference: str
    findings: tuple[Finding, ...]
    document: dict[str, object]
    text: Callable[[Style], str]
    verdict: Verdict
    is_file: bool = True
    place: str = ""
    silenced: tuple[Silenced, ...] = ()
    images: tuple[Nested, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    rules: Mapping[str, Rule] = field(default_factory=lambda: _NO_RULES)


Result = Report | Unread | Other


class Render(Protocol):
    """Turns results into the whole text of one output, ending in a newline."""

    def __call__(self, results: Sequence[Result], style: Style) -> str:
        """Render the results of one run, in the order of its targets."""
