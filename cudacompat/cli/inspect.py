"""``cudacompat inspect``: what CUDA is in an image."""

from __future__ import annotations

import click

from cudacompat import api
from cudacompat.cli.options import OUTPUT_OPTIONS, PROGRESS_OPTIONS, Command, ImageOptions, image_options
from cudacompat.cli.output import check_output, emit, style_for
from cudacompat.model import ImageFacts
from cudacompat.report import Style


@click.command(
    cls=Command,
    short_help="What CUDA is in an image, with evidence.",
    epilog="Exit codes: 0 read, 2 wrong usage, 4 the image could not be read.",
)
@click.argument("target", metavar="TARGET")
@image_options
@OUTPUT_OPTIONS
@PROGRESS_OPTIONS
def command(
    *,
    target: str,
    images: ImageOptions,
    format_: str,
    output: str | None,
    verbose: bool,
    quiet: bool,
    no_progress: bool,
) -> int:
    """Show what CUDA is in an image and where it was found; no host is needed.

    \b
    cudacompat inspect nvcr.io/nvidia/pytorch:25.01-py3
    cudacompat inspect app.tar --format json
    """
    check_output(output)
    image = images.inspect(target, progress=not (quiet or no_progress))
    emit(_rendered(image, format_, style_for(output, verbose=verbose, quiet=quiet)), output)
    return 0


def _rendered(image: ImageFacts, format_: str, style: Style) -> str:
    if format_ == "json":
        from cudacompat.report.document import inspect_document
        from cudacompat.report.json import text

        return text(inspect_document(image, api.tool()))
    from cudacompat.report.image_text import render_image

    return render_image(image, api.tool(), style)
