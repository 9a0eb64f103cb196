"""Results as one list of points, for the formats that are lists: each with its rule, its words and its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cudacompat.model import Finding, Report, Verdict
from cudacompat.model.prediction import Level
from cudacompat.predict.rules import RULES, Rule
from cudacompat.report.interface import Other, Result, Silenced, Unread
from cudacompat.report.verdict_rules import NOT_READ, OF_OUTCOME, VERDICT_RULES


@dataclass(frozen=True, slots=True)
class Item:
    """One point of a report.

    ``subject`` is the image or file it is about. ``path`` and ``line`` are a place in a file that the user
    wrote; without them the image itself is the place. ``host`` names the host where a run has several.
    """

    rule: str
    level: Level
    message: str
    fix: str
    subject: str
    path: str | None = None
    line: int | None = None
    host: str = ""
    silenced: Silenced | None = None


def items(results: Sequence[Result]) -> Iterator[Item]:
    """Every point of every result, in the order of the targets."""
    for result in results:
        yield from items_of(result)


def items_of(result: Result) -> Iterator[Item]:
    """The points of one result: what was not read, the verdict where no finding speaks for it, the findings."""
    if isinstance(result, Unread):
        rule = VERDICT_RULES[NOT_READ]
        yield Item(NOT_READ, "error", result.error, rule.fix, result.reference)
    elif isinstance(result, Report):
        yield from _of_report(result)
    else:
        yield from _of_other(result)


def _of_report(report: Report) -> Iterator[Item]:
    subject, host = report.target.reference, place_of(report)
    verdict = report.verdict
    if verdict.outcome in OF_OUTCOME and not _spoken_for(verdict, report.findings):
        rule, level = OF_OUTCOME[verdict.outcome]
        remedy = report.remedies[0].change.text if report.remedies else VERDICT_RULES[rule].fix
        yield Item(rule, level, verdict.summary, remedy, subject, host=host)
    for finding in report.findings:
        yield replace(_of_finding(finding, subject), host=host)


def _of_other(other: Other) -> Iterator[Item]:
    path = other.reference if other.is_file else None
    for finding in other.findings:
        yield _of_other_finding(finding, other)
    for silenced in other.silenced:
        yield replace(_of_other_finding(silenced.finding, other), silenced=silenced)
    for image in other.images:
        found = [Item(NOT_READ, "warning", image.error, VERDICT_RULES[NOT_READ].fix, image.reference)]
        if image.report is not None:
            found = list(_of_report(image.report))
        for item in found:
            yield replace(item, path=path, line=image.line, host=other.place)


def _of_other_finding(finding: Finding, other: Other) -> Item:
    """A finding of a file. The words of a command line stand in no file, whatever line they are given."""
    item = replace(_of_finding(finding, other.reference), host=other.place)
    return item if other.is_file else replace(item, path=None, line=None)


def _of_finding(finding: Finding, subject: str) -> Item:
    place = finding.location
    path, line = (None, None) if place is None else (place.path, place.line)
    return Item(finding.rule, finding.level, finding.message, finding.fix, subject, path, line)


def _spoken_for(verdict: Verdict, findings: Sequence[Finding]) -> bool:
    """Whether a finding already says that, and where, the launch fails."""
    errors = (finding for finding in findings if finding.level == "error")
    return verdict.outcome == "fails" and any(finding.stage == verdict.stage for finding in errors)


def place_of(report: Report) -> str:
    """The host's name where one run has several: a profile's."""
    return report.host.origin if report.host.origin.startswith("profile ") else ""


def rule_of(name: str, results: Sequence[Result]) -> Rule | None:
    """The explanation of a rule: of predictions, of verdicts, or one that a result brings along."""
    known = RULES.get(name) or VERDICT_RULES.get(name)
    if known is not None:
        return known
    brought = (result.rules[name] for result in results if isinstance(result, Other) and name in result.rules)
    return next(brought, None)


def advised(message: str, fix: str) -> str:
    """A message with what to do about it, for formats with one text for both."""
    if not fix:
        return message
    end = "" if message.rstrip().endswith((".", "!", "?", ":")) else "."
    return f"{message.rstrip()}{end} What to do: {fix}"
