"""A detector declares the paths it wants and turns a file's bytes into observations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from cudacompat.model import Component, Evidence, Kernels, SharedLibrary


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the coverage: something present that could not be read."""

    text: str


@dataclass(frozen=True, slots=True)
class Value:
    """A named piece of text for the merged view (os-release, ld.so.conf), kept as read."""

    name: str
    text: str


Observation = Component | SharedLibrary | Kernels | Evidence | Note | Value


class FileDetector(Protocol):
    """Reads whole small files. ``pattern`` is a regular expression that the absolute path must fully match.

    Files longer than ``max_size`` bytes are reported as not read. ``read`` never raises: what it cannot
    parse it answers with a ``Note``.
    """

    name: str
    pattern: str
    max_size: int

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """The observations of one file."""
