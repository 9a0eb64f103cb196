"""``cudacompat inspect``: what CUDA is in an image."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cudacompat import api
from cudacompat.cli.options import IMAGE_OPTIONS, OUTPUT_OPTIONS, PROGRESS_OPTIONS, Command, mirror_map
from cudacompat.cli.output import check_output, emit, style_for
from cudacompat.cli.progress import progress_line
from cudacompat.model import ImageFacts
from cudacompat.report import Style


@click.command(
    cls=Command,
    short_help="What CUDA is in an image, with evidence.",
    epilog="Exit codes: 0 read, 2 wrong usage, 4 the image could not be read.",
)
@click.argument("target", metavar="TARGET")
@IMAGE_OPTIONS
@OUTPUT_OPTIONS
@PROGRESS_OPTIONS
def command(
    *,
    target: str,
    platform: str | None,
    quick: bool,
    insecure: Sequence[str],
    mirrors: Sequence[str],
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
    with progress_line(target, wanted=not (quiet or no_progress)) as progress:
        image = api.inspect(
            target,
            platform=platform,
            quick=quick,
            insecure_hosts=insecure,
            mirrors=mirror_map(mirrors),
            progress=progress,
        )
    emit(_rendered(image, format_, style_for(output, verbose=verbose, quiet=quiet)), output)
    return 0


def _rendered(image: ImageFacts, format_: str, style: Style) -> str:
    if format_ == "json":
        from cudacompat.report.document import inspect_document
        from cudacompat.report.json import text

        return text(inspect_document(image, api.tool()))
    from cudacompat.report.image_text import render_image

    return render_image(image, api.tool(), style)
