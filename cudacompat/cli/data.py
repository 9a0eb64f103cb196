"""``cudacompat data``: the tables behind every prediction: shown, checked, renewed from a file, written out."""

from __future__ import annotations

from pathlib import Path

import click

from cudacompat.cli.options import OUTPUT_OPTIONS, option
from cudacompat.cli.output import check_output, emit, style_for
from cudacompat.errors import DataError
from cudacompat.report.style import WIDTH

_SETTINGS = {"max_content_width": WIDTH}


@click.group(
    context_settings=_SETTINGS,
    epilog="Exit codes: 0 fine, 2 wrong usage, 4 a table or file is broken. "
    "Imported tables are kept in the user's data folder, or in CUDACOMPAT_DATA_DIR.",
)
def command() -> None:
    """Show, check and renew the bundled driver, GPU and framework tables.

    \b
    cudacompat data show
    cudacompat data show driver_branches
    cudacompat data verify
    cudacompat data import tables-2027-03.json
    """


@command.command("show", context_settings=_SETTINGS)
@click.argument("table", required=False)
@option("--verbose", "-v", is_flag=True, help="Notes, contradictions and sources below every row.")
@OUTPUT_OPTIONS
def show(table: str | None, verbose: bool, format_: str, output: str | None) -> int:
    """Show one table, or which tables there are and of which edition.

    \b
    cudacompat data show cuda_releases
    cudacompat data show forward_compat --format json
    """
    from cudacompat.cli import data_text
    from cudacompat.report.json import text
    from cudacompat.tables.store import NAMES, document

    check_output(output)
    if table is not None and table not in NAMES:
        raise click.UsageError(f"there is no table {table[:40]!r}; there are {', '.join(NAMES)}.")
    style = style_for(output, verbose=verbose)
    if format_ == "json":
        emit(text(document(table) if table else data_text.list_document()), output)
    else:
        emit(data_text.table_text(table, style) if table else data_text.list_text(style), output)
    return 0


@command.command("verify", context_settings=_SETTINGS)
@option("--verbose", "-v", is_flag=True, help="List the rows with one source, and what sources contradict.")
@OUTPUT_OPTIONS
def verify(verbose: bool, format_: str, output: str | None) -> int:
    """Check the tables: each against its schema, all against each other.

    Says which rows rest on one source and where sources contradict each other.

    \b
    cudacompat data verify
    cudacompat data verify --verbose
    """
    from cudacompat.cli import data_text
    from cudacompat.report.json import text
    from cudacompat.tables.verify import verify as check

    check_output(output)
    found = check()
    if format_ == "json":
        emit(text(data_text.verify_document(found)), output)
    else:
        emit(data_text.verify_text(found, style_for(output, verbose=verbose)), output)
    return DataError.exit_code if found.problems else 0


@command.command("import", context_settings=_SETTINGS)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@option("--bundled", is_flag=True, help="Go back to the tables that came with this version.")
def import_(file: Path | None, bundled: bool) -> int:
    """Use a newer edition from a FILE, after checking it.

    FILE is an edition (written by 'data export'), one table, or NVIDIA's releases.json. A file with any fault
    changes nothing.

    \b
    cudacompat data import tables-2027-03.json
    cudacompat data import releases.json
    cudacompat data import --bundled            undoes all imports
    """
    from cudacompat.cli import data_text
    from cudacompat.tables import editions

    if bundled == (file is not None):
        raise click.UsageError("give either a FILE or --bundled.")
    if file is None:
        emit(data_text.went_back(editions.go_back()))
    else:
        emit(data_text.imported_text(editions.import_file(file), style_for(None)))
    return 0


@command.command("export", context_settings=_SETTINGS)
@option("--output", "-o", metavar="FILE", help="Write the edition there instead of to stdout.")
def export(output: str | None) -> int:
    """Write the tables in use as one edition, which 'data import' reads.

    \b
    cudacompat data export --output tables.json
    """
    from cudacompat.report.json import text
    from cudacompat.tables import editions

    check_output(output)
    emit(text(editions.export()), output)
    return 0
