"""The frame of a page: one file, no scripts, nothing from outside, light and dark."""

from __future__ import annotations

from html import escape

from cudacompat.model import Location
from cudacompat.report.outcomes import spot
from cudacompat.report.style import Style

_CLEAN = Style()
_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --text: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --head: #f6f8fa; --good: #116329; --warn: #8a6100; --bad: #c1271b; --info: #0a58ca; --good-bg: #dcefe0;
  --warn-bg: #fdf3c7; --bad-bg: #f9dcd8; --info-bg: #dde8fb; }
@media (prefers-color-scheme: dark) { :root { --page: #12161b; --text: #e6edf3; --soft: #9aa7b4; --line: #333c46;
  --head: #1b2128; --good: #5fd07a; --warn: #e3b93f; --bad: #ff8e80; --info: #84b4ff; --good-bg: #14331f;
  --warn-bg: #3d3410; --bad-bg: #47201c; --info-bg: #1c3358; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; font: 15px/1.5 system-ui, sans-serif;
  background: var(--page); color: var(--text); overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; margin: 0 0 1rem; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
h3 { font-size: .95rem; margin: 1.1rem 0 .35rem; }
p { margin: .35rem 0; }
a { color: var(--info); }
section { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem 1.1rem; margin: 0 0 1.2rem; }
section section { margin: .8rem 0 0; background: var(--head); }
code { font: .92em ui-monospace, monospace; }
.badge { display: inline-block; border-radius: .35rem; padding: .1rem .5rem; font-weight: 600; margin-right: .4rem;
  overflow-wrap: normal; }
.ok { background: var(--good-bg); color: var(--good); } .limited, .warning, .unknown { background: var(--warn-bg);
  color: var(--warn); } .depends, .note { background: var(--info-bg); color: var(--info); }
.fails, .error { background: var(--bad-bg); color: var(--bad); }
.skipped { background: var(--head); color: var(--soft); }
.soft, footer { color: var(--soft); font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border: 1px solid var(--line); padding: .35rem .5rem; text-align: left; vertical-align: top; }
td { min-width: 6rem; }
thead th { background: var(--head); }
th[scope=row] { font-weight: 600; min-width: 9rem; }
section > h3:first-child { margin-top: 0; }
ol, ul { margin: .35rem 0; padding-left: 1.4rem; } li { margin: .2rem 0; }
summary { cursor: pointer; }
summary:focus-visible, a:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
details { margin-top: .8rem; }
@media (max-width: 40rem) { body { padding: .5rem; } section { padding: .6rem; } section section { padding: .5rem; }
  th, td { padding: .3rem; } td { min-width: 4.5rem; } td:last-child { min-width: 6.5rem; }
  th[scope=row] { min-width: 5rem; } table .badge { padding: .05rem .3rem; margin-right: 0; } }
"""


def page(title: str, body: str, style: str = _STYLE) -> str:
    """The whole document in ASCII: other characters stand as references, so that any encoding will do."""
    text = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{words(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def words(text: str, limit: int = 2000) -> str:
    """Text of any origin as text of a page."""
    return escape(_CLEAN.clean(text, limit))


def code(text: str) -> str:
    """A name or a value in the look of code."""
    return f"<code>{words(text, 400)}</code>"


def place(location: Location | None) -> str:
    """The file and line that a finding is about, ready to stand before its words; empty without one."""
    return f"{code(spot(location))} " if location is not None else ""


def badge(symbol: str, text: str) -> str:
    """A sign with its word: colour alone says nothing."""
    sign = f'<span aria-hidden="true">{_CLEAN.symbol(symbol)}</span>&#160;'
    return f'<span class="badge {symbol}">{sign}{words(text)}</span>'


def table(caption: str, heads: tuple[str, ...], rows: list[str], level: int = 3) -> str:
    """A table with its caption as the heading of this level above it; each row is ready."""
    columns = "".join(f'<th scope="col">{words(head)}</th>' for head in heads)
    body = "\n".join(rows)
    return (
        f"<h{level}>{words(caption)}</h{level}>\n"
        f'<div class="scroll"><table aria-label="{words(caption)}"><thead><tr>{columns}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def row(head: str, *cells: str) -> str:
    """A table's row of ready cells; the first names it."""
    return f'<tr><th scope="row">{head}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
