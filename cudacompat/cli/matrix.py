"""``cudacompat matrix``: one image over driver branches and boards."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cudacompat import api
from cudacompat.cli.options import LISTED, Command, ImageOptions, image_options, option
from cudacompat.cli.output import check_output, emit, style_for
from cudacompat.host import HostOptions, with_options
from cudacompat.model import Target
from cudacompat.model.host import INJECTIONS
from cudacompat.predict.matrix import Row, known_drivers, known_gpus, matrix
from cudacompat.report import Style


@click.command(
    cls=Command,
    short_help="One image over all drivers and boards.",
    epilog="Exit codes: 0 drawn, 2 wrong usage, 4 the image could not be read.",
)
@click.argument("target", metavar="TARGET")
@option("--driver", "drivers", multiple=True, type=LISTED, metavar="VERSION", help="A row; default all branches.")
@option("--gpu", "gpus", multiple=True, type=LISTED, metavar="NAME", help="A column; default well-known boards.")
@option("--injection", type=click.Choice(INJECTIONS), help="How GPUs get into containers on these hosts.")
@option("--toolkit-version", "toolkit", metavar="VERSION", help="The NVIDIA container toolkit's version.")
@option("--docker-version", "docker", metavar="VERSION", help="The Docker engine's version.")
@image_options
@option(
    "--format",
    "format_",
    type=click.Choice(("text", "json", "html")),
    default="text",
    show_default=True,
    help="A picture for the terminal, data, or one self-contained page.",
)
@option("--output", "-o", metavar="FILE", help="Write it there instead of to stdout.")
@option("--no-progress", is_flag=True, help="No progress line on the terminal.")
def command(
    *,
    target: str,
    drivers: Sequence[str],
    gpus: Sequence[str],
    injection: str | None,
    toolkit: str | None,
    docker: str | None,
    images: ImageOptions,
    format_: str,
    output: str | None,
    no_progress: bool,
) -> int:
    """Draw where an image runs: driver branches down, boards across.

    \b
    cudacompat matrix app.tar
    cudacompat matrix app.tar --driver 535 --driver 550 --gpu A100 --gpu "RTX 4090"
    cudacompat matrix app.tar --format html --output matrix.html
    """
    check_output(output)
    base = with_options(HostOptions(injection=injection, toolkit=toolkit, docker=docker))
    rows = [with_options(HostOptions(driver=driver)).driver or driver for driver in drivers]
    columns = [gpu for name in gpus for gpu in with_options(HostOptions(gpus=(name,))).gpus or ()]
    image = images.inspect(target, progress=not no_progress)
    drawn = matrix(image, base, rows or known_drivers(), columns or known_gpus())
    emit(_drawn(image.target, drawn, format_, style_for(output)), output)
    return 0


def _drawn(target: Target, rows: Sequence[Row], format_: str, style: Style) -> str:
    tool = api.tool()
    if format_ == "json":
        from cudacompat.report.json import text
        from cudacompat.report.matrix_document import matrix_document

        return text(matrix_document(target, tool, rows))
    if format_ == "html":
        from cudacompat.report.matrix_html import render_page

        return render_page(target, tool, rows)
    from cudacompat.report.matrix_text import render_matrix

    return render_matrix(target, tool, rows, style)
