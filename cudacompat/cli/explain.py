"""``cudacompat explain``: what a finding or an error code means."""

from __future__ import annotations

import re

import click

from cudacompat.cli.options import OUTPUT_OPTIONS, Command
from cudacompat.cli.output import check_output, emit, style_for
from cudacompat.predict.rules import Rule


@click.command(
    cls=Command,
    short_help="What a finding or an error code means.",
    epilog="Exit codes: 0 explained, 2 no such finding or error.",
)
@click.argument("subject", metavar="[RULE|CODE]", required=False)
@OUTPUT_OPTIONS
def command(subject: str | None, format_: str, output: str | None) -> int:
    """Explain a finding or a CUDA error: cause, how to confirm it, what to do.

    \b
    cudacompat explain 804
    cudacompat explain CUDA_ERROR_NO_BINARY_FOR_GPU
    cudacompat explain requirement-refused
    cudacompat explain S04                      a rule on workloads
    cudacompat explain                          lists them all
    """
    from cudacompat.report import explanation
    from cudacompat.report.json import text

    check_output(output)
    style = style_for(output)
    if subject is None:
        listed = explanation.list_document
        emit(text(listed()) if format_ == "json" else explanation.list_text(style), output)
        return 0
    found = _workload_rule(subject) or explanation.find(subject)
    if format_ == "json":
        emit(text(explanation.explain_document(found)), output)
    else:
        emit(explanation.explain_text(found, style), output)
    return 0


def _workload_rule(subject: str) -> Rule | None:
    """A rule on workloads by its id, such as S04."""
    if not re.fullmatch(r"[A-Za-z]\d{2}", subject):
        return None
    from cudacompat.cli.workload_rules import workload_rule

    return workload_rule(subject)
