"""GitHub's workflow commands: annotations on the run, and on the lines of the files that were checked."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from cudacompat.model import Report
from cudacompat.report.interface import Other, Result, Unread
from cudacompat.report.items import Item, advised, items_of, place_of
from cudacompat.report.style import Style

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
# GitHub cuts annotations at 4096 characters, titles at 255.
_LONGEST, _LONGEST_TITLE = 3000, 200


def render(results: Sequence[Result], style: Style) -> str:
    """One command for each point that was not silenced; a target without any has its verdict as a notice."""
    lines = []
    for result in results:
        found = [_command(item, style) for item in items_of(result) if item.silenced is None]
        lines += found
        if not found and not isinstance(result, Unread):
            lines.append(_verdict(result, style))
    return "".join(f"{line}\n" for line in lines)


def _command(item: Item, style: Style) -> str:
    host = f" on {item.host}" if item.host else ""
    about = "" if item.path == item.subject else f"{item.subject}{host}: "
    text = about + advised(item.message, item.fix)
    properties = {"title": f"cudacompat {item.rule}"}
    if item.path is not None:
        properties = {"file": posixpath.normpath(item.path), "line": str(item.line or 1), **properties}
    return _line(_COMMANDS[item.level], properties, text, style)


def _verdict(result: Report | Other, style: Style) -> str:
    """A target with nothing to say against it."""
    host = f" on {where}" if (where := place_of(result) if isinstance(result, Report) else result.place) else ""
    name = result.target.reference if isinstance(result, Report) else result.reference
    properties = {"title": f"cudacompat {result.verdict.outcome}"}
    if isinstance(result, Other) and result.is_file:
        properties = {"file": posixpath.normpath(result.reference), **properties}
    return _line("notice", properties, f"{name}{host}: {result.verdict.summary}", style)


def _line(command: str, properties: dict[str, str], text: str, style: Style) -> str:
    """A command in GitHub's spelling. Line breaks are spelled out before, so nothing can start a second one."""
    given = ",".join(
        f"{name}={_property(style.clean(value, _LONGEST_TITLE if name == 'title' else _LONGEST))}"
        for name, value in properties.items()
    )
    return f"::{command} {given}::{_data(style.clean(text, _LONGEST))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
