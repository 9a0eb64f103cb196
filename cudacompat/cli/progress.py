"""A single line on the terminal that says what is being read. Nothing where stderr is no terminal."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cudacompat.report import Style

_EVERY_SECONDS = 0.1
_ERASE = "\r\x1b[K"


class ProgressLine:
    """Rewrites one line of stderr, at most ten times a second."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._next = 0.0

    def __call__(self, text: str) -> None:
        """Show what is being done now."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        columns = shutil.get_terminal_size().columns
        line = Style(unicode=False).clean(f"{self._target}: {text}")[: columns - 1]
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
