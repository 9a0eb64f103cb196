"""The group of commands: imports a command only when it is called, and turns every error into one line."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

from cudacompat._version import __version__
from cudacompat.cli.codes import FINE, INTERRUPTED, UNREADABLE, USAGE
from cudacompat.cli.output import complain, silence_closed_pipe
from cudacompat.errors import Error
from cudacompat.report.style import WIDTH

# Name -> the module and attribute that hold the command, in the order of the help.
COMMANDS = {
    "check": "cudacompat.cli.check:command",
    "inspect": "cudacompat.cli.inspect:command",
    "host": "cudacompat.cli.host:command",
    "devices": "cudacompat.cli.devices:command",
    "fleet": "cudacompat.cli.fleet:command",
    "matrix": "cudacompat.cli.matrix:command",
    "explain": "cudacompat.cli.explain:command",
    "data": "cudacompat.cli.data:command",
}


class Cli(click.Group):
    """A group whose commands are loaded by name, and whose ``main`` never shows a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command and exit with its code; ``standalone_mode`` is accepted for click's sake."""
        del standalone_mode

        def run() -> object:
            return super(Cli, self).main(args, prog_name, complete_var, standalone_mode=False, **extra)

        code = guarded(run)
        silence_closed_pipe()
        sys.exit(code)


def guarded(run: Callable[[], object]) -> int:
    """The exit code of a run. Every exception becomes one sentence on stderr."""
    try:
        result = run()
    except click.Abort:
        complain("interrupted")
        return INTERRUPTED
    except SystemExit:
        # Click leaves this way when the reader of a help text has closed the pipe.
        return FINE
    except click.ClickException as error:
        complain(usage_sentence(error))
        return USAGE
    except Error as error:
        complain(str(error))
        return error.exit_code
    except Exception as error:
        if os.environ.get("CUDACOMPAT_DEBUG") == "1":
            raise
        complain(unexpected(error))
        return UNREADABLE
    return result if isinstance(result, int) else FINE


def usage_sentence(error: click.ClickException) -> str:
    """Click's message in one line, with the help that answers it."""
    message = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message} See '{context.command_path} --help'." if context else message


def unexpected(error: Exception) -> str:
    """A sentence for an error that nobody foresaw."""
    words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return (
        f"an unexpected error stopped the check ({words}). This is a fault of cudacompat: please report it with "
        "the command you ran; CUDACOMPAT_DEBUG=1 shows where it happened"
    )


@click.command(
    cls=Cli,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
    epilog="Exit codes: 0 fine, 1 predicted failure, 2 wrong usage, 3 unknown, 4 target not readable.",
)
@click.version_option(__version__, prog_name="cudacompat")
def cli() -> None:
    """Will this container image run on that GPU host? Reads the image without running it.

    \b
    cudacompat check nvcr.io/nvidia/pytorch:25.01-py3 --driver 535.183.01 --gpu A100
    """
