"""The command line. Each command is one file here and one line in ``app.COMMANDS``."""

from __future__ import annotations


def main() -> None:
    """Entry point of the console script and of ``python -m cudacompat``."""
    from cudacompat.cli.app import cli

    cli.main(prog_name="cudacompat")
