"""The matrix as one HTML page: no outside files, no scripts, a sign and words beside every colour."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cudacompat.model import Target, Tool
from cudacompat.predict.matrix import Cell, Row
from cudacompat.report.html_page import page
from cudacompat.report.matrix_cells import OUTCOMES, short
from cudacompat.report.style import Style

_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --text: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --head: #f6f8fa; --runs: #dcefe0; --limited: #fdf3c7; --depends: #dde8fb; --fails: #f9dcd8; --unknown: #eceff2; }
@media (prefers-color-scheme: dark) { :root { --page: #12161b; --text: #e6edf3; --soft: #9aa7b4; --line: #333c46;
  --head: #1b2128; --runs: #173a22; --limited: #4a3d0d; --depends: #1c3358; --fails: #52211c; --unknown: #262d35; } }
body { margin: 1.5rem; font: 15px/1.45 system-ui, sans-serif; background: var(--page); color: var(--text); }
h1 { font-size: 1.25rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
p, footer { margin: .25rem 0 1rem; color: var(--soft); max-width: 60rem; }
.scroll { overflow-x: auto; position: relative; }
table { border-collapse: collapse; }
caption { text-align: left; padding: .25rem 0 .5rem; color: var(--soft); }
th, td { border: 1px solid var(--line); padding: .3rem .45rem; text-align: left; vertical-align: top; }
thead th, tbody th { background: var(--head); font-weight: 600; white-space: nowrap; }
thead th span { display: block; font-weight: 400; color: var(--soft); }
tbody th { position: sticky; left: 0; }
td { min-width: 3.6rem; }
td.runs { background: var(--runs); } td.runs-limited { background: var(--limited); }
td.depends { background: var(--depends); } td.fails { background: var(--fails); }
td.unknown, td.no-cuda { background: var(--unknown); }
summary { cursor: pointer; white-space: nowrap; }
summary:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
details div { width: 15rem; white-space: normal; font-size: .87rem; padding-top: .25rem; overflow-wrap: anywhere; }
.sign { font-weight: 700; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
ul { padding-left: 1.1rem; } li { margin: .15rem 0; }
"""
_CLEAN = Style()


def render_page(target: Target, tool: Tool, rows: Sequence[Row]) -> str:
    """The whole page. Every text of the image is escaped and cleaned of control characters."""
    name = _text(target.reference)
    head = "".join(_column(cell) for cell in rows[0].cells) if rows else ""
    body = "\n".join(_row(row) for row in rows)
    legend = "".join(
        f'<li><span class="sign">{_CLEAN.symbol(sign)}</span> {words}</li>' for sign, words in OUTCOMES.values()
    )
    return page(
        f"cudacompat: {target.reference}",
        f"""<main>
<h1>{name}</h1>
<p>{_text(target.platform or "")}. Each cell is a prediction for one driver and one board; open it for the reason.</p>
<div class="scroll">
<table>
<caption>Driver versions down, boards across.</caption>
<thead><tr><th scope="col">Driver</th><th scope="col">CUDA</th>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table>
</div>
<h2>Signs</h2>
<ul>{legend}</ul>
</main>
<footer>{_text(tool.name)} {_text(tool.version)}, tables of {_text(tool.data_edition)}.</footer>""",
        _STYLE,
    )


def _text(value: str) -> str:
    return escape(_CLEAN.clean(value))


def _column(cell: Cell) -> str:
    gpu = cell.gpu
    return f'<th scope="col">{_text(gpu.name or "GPU")}<span>{_text(gpu.compute_capability or "?")}</span></th>'


def _row(row: Row) -> str:
    cells = "".join(_cell(cell) for cell in row.cells)
    return f'<tr><th scope="row">{_text(row.driver)}</th><td>{_text(row.driver_cuda or "?")}</td>{cells}</tr>'


def _cell(cell: Cell) -> str:
    verdict = cell.verdict
    sign, words = OUTCOMES[verdict.outcome]
    said = words if verdict.outcome != "fails" else f"fails at {verdict.stage}"
    code = f" {_text(short(verdict))}" if short(verdict) else ""
    return (
        f'<td class="{verdict.outcome}"><details><summary><span class="sign" aria-hidden="true">'
        f'{_CLEAN.symbol(sign)}</span><span class="hidden">{_text(said)}</span>{code}</summary>'
        f"<div>{_text(verdict.summary)}</div></details></td>"
    )
