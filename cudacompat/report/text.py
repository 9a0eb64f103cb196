"""The report for a person: the verdict first, then why, then what helps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cudacompat.model import Evidence, Finding, Remedy, Report, Scenario, Stage, Verdict
from cudacompat.report.host_text import host_line
from cudacompat.report.image_text import coverage_lines
from cudacompat.report.interface import Other, Result, Unread
from cudacompat.report.style import Style

_OUTCOMES = {
    "runs": ("ok", "RUNS", "green"),
    "runs-limited": ("limited", "RUNS WITH LIMITS", "yellow"),
    "depends": ("depends", "DEPENDS", "yellow"),
    "fails": ("fails", "FAILS", "red"),
    "unknown": ("unknown", "UNKNOWN", "yellow"),
    "no-cuda": ("skipped", "NO CUDA", "blue"),
}
_STATUS_COLOURS = {"ok": "green", "limited": "yellow", "fails": "red", "unknown": "yellow", "skipped": "dim"}
_LEVEL_COLOURS = {"error": "red", "warning": "yellow", "note": "blue"}
_MISSING = {"depends": "facts that decide"}
# How a user tells the facts that a verdict waits for.
_WAYS_TO_TELL = {
    "driver": "--driver",
    "gpu": "--gpu",
    "board": "--gpu",
    "compute_capability": "--gpu",
    "injection": "--injection",
    "toolkit": "--toolkit-version",
    "brand": "--host with the output of 'nvidia-smi -q -x'",
    "layers": "leave out --quick",
}
_STAGE_COLUMN, _STATUS_COLUMN = 16, 9
_MOST_SCENARIOS = 12


def render(results: Sequence[Result], style: Style) -> str:
    """All reports, one after another, with an empty line between them."""
    blocks = [_block(item, style) for item in results]
    separator = "" if style.quiet else "\n"
    return separator.join(block for block in blocks if block)


def _block(item: Result, style: Style) -> str:
    if isinstance(item, Other):
        return item.text(style)
    return _unread(item, style) if isinstance(item, Unread) else _report(item, style)


def _unread(item: Unread, style: Style) -> str:
    """Nothing: the sentence stands on stderr, where a report's reader does not take it for an answer."""
    del item, style
    return ""


def _report(report: Report, style: Style) -> str:
    lines = _headline(report, style)
    if not style.quiet:
        lines += _verdict(report.verdict, style)
        lines += _stages(report, style)
        lines += _scenarios(report.scenarios, style)
        lines += _findings(report.findings, style)
        lines += _remedies(report.remedies, style)
        lines += _last_lines(report, style)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _headline(report: Report, style: Style) -> list[str]:
    """One line that says it all: sign, word, stage and code, image."""
    symbol, word, colour = _OUTCOMES[report.verdict.outcome]
    sign = f"{style.symbol(symbol)} {word}"
    lines = style.wrap(_where(report.verdict) + _name(report), first=f"{sign}  ", rest="  ")
    return [style.paint(sign, colour, "bold") + lines[0][len(sign) :], *lines[1:]]


def _where(verdict: Verdict) -> str:
    stage = f"at {verdict.stage}" if verdict.stage else ""
    code = f"error {verdict.error.code}" if verdict.error and verdict.error.code is not None else ""
    path = {"minor-version": "by minor version compatibility", "forward-compat": "by forward compatibility"}
    words = ", ".join(word for word in (stage, code, path.get(verdict.path or "", "")) if word)
    return f"{words}: " if words else ""


def _name(report: Report) -> str:
    target = report.target
    platform = f" ({target.platform})" if target.platform else ""
    # With profiles one image has several reports.
    place = f" on {report.host.origin}" if report.host.origin.startswith("profile ") else ""
    return f"{target.reference}{platform}{place}"


def _verdict(verdict: Verdict, style: Style) -> list[str]:
    lines = style.wrap(verdict.summary, first="  ")
    error = verdict.error
    if error is not None and error.message:
        name = f"{error.name}: " if error.name else ""
        lines += style.wrap(f"{name}{error.message}", first="  you would see  ", rest="    ")
    if verdict.depends_on:
        lines += style.wrap(", ".join(verdict.depends_on), first=f"  {_MISSING.get(verdict.outcome, 'missing')}: ")
        ways = dict.fromkeys(_WAYS_TO_TELL[fact] for fact in verdict.depends_on if fact in _WAYS_TO_TELL)
        lines += style.wrap(", ".join(ways), first="  to decide it: ") if ways else []
    if verdict.confidence != "high":
        reason = f" ({verdict.confidence_reason})" if verdict.confidence_reason else ""
        lines += style.wrap(f"confidence: {verdict.confidence}{reason}", first="  ")
    return lines


