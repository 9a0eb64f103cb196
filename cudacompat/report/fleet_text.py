"""A fleet's answer for a person: how many nodes run it, which do not and why, what helps, how to place it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cudacompat.model import Target, Tool
from cudacompat.model.inventory import Nodes
from cudacompat.model.names import compact_names
from cudacompat.predict.fleet import FleetPrediction, Kind
from cudacompat.predict.fleet_changes import FleetRemedy
from cudacompat.predict.placement import Placement, Term
from cudacompat.report.host_text import host_facts_line
from cudacompat.report.style import Style

_OUTCOMES = {
    "runs": ("ok", "runs", "green"),
    "runs-limited": ("limited", "runs with limits", "yellow"),
    "depends": ("depends", "depends", "yellow"),
    "fails": ("fails", "fails", "red"),
    "unknown": ("unknown", "unknown", "yellow"),
    "no-cuda": ("skipped", "no CUDA in the image", "blue"),
}
_ORDER = tuple(_OUTCOMES)
_MOST_KINDS = 40
_NAMES = 400
_MOST_NOTES = 12


def render_fleet(target: Target, tool: Tool, nodes: Nodes, answer: FleetPrediction, style: Style) -> str:
    """The whole answer; with ``style.quiet`` its first line alone."""
    lines = _headline(target, answer, style)
    if not style.quiet:
        lines += _groups(answer.gpu_kinds, style)
        lines += _remedies(answer.remedies, style)
        lines += _placement(answer.placement, style)
        lines += _notes(nodes, answer, style)
        lines += ["", style.paint(f"{tool.name} {tool.version}, tables of {tool.data_edition}", "dim")]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _headline(target: Target, answer: FleetPrediction, style: Style) -> list[str]:
    kinds = answer.gpu_kinds
    total, good = _count(kinds), _count(kind for kind in kinds if kind.runs)
    symbol, colour = _sign(kinds, total, good)
    what = "GPU node" if any(kind.has_gpus for kind in kinds) else "node"
    words = f"{good} OF {total} {what.upper()}{'' if total == 1 else 'S'} RUN{'S' if 1 in (good, total) else ''} IT"
    sign = f"{style.symbol(symbol)} {words}{_others(kinds)}"
    lines = style.wrap(f"{target.reference} ({target.platform})", first=f"{sign}  ", rest="  ")
    return [style.paint(sign, colour, "bold") + lines[0][len(sign) :], *lines[1:]]


def _sign(kinds: Sequence[Kind], total: int, good: int) -> tuple[str, str]:
    if good == total:
        return "ok", "green"
    if good:
        return "limited", "yellow"
    return ("fails", "red") if any(kind.verdict.outcome == "fails" for kind in kinds) else ("depends", "yellow")


def _others(kinds: Sequence[Kind]) -> str:
    """ " (2 fail, 3 unknown)": what the machines on which it does not surely run do instead."""
    words = {"fails": ("fails", "fail"), "depends": ("depends", "depend"), "unknown": ("unknown", "unknown")}
    counts = {name: _count(kind for kind in kinds if kind.verdict.outcome == name) for name in words}
    parts = [f"{count} {words[name][count != 1]}" for name, count in counts.items() if count]
    return f" ({', '.join(parts)})" if parts else ""


def _count(kinds: Iterable[Kind]) -> int:
    return sum(len(kind.nodes) for kind in kinds)


def _groups(kinds: Sequence[Kind], style: Style) -> list[str]:
    """Kinds with one outcome and one error together, from good to bad; under each its kinds of machines."""
    grouped: dict[tuple[int, str, str], list[Kind]] = {}
    for kind in kinds:
        verdict = kind.verdict
        code = f", error {verdict.error.code}" if verdict.error and verdict.error.code is not None else ""
        where = f" at {verdict.stage}{code}" if verdict.stage else ""
        grouped.setdefault((_ORDER.index(verdict.outcome), verdict.outcome, where), []).append(kind)
    lines: list[str] = []
    for (_, outcome, where), members in sorted(grouped.items(), key=lambda item: item[0]):
        symbol, word, colour = _OUTCOMES[outcome]
        total = _count(members)
        head = f"{style.symbol(symbol)} {word}{where}: {total} node{'' if total == 1 else 's'}"
        lines += ["", style.paint(head, colour, "bold")]
        for kind in members[:_MOST_KINDS]:
            lines += _kind(kind, style)
        if len(members) > _MOST_KINDS:
            lines.append(f"  and {len(members) - _MOST_KINDS} more kinds of nodes; --format json has all")
    return lines


def _kind(kind: Kind, style: Style) -> list[str]:
    lines = style.wrap(_names(node.name for node in kind.nodes), first="  ", rest="  ")
    lines += style.wrap(host_facts_line(kind.host), first="    ")
    return lines + style.wrap(kind.verdict.summary, first="    ")


def _names(names: Iterable[str]) -> str:
    text = compact_names(names)
    return text if len(text) <= _NAMES else f"{text[:_NAMES].rpartition(',')[0]},..."


def _remedies(remedies: Sequence[FleetRemedy], style: Style) -> list[str]:
    if not remedies:
        return []
    lines = style.title("What helps (each was predicted again on all nodes; cheapest first)")
    for number, remedy in enumerate(remedies, 1):
        where = f" on {remedy.hosts} node{'' if remedy.hosts == 1 else 's'}" if remedy.hosts else ""
        effect = f"{style.symbol('arrow')} runs on {remedy.runs_on} of {remedy.machines}"
        lines += style.wrap(f"{remedy.change.text}{where} {effect}", first=f"  {number}. ")
    return lines


def _placement(placement: Placement | None, style: Style) -> list[str]:
    if placement is None:
        return []
    fits = f"all {placement.good}" if placement.chosen == placement.good else f"{placement.chosen} of {placement.good}"
    lines = style.title(f"Keep it on nodes where it runs ({fits} of them)")
    if placement.terms:
        return lines + [f"  {line}" for line in _affinity(placement.terms, style)]
    if placement.constraint:
        return lines + style.wrap(f'#SBATCH --constraint="{placement.constraint}"', first="  ")
    if placement.gpu_type:
        return lines + style.wrap(f"#SBATCH --gres=gpu:{placement.gpu_type}:N", first="  ")
    return lines + style.wrap(f"#SBATCH --exclude={compact_names(placement.exclude)}", first="  ")


def _affinity(terms: Sequence[Term], style: Style) -> list[str]:
    """The pod's spec as YAML, ready to be copied."""
    if len(terms) == 1 and all(len(values) == 1 for _, values in terms[0].values):
        return ["nodeSelector:", *(f"  {key}: {_quoted(values[0], style)}" for key, values in terms[0].values)]
    lines = [
        "affinity:",
        "  nodeAffinity:",
        "    requiredDuringSchedulingIgnoredDuringExecution:",
        "      nodeSelectorTerms:",
    ]
    for term in terms:
        lead = "      - matchExpressions:"
        lines.append(lead)
        for key, values in term.values:
            lines += [f"        - key: {style.clean(key)}", "          operator: In"]
            lines += ["          values:", *(f"          - {_quoted(value, style)}" for value in values)]
    return lines


def _quoted(value: str, style: Style) -> str:
    """A label's value is a string for Kubernetes even where YAML would read a number."""
    return '"' + style.clean(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _notes(nodes: Nodes, answer: FleetPrediction, style: Style) -> list[str]:
    notes = list(nodes.notes[:_MOST_NOTES])
    if len(nodes.notes) > _MOST_NOTES:
        notes.append(f"and {len(nodes.notes) - _MOST_NOTES} more; --format json has all")
    plain = [node.name for kind in answer.kinds if kind not in answer.gpu_kinds for node in kind.nodes]
    if plain:
        notes.append(f"{_names(plain)}: no GPU there")
    away = [node.name for node in nodes.nodes if not node.schedulable]
    if away:
        notes.append(f"{_names(away)}: takes no jobs now (down, drained, cordoned or not ready)")
    if not notes:
        return []
    lines = style.title("Notes")
    for note in notes:
        lines += style.wrap(note, first=f"  {style.symbol('note')} ")
    return lines
