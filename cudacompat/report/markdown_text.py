"""Text of any origin as Markdown that shows it and does nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

from cudacompat.report.style import Style

# What begins or ends a span, a link, HTML, a table cell, a formula, an emoji or a bare address.
_PUNCTUATION = re.compile(r"[\\`*_{}\[\]<>|~$#&]|:(?=//|[\w+-]+:)")
# What starts a block when it stands first: a quote, a list, a heading's underline.
_BLOCK = re.compile(r"^([-+=]|\d+(?=[.)]))")
# GitHub and GitLab turn these into links, and tell whoever is meant, wherever they stand in a text.
_NAMED = re.compile(r"(?:@|GH-(?=\d)|[#!$&](?=\d)|[%~](?=[\w\"]))", re.IGNORECASE)
_BREAK = "\u200b"


def markdown(text: str, style: Style, limit: int = 2000) -> str:
    """Text inside a paragraph, a list item or a table cell: nothing in it is markup, a link or a mention."""
    clean = replace(style, colour=False).clean(text, limit)
    named = _NAMED.sub(lambda match: match[0] + _BREAK, clean)
    escaped = _PUNCTUATION.sub(_entity_or_escape, named)
    escaped = re.sub(r"(?i)\bwww\.", lambda match: match[0][:-1] + "&#46;", escaped)
    escaped = _BLOCK.sub(_leading, escaped)
    return escaped.replace(_BREAK, "&#8203;").strip() or "&nbsp;"


def _entity_or_escape(match: re.Match[str]) -> str:
    entities = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&#124;"}
    return entities.get(match[0], "\\" + match[0])


def _leading(match: re.Match[str]) -> str:
    return f"\\{match[0]}" if match[0] in "-+=" else f"{match[0]}&#8203;"


def code(text: str, style: Style, limit: int = 400) -> str:
    """A name or a value in the look of code."""
    return f"<code>{markdown(text, style, limit)}</code>"