def _stages(report: Report, style: Style) -> list[str]:
    """The launch as a short story. The stage that decides carries an arrow."""
    lines = [*style.title("Why")]
    decisive = _decisive(report)
    for stage in report.stages:
        lines += _stage(stage, stage is decisive, style)
    return lines


def _decisive(report: Report) -> Stage | None:
    """The stage that fails, or the first that keeps the answer open."""
    if report.verdict.stage is not None:
        return next((stage for stage in report.stages if stage.stage == report.verdict.stage), None)
    waiting = report.verdict.outcome in ("depends", "unknown")
    return next((stage for stage in report.stages if waiting and stage.status == "unknown"), None)


def _stage(stage: Stage, decides: bool, style: Style) -> list[str]:
    mark = style.symbol("mark") if decides else ""
    head = f"{mark:<2}{style.symbol(stage.status)} {stage.stage:<{_STAGE_COLUMN}}"
    first = f"{head}{stage.status:<{_STATUS_COLUMN}}"
    lines = _painted(style.wrap(stage.summary, first=first), first, style, _STATUS_COLOURS[stage.status])
    return lines + _evidence(stage.evidence, style, " " * len(first))


def _painted(lines: list[str], head: str, style: Style, *colours: str) -> list[str]:
    """The lines with the head of the first one in a colour."""
    head = head.rstrip()
    return [style.paint(head, *colours) + lines[0][len(head) :], *lines[1:]]


def _evidence(items: Iterable[Evidence], style: Style, indent: str) -> list[str]:
    if not style.verbose:
        return []
    lines = []
    for item in dict.fromkeys(items):
        layer = f" in {item.layer[:19]}" if item.layer else ""
        text = f"{item.kind} {item.where}{layer}: {item.value}"
        lines += [style.paint(line, "dim") for line in style.wrap(text, first=indent, rest=f"{indent}  ", limit=400)]
    return lines


def _scenarios(scenarios: Sequence[Scenario], style: Style) -> list[str]:
    if not scenarios:
        return []
    lines = style.title("It depends")
    for scenario in scenarios[:_MOST_SCENARIOS]:
        symbol, word, colour = _OUTCOMES[scenario.verdict.outcome]
        first = f"  {style.symbol(symbol)} "
        given = scenario.text or ", ".join(f"{name} {value}" for name, value in scenario.given.items())
        where = _where(scenario.verdict).removesuffix(": ")
        text = f"if {given}: {word.lower()}" + (f" {where}" if where else "")
        lines += _painted(style.wrap(text, first=first), first, style, colour)
    if len(scenarios) > _MOST_SCENARIOS:
        lines.append(f"    and {len(scenarios) - _MOST_SCENARIOS} more: --format json lists them all")
    return lines


def _findings(findings: Sequence[Finding], style: Style) -> list[str]:
    if not findings:
        return []
    lines = style.title("Findings")
    for finding in findings:
        first = f"  {style.symbol(finding.level)} {finding.level:<8} "
        text = f"{finding.message} [{finding.rule}]"
        lines += _painted(style.wrap(text, first=first), first, style, _LEVEL_COLOURS[finding.level])
        if finding.location is not None:
            line = f":{finding.location.line}" if finding.location.line is not None else ""
            lines += style.wrap(f"at {finding.location.path}{line}", first=" " * len(first))
        if finding.fix:
            lines += style.wrap(finding.fix, first=f"{' ' * (len(first) - 2)}{style.symbol('mark'):<2}")
        lines += _evidence(finding.evidence, style, " " * len(first))
    return lines


def _remedies(remedies: Sequence[Remedy], style: Style) -> list[str]:
    if not remedies:
        return []
    lines = style.title("What helps (each was predicted again; cheapest first)")
    for number, remedy in enumerate(remedies, 1):
        _, word, _ = _OUTCOMES[remedy.verdict.outcome]
        where = _where(remedy.verdict).removesuffix(": ")
        ending = f" {style.symbol('arrow')} {word.lower()}" + (f" {where}" if where else "")
        lines += style.wrap(f"{remedy.change.text}{ending}", first=f"  {number}. ")
    return lines


def _last_lines(report: Report, style: Style) -> list[str]:
    """What the answer rests on."""
    tool = report.tool
    text = [host_line(report.host), *coverage_lines(report.image, notes=style.verbose)]
    text.append(f"{tool.name} {tool.version}, tables of {tool.data_edition}")
    lines = [line for part in text for line in style.wrap(part, rest="  ")]
    return ["", *(style.paint(line, "dim") for line in lines)]
