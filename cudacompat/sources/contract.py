"""What every source is given and how it says that another source may know better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cudacompat.errors import TargetError
from cudacompat.sources.trust import Trust

# Called with a short phrase ("layer 2 of 5, 87 MB") before each step that may take long.
Progress = Callable[[str], None]

_NO_MIRRORS: Mapping[str, str] = MappingProxyType({})


class UnavailableError(TargetError):
    """This source does not have the image, or does not answer: another source may have it."""


class NoEngineError(UnavailableError):
    """There is no such engine on this machine."""


class NoImageError(UnavailableError):
    """The source was asked and has no such image."""


def _silent(_phrase: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class Options:
    """How an image is to be opened.

    ``platform`` is os/architecture[/variant] or None; ``mirrors`` map a registry's host to a host (with an
    optional scheme and path) that is asked first.
    """

    platform: str | None = None
    trust: Trust = field(default_factory=Trust)
    mirrors: Mapping[str, str] = field(default_factory=lambda: _NO_MIRRORS)
    progress: Progress = _silent
