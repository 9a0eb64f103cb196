"""Observed values, where they stood, and how much of the image was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EvidenceKind = Literal["env", "label", "history", "package", "file", "elf", "fatbin"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observed value and the place it was read from.

    ``where`` is a variable or label name, ``history[N]``, or an absolute path inside the image;
    ``layer`` is the layer's digest as the source names it, or None for values of the config.
    """

    kind: EvidenceKind
    where: str
    value: str
    layer: str | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was read of an image: absence of evidence counts only where this says ``complete``.

    ``depth`` is "config" when only manifest and config were read (``--quick``); ``layers`` and
    ``layers_read`` are counts; ``notes`` are sentences, one for each thing left out.
    """

    depth: Literal["config", "full"]
    complete: bool
    layers_read: int
    layers: int
    notes: tuple[str, ...] = ()
