"""NVIDIA_REQUIRE_* formulas: evaluation in both upstream dialects, and what a formula would accept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cudacompat.stack import c_dialect, go_dialect

Dialect = Literal["c", "go"]


def evaluate_requirements(
    requirements: Sequence[str],
    *,
    cuda: str | None,
    driver: str | None,
    arch: str | None,
    brand: str | None,
    dialect: Dialect,
    device_visible: bool = True,
) -> str | None:
    """None when every formula is met, else the text that upstream prints.

    ``cuda`` and ``driver`` are what NVML reports for the host, ``arch`` a compute capability ("8.0"),
    ``brand`` an NVML brand in libnvidia-container's words. A fact passed as None was not given to the
    evaluator: C counts such a test as true, Go compares with the empty string. In the Go dialect driver
    and brand are never given, as upstream calls it. ``device_visible`` False (NVIDIA_VISIBLE_DEVICES=none)
    makes arch and brand tests true in the C dialect.
    """
    if dialect == "go":
        return go_dialect.evaluate(requirements, {"cuda": cuda, "arch": arch})
    facts = {"cuda": cuda, "driver": driver, "arch": arch, "brand": brand}
    return c_dialect.evaluate(requirements, facts, device_visible)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to meet a formula: a CUDA version from ``cuda`` on, or a driver branch with certain brands.

    ``branch`` is the first driver branch accepted and ``below`` the first one that no longer is; None for
    ``below`` means that every newer branch is accepted as well. ``brands`` empty: any brand.
    """

    cuda: str | None
    branch: int | None
    brands: tuple[str, ...]
    below: int | None = None


def explain_requirement(formula: str) -> tuple[Alternative, ...]:
    """The alternatives of a formula as NVIDIA's images write them, brands of one branch joined.

    Groups of another shape are left out: this is for telling a person, never for deciding.
    """
    found: dict[tuple[str | None, int | None, int | None], list[str]] = {}
    for group in formula.split(" "):
        cuda = re.search(r"(?:^|,)cuda>=([0-9.]+)", group, re.IGNORECASE)
        branch = _branch(group, ">=")
        brand = re.search(r"(?:^|,)brand=([^,]+)", group, re.IGNORECASE)
        if cuda or branch is not None:
            key = (cuda[1] if cuda else None, branch, _branch(group, "<"))
            found.setdefault(key, []).extend([brand[1].lower()] if brand else [])
    return tuple(
        Alternative(cuda, branch, tuple(dict.fromkeys(brands)), below)
        for (cuda, branch, below), brands in found.items()
    )


def _branch(group: str, operator: str) -> int | None:
    match = re.search(rf"(?:^|,)driver{operator}([0-9]{{1,9}})(?![0-9])", group, re.IGNORECASE)
    return int(match[1]) if match else None
