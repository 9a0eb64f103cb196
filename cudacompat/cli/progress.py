"""A single line on the terminal that says what is being read. Nothing where stderr is no terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cudacompat.report import Style

_ERASE = "\r\x1b[K"


class ProgressLine:
    """Rewrites one line of stderr each time that a step begins which may take long."""

    def __init__(self, target: str) -> None:
        self._target = target

    def __call__(self, text: str) -> None:
        """Show what is being done now."""
        columns = shutil.get_terminal_size().columns
        line = Style(unicode=False).clean(f"{text} ({self._target})")[: columns - 1]
        sys.stderr.write(f"{_ERASE}{line}")
        sys.stderr.flush()


@contextmanager
def progress_line(target: str, *, wanted: bool) -> Iterator[ProgressLine | None]:
    """A progress line for one target, erased in the end; None where nobody would see it."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    line = ProgressLine(target)
    try:
        line("opening")
        yield line
    finally:
        sys.stderr.write(_ERASE)
        sys.stderr.flush()
