"""JUnit XML, as Jenkins and GitLab read it: one suite for each target, one case for each stage or rule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from cudacompat.model import Finding, Report, Stage, Verdict
from cudacompat.report.interface import Nested, Other, Result, Unread
from cudacompat.report.items import advised, place_of
from cudacompat.report.style import Style

Outcome = Literal["passed", "failure", "error", "skipped"]
_CLEAN = Style()
_STAGE_OUTCOMES: dict[str, Outcome] = {
    "ok": "passed",
    "limited": "passed",
    "fails": "failure",
    "unknown": "error",
    "skipped": "skipped",
}
_VERDICT_OUTCOMES: dict[str, Outcome] = {"fails": "failure", "depends": "failure", "unknown": "error"}
# XML 1.0 has no place for these, not even as character references.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """One test case. ``kind`` and ``message`` say why it did not pass; ``lines`` are all there is to tell."""

    group: str
    name: str
    outcome: Outcome
    kind: str = ""
    message: str = ""
    lines: tuple[str, ...] = ()


def render(results: Sequence[Result], style: Style) -> str:
    """The suites of all targets. What cannot be told is an error, so that it is never green."""
    del style
    seen: Counter[tuple[str, str]] = Counter()
    suites = [(_name(result), [_numbered(case, seen) for case in _cases(result)]) for result in results]
    every = [case for _, cases in suites for case in cases]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="cudacompat"{_counts(every)}>']
    for name, cases in suites:
        lines.append(f'  <testsuite name={_attribute(name)}{_counts(cases)} skipped="{_count(cases, "skipped")}">')
        for case in cases:
            lines += _case(case)
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return ("\n".join(lines) + "\n").encode("ascii", "xmlcharrefreplace").decode("ascii")


def _numbered(case: Case, seen: Counter[tuple[str, str]]) -> Case:
    """The case under a name of its own, as it is written: GitLab drops all but the first that share one."""
    group, name = _clean(case.group), _clean(case.name)
    seen[group, name] += 1
    number = seen[group, name]
    return replace(case, group=group, name=name if number == 1 else f"{name} ({number})")


def _name(result: Result) -> str:
    if isinstance(result, Report):
        return " on ".join(part for part in (result.target.reference, place_of(result)) if part)
    place = "" if isinstance(result, Unread) else result.place
    return " on ".join(part for part in (result.reference, place) if part)


def _cases(result: Result) -> Iterator[Case]:
    if isinstance(result, Unread):
        yield Case(result.reference, "read", "error", "target-not-read", result.error, (result.error,))
    elif isinstance(result, Report):
        yield from _of_report(result, _name(result))
    else:
        yield from _of_other(result)


def _of_report(report: Report, group: str) -> Iterator[Case]:
    loose = [finding for finding in report.findings if finding.stage is None]
    helps = [f"What helps: {remedy.change.text}" for remedy in report.remedies]
    yield _verdict(report.verdict, group, [*map(_said, loose), *helps])
    for stage in report.stages:
        found = [finding for finding in report.findings if finding.stage == stage.stage]
        yield _stage(stage, group, found)


def _verdict(verdict: Verdict, group: str, more: Sequence[str]) -> Case:
    outcome = _VERDICT_OUTCOMES.get(verdict.outcome, "passed")
    waits = [f"Facts that decide: {', '.join(verdict.depends_on)}"] if verdict.depends_on else []
    lines = (f"{verdict.outcome}: {verdict.summary}", *waits, *more)
    return Case(group, "verdict", outcome, verdict.outcome, verdict.summary, lines)


def _stage(stage: Stage, group: str, found: Sequence[Finding]) -> Case:
    kind: str = stage.status
    if stage.error is not None and stage.error.code is not None:
        kind = f"{stage.error.name or 'error'} ({stage.error.code})"
    lines = (f"{stage.status}: {stage.summary}", *map(_said, found))
    return Case(group, stage.stage, _STAGE_OUTCOMES[stage.status], kind, stage.summary, lines)


def _said(finding: Finding) -> str:
    return f"{finding.level} [{finding.rule}] {advised(finding.message, finding.fix)}"


def _of_other(other: Other) -> Iterator[Case]:
    group = _name(other)
    yield _verdict(other.verdict, group, [])
    for finding in other.findings:
        failed = finding.level == "error"
        outcome: Outcome = "failure" if failed else "passed"
        yield Case(group, _rule_name(other, finding), outcome, finding.level, finding.message, (_said(finding),))
    for item in other.silenced:
        yield Case(group, _rule_name(other, item.finding), "skipped", "silenced", f"silenced: {item.reason}")
    for rule in other.waiting:
        yield Case(group, f"{rule.rule} {rule.title}", "skipped", "not judged", f"it waits for {rule.waits_for}")
    for image in other.images:
        yield from _of_image(image, group)


def _rule_name(other: Other, finding: Finding) -> str:
    title = other.rules[finding.rule].title if finding.rule in other.rules else ""
    line = f"line {finding.location.line}" if finding.location is not None and finding.location.line else ""
    return " ".join(part for part in (finding.rule, line, title) if part)


def _of_image(image: Nested, group: str) -> Iterator[Case]:
    name = f"{group}: {image.reference} (line {image.line})"
    if image.report is None:
        yield Case(name, "read", "error", "target-not-read", image.error, (image.error,))
    else:
        yield from _of_report(image.report, name)


def _case(case: Case) -> list[str]:
    head = f"    <testcase classname={quoteattr(case.group)} name={quoteattr(case.name)}"
    if case.outcome == "passed":
        if not case.lines:
            return [f"{head}/>"]
        return [f"{head}>", f"      <system-out>{_content(case.lines)}</system-out>", "    </testcase>"]
    why = f"      <{case.outcome} type={_attribute(case.kind)} message={_attribute(case.message)}"
    end = f">{_content(case.lines)}</{case.outcome}>" if case.lines and case.outcome != "skipped" else "/>"
    return [f"{head}>", f"{why}{end}", "    </testcase>"]


def _counts(cases: Sequence[Case]) -> str:
    failures, errors = _count(cases, "failure"), _count(cases, "error")
    return f' tests="{len(cases)}" failures="{failures}" errors="{errors}"'


def _count(cases: Sequence[Case], outcome: Outcome) -> int:
    return sum(case.outcome == outcome for case in cases)


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _content(lines: Sequence[str]) -> str:
    return escape("\n".join(map(_clean, lines)))


def _clean(text: str) -> str:
    """Text that XML can hold: what a terminal could be steered by is spelled out, what is left is dropped."""
    return _ILLEGAL.sub("", _CLEAN.clean(text))
