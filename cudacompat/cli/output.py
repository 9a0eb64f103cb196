"""Where text goes: stdout or a file for the report, stderr for everything else."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TextIO

import click

from cudacompat.errors import Error
from cudacompat.report import Style


def style_for(output: str | None, *, verbose: bool = False, quiet: bool = False) -> Style:
    """Colour only on a terminal that wants it; plain ASCII where the encoding has nothing else."""
    stream = sys.stdout
    encoding = "utf-8" if output else (stream.encoding or "ascii")
    return Style(
        colour=output is None and _wants_colour(stream),
        unicode=encoding.lower().replace("_", "-") in ("utf-8", "utf8"),
        verbose=verbose,
        quiet=quiet,
    )


def _wants_colour(stream: TextIO) -> bool:
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not refused


def emit(text: str, output: str | None = None) -> None:
    """Write the report: to stdout, or to a file that is there as a whole or not at all."""
    if output is not None:
        _write(Path(output), text)
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough (head, less): the answer and its exit code stay as they are.
        _drop_stdout()
    except OSError as error:
        _drop_stdout()
        raise Error(f"the report cannot be written to stdout: {error.strerror or error}") from error


def _drop_stdout() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def silence_closed_pipe() -> None:
    """Flush what is left, so that the interpreter does not complain of a closed pipe on its way out."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()


def complain(sentence: str) -> None:
    """One line on stderr."""
    style = Style(unicode=(sys.stderr.encoding or "").lower() == "utf-8")
    line = style.clean(" ".join(sentence.split()))
    try:
        sys.stderr.write(f"cudacompat: error: {line}\n")
        sys.stderr.flush()
    except OSError:
        return


def check_output(output: str | None) -> None:
    """Refuse an output path that cannot work before any reading starts. Raises click.UsageError."""
    if output is None:
        return
    path = Path(output)
    if path.is_dir():
        raise click.UsageError(f"--output {output} is a folder: name a file.")
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"--output {output}: the folder {path.absolute().parent} does not exist.")


def _write(path: Path, text: str) -> None:
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device must stay what it is.
            path.write_text(text, encoding="utf-8")
            return
        _replace(path.resolve(), text)
    except OSError as error:
        raise click.ClickException(f"--output {path} cannot be written: {error.strerror or error}.") from error


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=".cudacompat-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(_mode(path))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """The mode of the file that is replaced, or what the umask leaves of a new one."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
