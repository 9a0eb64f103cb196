"""Findings silenced on purpose: a comment in the file, or a list in cudacompat.toml. Both want a reason."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cudacompat.errors import UsageError
from cudacompat.model import Finding
from cudacompat.workloads.interface import Suppressed

_COMMENT = re.compile(r"#\s*cudacompat:\s*ignore\[([A-Za-z]\d{2}(?:\s*,\s*[A-Za-z]\d{2})*)\]\s*(.*)$")


@dataclass(frozen=True, slots=True)
class Ignore:
    """An entry of the ignore list: a rule, files it holds for ("*": all), and why."""

    rule: str
    reason: str
    path: str = "*"


def ignores_from_config(entries: Sequence[Mapping[str, object]]) -> tuple[Ignore, ...]:
    """Read ``[[ignore]]`` entries of cudacompat.toml: rule, reason, and path (a pattern, optional).

    Raises UsageError for an entry without rule or reason.
    """
    found = []
    for number, entry in enumerate(entries, start=1):
        rule, reason, path = entry.get("rule"), entry.get("reason"), entry.get("path", "*")
        if not isinstance(rule, str) or not isinstance(reason, str) or not reason.strip() or not isinstance(path, str):
            raise UsageError(f"cudacompat.toml: ignore entry {number} needs a rule and a reason, both as text")
        found.append(Ignore(rule.upper(), reason.strip(), path))
    return tuple(found)


def split_suppressed(
    findings: Sequence[Finding], text: str, path: str, ignores: Sequence[Ignore]
) -> tuple[tuple[Finding, ...], tuple[Suppressed, ...]]:
    """Part the findings into those that stand and those that are silenced.

    A comment holds for its own line and the next one. A comment without a reason silences nothing.
    """
    comments = _comments(text)
    kept: list[Finding] = []
    silenced: list[Suppressed] = []
    for finding in findings:
        line = finding.location.line if finding.location is not None else None
        reason = comments.get((line or 0, finding.rule))
        listed = next((i for i in ignores if i.rule == finding.rule and fnmatch.fnmatch(path, i.path)), None)
        if reason is not None:
            silenced.append(Suppressed(finding, reason, f"{path}, line {line}"))
        elif listed is not None:
            silenced.append(Suppressed(finding, listed.reason, "cudacompat.toml"))
        else:
            kept.append(finding)
    return tuple(kept), tuple(silenced)


def _comments(text: str) -> dict[tuple[int, str], str]:
    """(line, rule) to reason, for the comment's own line and, where it stands alone, the next one."""
    found: dict[tuple[int, str], str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _COMMENT.search(line)
        if match is None or not match[2].strip():
            continue
        alone = (
            line.strip().startswith("#") and line.strip().startswith(match[0][:1]) and line.lstrip().find(match[0]) == 0
        )
        for rule in re.split(r"\s*,\s*", match[1].upper()):
            found[(number, rule)] = match[2].strip()
            if alone:
                found[(number + 1, rule)] = match[2].strip()
    return found
