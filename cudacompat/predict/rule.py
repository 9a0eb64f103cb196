"""One finding's explanation."""

from __future__ import annotations

from dataclasses import dataclass

from cudacompat.model.prediction import StageName


@dataclass(frozen=True, slots=True)
class Rule:
    """One finding's explanation. ``codes`` are the CUDA errors it ends in, empty where it ends in none."""

    name: str
    stage: StageName | None
    title: str
    cause: str
    confirm: str
    fix: str
    codes: tuple[int, ...] = ()
