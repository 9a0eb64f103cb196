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
    """One way to meet a formula; what is None or empty is not asked for.

    ``cuda`` is the CUDA version the driver must have at least, ``branch`` the first driver branch accepted
    and ``below`` the first one that no longer is, ``brands`` the NVML brands accepted (lower case).
    """

    cuda: str | None
    branch: int | None
    brands: tuple[str, ...]
    below: int | None = None


_TERM = re.compile(r"(cuda>=|driver>=|driver<)([0-9][0-9.]{0,99})|(brand=)([^<>=!]+)", re.IGNORECASE)


def explain_requirement(formula: str) -> tuple[Alternative, ...]:
    """The alternatives of a formula as NVIDIA's images write them, brands of one driver range joined.

    Groups that nothing can meet, or that hold a term of another shape, are left out: this is for telling a
    person, never for deciding.
    """
    found: dict[tuple[str | None, int | None, int | None], list[str]] = {}
    for group in formula.split(" "):
        terms = [_TERM.fullmatch(factor) for factor in group.split(",") if factor]
        way = _alternative([(term[1] or term[3], term[2] or term[4]) for term in terms if term is not None])
        if way is not None and all(terms):
            found.setdefault((way.cuda, way.branch, way.below), []).extend(way.brands)
    return tuple(
        Alternative(cuda, branch, tuple(dict.fromkeys(brands)), below)
        for (cuda, branch, below), brands in found.items()
    )


def _alternative(terms: Sequence[tuple[str, str]]) -> Alternative | None:
    """A group's terms as one alternative, None where they are empty or contradict each other."""
    cuda = _values(terms, "cuda>=")
    brands = {value.lower() for value in _values(terms, "brand=")}
    lower, upper = ([int(value.split(".")[0]) for value in _values(terms, name)] for name in ("driver>=", "driver<"))
    branch, below = max(lower, default=None), min(upper, default=None)
    impossible = branch is not None and below is not None and below <= branch
    if not terms or len(cuda) > 1 or len(brands) > 1 or impossible:
        return None
    return Alternative(cuda[0] if cuda else None, branch, tuple(brands), below)


def _values(terms: Sequence[tuple[str, str]], name: str) -> list[str]:
    return [value for known, value in terms if known.lower() == name]
