"""Requirements as libnvidia-container evaluates them: legacy hook, enroot, nvidia-container-cli.

Source: NVIDIA/libnvidia-container src/cli/dsl.c and configure.c, unchanged since 2019-09; every quirk below
was seen in runs of that code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_NAMES = ("cuda", "driver", "arch", "brand")
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
_MOST_VARIABLES = 32
_LONGEST_TEXT = 128
_TOO_BIG = 2**64 - 1
_VERSION = re.compile(r"[0-9][0-9.]*")
_HINT = ", please update your driver to a newer version, or use an earlier cuda container"


class _InvalidExpressionError(Exception):
    """The formula cannot be parsed at the place where evaluation has arrived."""


def evaluate(requirements: Sequence[str], facts: Mapping[str, str | None], device_visible: bool) -> str | None:
    """None when every formula holds, else the text that nvidia-container-cli prints."""
    if len(requirements) > _MOST_VARIABLES:
        return "input error: too many requirements"
    for formula in requirements:
        try:
            met = _formula(formula, facts, device_visible)
        except _InvalidExpressionError:
            return "requirement error: invalid expression"
        if not met:
            return _unsatisfied(formula)
    return None


def _unsatisfied(formula: str) -> str:
    """The message names the formula's first item, whatever failed."""
    first = formula.split(" ", 1)[0]
    hint = _HINT if first.startswith("cuda>=") else ""
    return f"requirement error: unsatisfied condition: {first}{hint}"


def _formula(formula: str, facts: Mapping[str, str | None], device_visible: bool) -> bool:
    """Space is OR, comma is AND; nothing after a true group is looked at.

    A group made of commas alone ends the scan with the result so far.
    """
    met = True
    for group in formula.split(" "):
        if not group:
            continue
        factors = [factor for factor in group.split(",") if factor]
        if not factors:
            return met
        met = all(_factor(factor, facts, device_visible) for factor in factors)
        if met:
            return True
    return met


def _factor(text: str, facts: Mapping[str, str | None], device_visible: bool) -> bool:
    match = re.match(r"([^<>=!]*)([<>=!]*)(.*)", text, re.DOTALL)
    name, operator, value = match.groups() if match else ("", "", "")
    operator = "!=" if operator == "!" else operator
    if operator not in _OPERATORS or not name or not value or name.lower() not in _NAMES:
        raise _InvalidExpressionError
    fact = facts.get(name.lower())
    if fact is None or (not device_visible and name.lower() in ("arch", "brand")):
        return True
    met = _compare_brand(fact, operator, value) if name.lower() == "brand" else _compare(fact, operator, value)
    # Upstream writes a false comparison as "name op value", with blanks, into a buffer of this size.
    if not met and len(f"{name} {operator} {value}".encode(errors="surrogateescape")) >= _LONGEST_TEXT:
        raise _InvalidExpressionError
    return met


def _compare_brand(fact: str, operator: str, value: str) -> bool:
    if operator not in ("=", "!="):
        raise _InvalidExpressionError
    return (fact.lower() == value.lower()) == (operator == "=")


def _compare(fact: str, operator: str, value: str) -> bool:
    order = _order(_numbers(fact), _numbers(value))
    return {
        "=": order == 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[operator]


def _numbers(version: str) -> list[int]:
    """The numbers of a version; an empty host fact counts as zero, an empty value never gets here."""
    if not version:
        return []
    if not _VERSION.fullmatch(version):
        raise _InvalidExpressionError
    numbers = [int(part) for part in version.split(".") if part]
    if any(number >= _TOO_BIG for number in numbers):
        raise _InvalidExpressionError
    return numbers


def _order(one: list[int], other: list[int]) -> int:
    """Part by part; where one side runs out the other's rest counts as zero only when it is zeros."""
    length = max(len(one), len(other))
    padded = [side + [0] * (length - len(side)) for side in (one, other)]
    return (padded[0] > padded[1]) - (padded[0] < padded[1])
