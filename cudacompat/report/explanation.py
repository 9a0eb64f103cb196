"""What a finding or an error code means: the catalogue of rules and the table of CUDA errors, in words and as data."""

from __future__ import annotations

import difflib

from cudacompat import tables
from cudacompat.errors import UsageError
from cudacompat.predict.rules import RULES, Rule
from cudacompat.report.document import Document
from cudacompat.report.style import Style
from cudacompat.report.verdict_rules import VERDICT_RULES
from cudacompat.tables import ErrorEntry

SCHEMA = "cudacompat/explain/v1"
Subject = Rule | ErrorEntry


def find(text: str) -> Subject:
    """The rule or CUDA error of this name or number. Raises UsageError with the nearest names."""
    wanted = text.strip()
    name = wanted.lower().replace("_", "-")
    rule = RULES.get(name) or VERDICT_RULES.get(name)
    if rule is not None:
        return rule
    entry = tables.error(wanted)
    if entry is None:
        raise UsageError(_unknown(wanted))
    return entry


def _unknown(text: str) -> str:
    names = {name.lower(): name for name in (*RULES, *VERDICT_RULES, *_error_names())}
    near = difflib.get_close_matches(text.lower(), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(names[item] for item in near)}?" if near else "explain without one lists all."
    return f"{text[:60]!r} is no finding and no CUDA error: {hint}"


def _error_names() -> list[str]:
    return [name for entry in tables.errors() for name in (entry.driver_name, entry.runtime_name) if name]


def explain_text(subject: Subject, style: Style) -> str:
    """One explanation for a person."""
    lines = _rule(subject, style) if isinstance(subject, Rule) else _error(subject, style)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _heading(name: str, text: str, style: Style) -> list[str]:
    lines = style.wrap(text, first=f"{name}: ", rest="  ")
    return [style.paint(name, "bold") + lines[0][len(name) :], *lines[1:]]


def _section(title: str, text: str, style: Style) -> list[str]:
    return [*style.title(title), *style.wrap(text, first="  ")] if text else []


def _rule(rule: Rule, style: Style) -> list[str]:
    lines = _heading(rule.name, rule.title, style)
    if rule.stage:
        lines += [f"  launch stage: {rule.stage}"]
    if rule.codes:
        lines += style.wrap(f"ends in: {', '.join(_named(code) for code in rule.codes)}", first="  ")
    lines += _section("Cause", rule.cause, style)
    lines += _section("How to confirm it", rule.confirm, style)
    return lines + _section("What to do", rule.fix, style)


def _named(code: int) -> str:
    entry = tables.error(code)
    name = (entry.runtime_name or entry.driver_name) if entry else None
    return f"{code} {name}" if name else str(code)


def _error(entry: ErrorEntry, style: Style) -> list[str]:
    names = " / ".join(name for name in (entry.driver_name, entry.runtime_name) if name)
    lines = _heading(f"{entry.code} {names}", entry.message, style)
    lines += _section("Meaning", entry.meaning, style)
    lines += _section("Causes", entry.causes, style)
    lines += _section("What to do", entry.advice, style)
    lines += _section("Findings that predict it", ", ".join(rule.name for rule in _rules_of(entry)), style)
    return lines + _section("Source", entry.source, style)


def _rules_of(entry: ErrorEntry) -> list[Rule]:
    return [rule for rule in RULES.values() if entry.code in rule.codes]


def list_text(style: Style) -> str:
    """Every finding and every error, one a line."""
    lines = [style.paint("Findings", "bold")]
    for rule in RULES.values():
        lines += style.wrap(rule.title, first=f"  {rule.name:<29} ")
    lines += ["", style.paint("CUDA errors", "bold")]
    for entry in tables.errors():
        name = entry.driver_name or entry.runtime_name or ""
        lines += style.wrap(entry.message, first=f"  {entry.code:>4} {name} ", rest=" " * 7)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def explain_document(subject: Subject) -> Document:
    """One explanation as plain data, schema id ``cudacompat/explain/v1``."""
    key = "rule" if isinstance(subject, Rule) else "error"
    return {"schema": SCHEMA, key: _document(subject)}


def list_document() -> Document:
    """All of them as plain data."""
    return {
        "schema": SCHEMA,
        "rules": [_document(rule) for rule in RULES.values()],
        "errors": [_document(entry) for entry in tables.errors()],
    }


def _document(subject: Subject) -> Document:
    if isinstance(subject, Rule):
        return {
            "rule": subject.name,
            "stage": subject.stage,
            "title": subject.title,
            "cause": subject.cause,
            "confirm": subject.confirm,
            "fix": subject.fix,
            "codes": list(subject.codes),
        }
    return {
        "code": subject.code,
        "driver_name": subject.driver_name,
        "runtime_name": subject.runtime_name,
        "message": subject.message,
        "meaning": subject.meaning,
        "causes": subject.causes,
        "advice": subject.advice,
        "rules": [rule.name for rule in _rules_of(subject)],
        "source": subject.source,
    }
