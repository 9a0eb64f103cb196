"""Markdown for a comment on a change, or for the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cudacompat.model import Finding, Remedy, Report, Scenario, Stage, Verdict
from cudacompat.report.host_text import host_line
from cudacompat.report.image_text import coverage_lines
from cudacompat.report.interface import Nested, Other, Result, Unread
from cudacompat.report.markdown_text import code, markdown
from cudacompat.report.outcomes import WORDS, headline, name_of, said_of, spot, symbol_of, tools_of
from cudacompat.report.style import Style

_MOST = 50
# GitHub refuses comments beyond 65536 characters.
_LONGEST = 65_000
# A block's title and summary, each with the empty line behind it.
_HEAD = 4


def render(results: Sequence[Result], style: Style) -> str:
    """A table of all targets where there are several, then a section for each."""
    lines = ["## cudacompat", ""]
    if len(results) > 1:
        lines += _overview(results, style)
    for number, result in enumerate(results):
        block = _block(result, style)
        if not _fits(lines, block):
            block = [*block[:_HEAD], "The rest is too long for a comment: `--format html` shows all of it.", ""]
        if not _fits(lines, block):
            lines += [f"{len(results) - number} more are not shown here: `--format html` shows them all.", ""]
            break
        lines += block
    tools = tools_of(list(results))
    if tools:
        lines += [f"<sub>{markdown(tools, style)}</sub>"]
    return "\n".join(lines).rstrip() + "\n"


def _fits(lines: Sequence[str], block: Sequence[str]) -> bool:
    return sum(len(line) + 1 for line in (*lines, *block)) < _LONGEST


def _overview(results: Sequence[Result], style: Style) -> list[str]:
    lines = ["| | Target | Verdict | |", "|---|---|---|---|"]
    for result in results[:_MOST]:
        words, summary = said_of(result)
        cells = (code(name_of(result), style), markdown(words, style), markdown(summary, style, 200))
        lines.append(f"| {style.symbol(symbol_of(result))} | {' | '.join(cells)} |")
    if len(results) > _MOST:
        lines += ["", f"and {len(results) - _MOST} more."]
    return [*lines, ""]


def _block(result: Result, style: Style) -> list[str]:
    words, summary = said_of(result)
    title = f"### {style.symbol(symbol_of(result))} {code(name_of(result), style)}: {markdown(words, style)}"
    lines = [title, "", markdown(summary, style), ""]
    if isinstance(result, Report):
        return lines + _report(result, style)
    return lines if isinstance(result, Unread) else lines + _other(result, style)


def _report(report: Report, style: Style) -> list[str]:
    lines = _verdict(report.verdict, style)
    lines += _scenarios(report.scenarios, style)
    lines += _findings(report.findings, style)
    lines += _remedies(report.remedies, style)
    lines += _stages(report.stages, style)
    foot = [host_line(report.host), *coverage_lines(report.image, notes=False)]
    return [*lines, "<sub>" + "; ".join(markdown(part, style) for part in foot) + "</sub>", ""]


def _verdict(verdict: Verdict, style: Style) -> list[str]:
    lines = []
    if verdict.error is not None and verdict.error.message:
        name = f"{verdict.error.name}: " if verdict.error.name else ""
        lines.append(f"- you would see {code(name + verdict.error.message, style)}")
    if verdict.depends_on:
        lines.append(f"- facts that decide: {markdown(', '.join(verdict.depends_on), style)}")
    if verdict.confidence != "high":
        reason = f" ({verdict.confidence_reason})" if verdict.confidence_reason else ""
        lines.append(f"- confidence: {markdown(verdict.confidence + reason, style)}")
    return [*lines, ""] if lines else []


def _scenarios(scenarios: Sequence[Scenario], style: Style) -> list[str]:
    if not scenarios:
        return []
    lines = ["**It depends**", ""]
    for scenario in scenarios[:_MOST]:
        given = scenario.text or ", ".join(f"{name} {value}" for name, value in scenario.given.items())
        sign = style.symbol(WORDS[scenario.verdict.outcome][0])
        lines.append(f"- {sign} if {markdown(given, style)}: {markdown(headline(scenario.verdict), style)}")
    return [*lines, ""]


def _findings(findings: Sequence[Finding], style: Style) -> list[str]:
    if not findings:
        return []
    lines = ["| | Finding | What to do |", "|---|---|---|"]
    for finding in findings[:_MOST]:
        where = "" if finding.location is None else code(spot(finding.location), style) + " "
        cells = (f"{where}{markdown(finding.message, style)} ({code(finding.rule, style)})", _fix(finding.fix, style))
        lines.append(f"| {style.symbol(finding.level)} {finding.level} | {' | '.join(cells)} |")
    if len(findings) > _MOST:
        lines += ["", f"and {len(findings) - _MOST} more."]
    return [*lines, ""]


def _fix(text: str, style: Style) -> str:
    return markdown(text, style) if text else ""


def _remedies(remedies: Sequence[Remedy], style: Style) -> list[str]:
    if not remedies:
        return []
    lines = ["**What helps** (each was predicted again; cheapest first)", ""]
    for number, remedy in enumerate(remedies, 1):
        ending = markdown(headline(remedy.verdict), style)
        lines.append(f"{number}. {markdown(remedy.change.text, style)} {style.symbol('arrow')} {ending}")
    return [*lines, ""]


def _stages(stages: Sequence[Stage], style: Style) -> list[str]:
    rows = [
        f"| {stage.stage} | {style.symbol(stage.status)} {stage.status} | {markdown(stage.summary, style)} |"
        for stage in stages
    ]
    return _folded("Why: the launch, stage by stage", ["| Stage | | |", "|---|---|---|", *rows])


def _folded(title: str, lines: Iterable[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]


def _other(other: Other, style: Style) -> list[str]:
    lines = _findings(other.findings, style)
    for image in other.images[:_MOST]:
        lines += _image(image, style)
    notes = [f"- {markdown(w.rule, style)} waits for {markdown(w.waits_for, style)}" for w in other.waiting]
    silenced = [f"- {markdown(s.finding.rule, style)}: {markdown(s.reason, style)}" for s in other.silenced]
    lines += _folded("Not judged", notes) if notes else []
    return lines + (_folded("Silenced", silenced) if silenced else [])


def _image(image: Nested, style: Style) -> list[str]:
    name = f"{code(image.reference, style)} (line {image.line})"
    if image.report is None:
        return [f"**{style.symbol('unknown')} {name}: not checked**", "", markdown(image.error, style), ""]
    verdict = image.report.verdict
    sign = style.symbol(WORDS[verdict.outcome][0])
    head = f"**{sign} {name}: {markdown(headline(verdict), style)}**"
    return [head, "", markdown(verdict.summary, style), "", *_report(image.report, style)]
