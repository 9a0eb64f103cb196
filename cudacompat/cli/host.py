"""``cudacompat host``: the facts of this machine, or of the one that options or a file describe."""

from __future__ import annotations

import click

from cudacompat import api
from cudacompat.cli.options import OUTPUT_OPTIONS, Command, host_options
from cudacompat.cli.output import check_output, emit, style_for
from cudacompat.host import HostOptions


@click.command(
    cls=Command,
    short_help="This machine's driver and GPUs.",
    epilog="Exit codes: 0 known, 2 wrong usage, 4 no driver found, or file or machine not readable.",
)
@host_options
@OUTPUT_OPTIONS
def command(
    *,
    options: HostOptions,
    host: str | None,
    format_: str,
    output: str | None,
) -> int:
    """Show this machine's driver and GPUs, and how containers get them.

    --host reads the JSON form back.

    \b
    cudacompat host
    cudacompat host --format json --output node7.json
    cudacompat host --host ssh://user@node7
    """
    check_output(output)
    facts = api.learned_host(host, options)
    if format_ == "json":
        from cudacompat.report.document import HOST_SCHEMA, host_document
        from cudacompat.report.json import text

        emit(text({"schema": HOST_SCHEMA, **host_document(facts)}), output)
    else:
        from cudacompat.report.host_text import render_host

        emit(render_host(facts, style_for(output)), output)
    return 0
