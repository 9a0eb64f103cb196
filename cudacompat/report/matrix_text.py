"""The matrix as a picture for a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Sequence

from cudacompat.model import Gpu, Target, Tool, Verdict
from cudacompat.predict.matrix import Row
from cudacompat.report.matrix_cells import OUTCOMES, STAGE_WORDS, short
from cudacompat.report.style import Style

_CELL = 5
_COLOURS = {"runs": "green", "runs-limited": "yellow", "depends": "blue", "fails": "red"}


def render_matrix(target: Target, tool: Tool, rows: Sequence[Row], style: Style) -> str:
    """A line for each driver, a column for each board; wide pictures continue in a second block."""
    lines = style.wrap(f"{target.reference} ({target.platform})")
    gpus = [cell.gpu for cell in rows[0].cells] if rows else []
    per_block = max(1, (style.width - 20) // _CELL)
    for start in range(0, len(gpus), per_block):
        lines += ["", *_block(rows, gpus, start, min(start + per_block, len(gpus)), style)]
    lines += _legend(gpus, rows, style)
    lines += ["", style.paint(f"{tool.name} {tool.version}, tables of {tool.data_edition}", "dim")]
    return "\n".join(lines) + "\n"


def _block(rows: Sequence[Row], gpus: Sequence[Gpu], start: int, end: int, style: Style) -> list[str]:
    head = f"{'driver':<13}{'CUDA':<6} " + "".join(f"{_key(index):<{_CELL}}" for index in range(start, end))
    capabilities = f"{'':<20}" + "".join(f"{gpu.compute_capability or '?':<{_CELL}}" for gpu in gpus[start:end])
    lines = [style.paint(head.rstrip(), "bold"), capabilities.rstrip()]
    for row in rows:
        cells = "".join(_cell(cell.verdict, style) for cell in row.cells[start:end])
        lines.append(f"{style.clean(row.driver)[:12]:<13}{row.driver_cuda or '?':<6} {cells}".rstrip())
    return lines


def _key(index: int) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return letters[index] if index < len(letters) else letters[index // 26 - 1] + letters[index % 26]


def _cell(verdict: Verdict, style: Style) -> str:
    sign = style.symbol(OUTCOMES[verdict.outcome][0])
    text = f"{sign}{short(verdict)}"[:_CELL]
    colour = _COLOURS.get(verdict.outcome)
    return (style.paint(text, colour) if colour else text) + " " * (_CELL - len(text))


def _legend(gpus: Sequence[Gpu], rows: Sequence[Row], style: Style) -> list[str]:
    seen = {cell.verdict.outcome for row in rows for cell in row.cells}
    signs = ", ".join(f"{style.symbol(sign)} {words}" for outcome, (sign, words) in OUTCOMES.items() if outcome in seen)
    boards = ", ".join(f"{_key(index)} {gpu.name}" for index, gpu in enumerate(gpus))
    lines = ["", *style.wrap(boards, first="boards   "), *style.wrap(signs, first="signs    ")]
    told = {short(cell.verdict) for row in rows for cell in row.cells} - {""}
    codes = sorted((code for code in told if code.isdigit()), key=int)
    words = [f"{word} {STAGE_WORDS.get(word, word)}" for word in sorted(told) if not word.isdigit()]
    words += [f"{', '.join(codes)}: see cudacompat explain CODE"] if codes else []
    if words:
        lines += style.wrap("; ".join(words), first="codes    ")
    return lines
