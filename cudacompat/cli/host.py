"""``cudacompat host``: the facts of this machine, or of the one that options or a file describe."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cudacompat import api
from cudacompat.cli.options import HOST_OPTIONS, OUTPUT_OPTIONS, Command
from cudacompat.cli.output import check_output, emit, style_for


@click.command(cls=Command, epilog="Exit codes: 0 known, 2 wrong usage, 4 no driver found or file not readable.")
@HOST_OPTIONS
@OUTPUT_OPTIONS
def command(
    *,
    driver: str | None,
    gpus: Sequence[str],
    compute_capability: str | None,
    host: str | None,
    driver_cuda: str | None,
    host_os: str | None,
    injection: str | None,
    toolkit: str | None,
    docker: str | None,
    format_: str,
    output: str | None,
) -> int:
    """Show this machine's driver and GPUs; --host reads the JSON form back.

    \b
    cudacompat host
    cudacompat host --format json --output node7.json
    """
    check_output(output)
    facts = api.host_facts(
        driver=driver,
        gpus=gpus,
        compute_capability=compute_capability,
        host=host,
        injection=injection,
        toolkit=toolkit,
        docker=docker,
        driver_cuda=driver_cuda,
        os=host_os,
    )
    if format_ == "json":
        from cudacompat.report.document import HOST_SCHEMA, host_document
        from cudacompat.report.json import text

        emit(text({"schema": HOST_SCHEMA, **host_document(facts)}), output)
    else:
        from cudacompat.report.host_text import render_host

        emit(render_host(facts, style_for(output)), output)
    return 0
