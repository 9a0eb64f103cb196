"""A report as one page for a browser: verdict, why, findings, what helps, evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cudacompat.model import Evidence, Finding, Remedy, Report, Scenario, Stage, Verdict
from cudacompat.report.host_text import host_line
from cudacompat.report.html_page import badge, code, page, place, row, table, words
from cudacompat.report.image_text import coverage_lines
from cudacompat.report.interface import Nested, Other, Result
from cudacompat.report.outcomes import WORDS, headline, name_of, said_of, symbol_of, tools_of
from cudacompat.report.style import Style

_MOST = 500
_MOST_EVIDENCE = 200


def render(results: Sequence[Result], style: Style) -> str:
    """The page. Several targets have a table in front that leads to each of them."""
    del style
    title = f"cudacompat: {name_of(results[0])}" if len(results) == 1 else f"cudacompat: {len(results)} targets"
    parts = ["<main>", "<h1>cudacompat</h1>"]
    if len(results) > 1:
        parts.append(_overview(results))
    for number, result in enumerate(results, 1):
        parts.append(_section(result, f"target-{number}"))
    parts += ["</main>", f"<footer>{words(tools_of(list(results)))}</footer>"]
    return page(title, "\n".join(parts))


def _overview(results: Sequence[Result]) -> str:
    rows = []
    for number, result in enumerate(results, 1):
        said, summary = said_of(result)
        link = f'<a href="#target-{number}">{words(name_of(result), 400)}</a>'
        rows.append(row(link, badge(symbol_of(result), said), words(summary, 300)))
    return f"<section>{table('Targets', ('Target', 'Verdict', 'Summary'), rows, 2)}</section>"


def _section(result: Result, anchor: str) -> str:
    said, summary = said_of(result)
    parts = [f'<section id="{anchor}" aria-labelledby="{anchor}-title">']
    parts.append(f'<h2 id="{anchor}-title">{badge(symbol_of(result), said)} {code(name_of(result))}</h2>')
    parts.append(f"<p>{words(summary)}</p>")
    if isinstance(result, Report):
        parts += _report(result)
    elif isinstance(result, Other):
        parts += _other(result)
    return "\n".join([*parts, "</section>"])


def _report(report: Report) -> list[str]:
    parts = [*_verdict(report.verdict), _stages(report.stages)]
    parts += _scenarios(report.scenarios)
    parts += _findings(report.findings)
    parts += _remedies(report.remedies)
    parts += _evidence(report)
    foot = [host_line(report.host), *coverage_lines(report.image, notes=True)]
    return [*parts, *(f'<p class="soft">{words(line)}</p>' for line in foot)]


def _verdict(verdict: Verdict) -> Iterator[str]:
    if verdict.error is not None and verdict.error.message:
        name = f"{verdict.error.name}: " if verdict.error.name else ""
        yield f"<p>You would see {code(name + verdict.error.message)}</p>"
    if verdict.depends_on:
        yield f"<p>Facts that decide: {words(', '.join(verdict.depends_on))}</p>"
    if verdict.confidence != "high":
        reason = f" ({verdict.confidence_reason})" if verdict.confidence_reason else ""
        yield f"<p>Confidence: {words(verdict.confidence + reason)}</p>"


def _stages(stages: Sequence[Stage]) -> str:
    rows = [row(words(stage.stage), badge(stage.status, stage.status), words(stage.summary)) for stage in stages]
    return table("Why: the launch, stage by stage", ("Stage", "Status", "Why"), rows)


def _scenarios(scenarios: Sequence[Scenario]) -> list[str]:
    rows = []
    for scenario in scenarios[:_MOST]:
        given = scenario.text or ", ".join(f"{name} {value}" for name, value in scenario.given.items())
        verdict = scenario.verdict
        sign = badge(WORDS[verdict.outcome][0], headline(verdict))
        rows.append(row(f"if {words(given)}", sign, words(verdict.summary)))
    return [table("It depends", ("If", "Verdict", "Summary"), rows)] if rows else []


def _findings(findings: Sequence[Finding]) -> list[str]:
    rows = []
    for finding in findings[:_MOST]:
        text = f"{place(finding.location)}{words(finding.message)} ({code(finding.rule)})"
        rows.append(row(badge(finding.level, finding.level), text, words(finding.fix)))
    more = [f"<p>and {len(findings) - _MOST} more.</p>"] if len(findings) > _MOST else []
    return [table("Findings", ("Level", "Finding", "What to do"), rows), *more] if rows else []


def _remedies(remedies: Sequence[Remedy]) -> list[str]:
    if not remedies:
        return []
    lines = ["<h3>What helps (each was predicted again; cheapest first)</h3>", "<ol>"]
    for remedy in remedies:
        sign = badge(WORDS[remedy.verdict.outcome][0], headline(remedy.verdict))
        lines.append(f"<li>{words(remedy.change.text)} {sign}</li>")
    return [*lines, "</ol>"]


def _evidence(report: Report) -> list[str]:
    stages = [item for stage in report.stages for item in stage.evidence]
    found = list(dict.fromkeys([*stages, *(item for finding in report.findings for item in finding.evidence)]))
    if not found:
        return []
    lines = [f"<details><summary>Evidence ({len(found)})</summary>", "<ul>"]
    lines += [f"<li>{_observed(item)}</li>" for item in found[:_MOST_EVIDENCE]]
    if len(found) > _MOST_EVIDENCE:
        lines.append(f"<li>and {len(found) - _MOST_EVIDENCE} more</li>")
    return [*lines, "</ul>", "</details>"]


def _observed(item: Evidence) -> str:
    layer = f' <span class="soft">in {words(item.layer[:19])}</span>' if item.layer else ""
    return f"{words(item.kind)} {code(item.where)}{layer}: {code(item.value)}"


def _other(other: Other) -> list[str]:
    parts = _findings(other.findings)
    parts += [_image(image) for image in other.images]
    waiting = [f"<li>{words(w.rule)} {words(w.title)}: it waits for {words(w.waits_for)}</li>" for w in other.waiting]
    silenced = [f"<li>{words(s.finding.rule)}: {words(s.reason)} ({words(s.where)})</li>" for s in other.silenced]
    return parts + _folded("Not judged", waiting) + _folded("Silenced", silenced)


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    return [f"<details><summary>{title} ({len(lines)})</summary>", "<ul>", *lines, "</ul>", "</details>"]


def _image(image: Nested) -> str:
    name = f"{code(image.reference)} (line {image.line})"
    if image.report is None:
        return f"<section><h3>{badge('unknown', 'not checked')} {name}</h3><p>{words(image.error)}</p></section>"
    verdict = image.report.verdict
    head = f"<h3>{badge(WORDS[verdict.outcome][0], headline(verdict))} {name}</h3><p>{words(verdict.summary)}</p>"
    return "\n".join([f"<section>{head}", *_report(image.report), "</section>"])
