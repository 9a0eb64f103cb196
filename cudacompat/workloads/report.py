"""A workload's report: its verdict from findings and nested reports, its JSON and its text."""

from __future__ import annotations

from cudacompat.model import Finding, HostFacts, Tool, Verdict
from cudacompat.model.prediction import Outcome
from cudacompat.report.document import host_document, report_document, tool_document, verdict_document
from cudacompat.report.style import Style
from cudacompat.workloads.interface import WorkloadReport

SCHEMA = "cudacompat/workload/v1"
_WORST: tuple[Outcome, ...] = ("fails", "depends", "unknown", "runs-limited", "no-cuda", "runs")
_COLOURS = {"error": "red", "warning": "yellow", "note": "blue"}


def verdict(report: WorkloadReport) -> Verdict:
    """Errors of the workload fail it; then the worst of its images counts, one that was not read as unknown."""
    errors = [finding for finding in report.findings if finding.level == "error"]
    nested: list[Outcome] = [inner.verdict.outcome for _, inner in report.reports]
    outcomes: list[Outcome] = [outcome for outcome in nested if outcome != "no-cuda"]
    if report.unread:
        outcomes.append("unknown")
    outcome: Outcome = "fails" if errors else min(outcomes, key=_WORST.index, default="runs")
    return Verdict(outcome, None, None, None, "high", "", _summary(report, errors, outcome))


def _summary(report: WorkloadReport, errors: list[Finding], outcome: Outcome) -> str:
    if errors:
        return errors[0].message
    if outcome == "unknown" and report.unread:
        use, why = report.unread[0]
        return f"the image {use.reference} was not checked: {why}"
    worst = next((inner for _, inner in report.reports if inner.verdict.outcome == outcome), None)
    if worst is not None:
        return f"{worst.target.reference}: {worst.verdict.summary}"
    return "nothing in the request is wrong by itself; there is no image in it to check"


def document(report: WorkloadReport, host: HostFacts, tool: Tool) -> dict[str, object]:
    """The report as plain data, schema id ``cudacompat/workload/v1``."""
    return {
        "schema": SCHEMA,
        "tool": tool_document(tool),
        "target": {
            "kind": "workload",
            "reference": report.path,
            "digest": None,
            "platform": None,
            "source": report.kind,
        },
        "host": host_document(host),
        "verdict": verdict_document(verdict(report)),
        "findings": [_finding(finding) for finding in report.findings],
        "suppressed": [{**_finding(s.finding), "reason": s.reason, "by": s.where} for s in report.suppressed],
        "not_judged": [{"rule": r.rule, "title": r.title, "waits_for": r.waits_for} for r in report.not_judged],
        "workloads": [_workload(report, index) for index in range(len(report.workloads))],
        "images": [report_document(inner) for _, inner in report.reports],
        "unread": [{"reference": use.reference, "line": use.line, "why": why} for use, why in report.unread],
    }


def _finding(finding: Finding) -> dict[str, object]:
    place = finding.location
    return {
        "rule": finding.rule,
        "level": finding.level,
        "stage": finding.stage,
        "message": finding.message,
        "fix": finding.fix,
        "evidence": [],
        "location": None if place is None else {"path": place.path, "line": place.line},
    }


def _workload(report: WorkloadReport, index: int) -> dict[str, object]:
    workload = report.workloads[index]
    return {
        "name": workload.name,
        "line": workload.line,
        "images": [
            {
                "reference": u.reference,
                "line": u.line,
                "started_by": u.started_by,
                "injection": u.injection,
                "gpus": u.gpus,
            }
            for u in workload.images
        ],
        "requests": [
            {"resource": r.resource, "count": r.count, "unit": r.unit, "type": r.gpu_type, "line": r.line}
            for r in workload.requests
        ],
    }


def text(report: WorkloadReport, style: Style) -> str:
    """The report for a person: findings by line, images, and what was not judged."""
    found = verdict(report)
    lines = style.wrap(f"{found.outcome.upper()}  {report.path} ({report.kind}): {found.summary}", rest="  ")
    if style.quiet:
        return "\n".join(lines) + "\n"
    for finding in report.findings:
        place = finding.location
        line = f"{place.path}:{place.line} " if place is not None else ""
        sign = style.paint(style.symbol(finding.level), _COLOURS[finding.level])
        lines += ["", *style.wrap(f"{line}[{finding.rule}] {finding.message}", first=f"{sign} ", rest="  ")]
        lines += style.wrap(finding.fix, first=f"  {style.symbol('arrow')} ", rest="    ")
    lines += _image_lines(report, style) + _waiting_lines(report, style)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _image_lines(report: WorkloadReport, style: Style) -> list[str]:
    lines: list[str] = []
    for use, inner in report.reports:
        lines += style.wrap(
            f"{inner.verdict.outcome}: {inner.verdict.summary}", first=f"image {style.clean(use.reference)}  "
        )
    for use, why in report.unread:
        lines += style.wrap(f"not checked: {why}", first=f"image {style.clean(use.reference)}  ")
    return ["", *lines] if lines else []


def _waiting_lines(report: WorkloadReport, style: Style) -> list[str]:
    lines: list[str] = []
    for waits_for in dict.fromkeys(rule.waits_for for rule in report.not_judged):
        rules = ", ".join(rule.rule for rule in report.not_judged if rule.waits_for == waits_for)
        lines += style.wrap(f"not judged without {waits_for}: {rules}", first=f"{style.symbol('note')} ", rest="  ")
    if report.suppressed:
        rules = ", ".join(f"{s.finding.rule} ({s.reason})" for s in report.suppressed)
        lines += style.wrap(f"silenced: {rules}", first=f"{style.symbol('note')} ", rest="  ")
    return ["", *lines] if lines else []
