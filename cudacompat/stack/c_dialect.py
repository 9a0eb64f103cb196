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
_FACTOR = re.compile(r"([^<>=!]+)([<>=!]+)([^<>=!].*)", re.DOTALL)
_VERSION = re.compile(r"[0-9.]*")
_PART = re.compile(r"0*([0-9]+)\.*")
_HINT = ", please update your driver to a newer version, or use an earlier cuda container"


class _InvalidExpressionError(Exception):
    """The formula cannot be parsed at the place where evaluation has arrived."""


def evaluate(requirements: Sequence[str], facts: Mapping[str, str | None], device_visible: bool) -> str | None:
    """None when every formula holds, else the text that nvidia-container-cli prints."""
    if len(requirements) > _MOST_VARIABLES:
        return "input error: too many requirements"
    known = {name: fact for name, fact in facts.items() if device_visible or name not in ("arch", "brand")}
    for formula in requirements:
        try:
            met = _formula(formula, known)
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


def _formula(formula: str, facts: Mapping[str, str | None]) -> bool:
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
        met = all(_factor(factor, facts) for factor in factors)
        if met:
            return True
    return met


def _factor(text: str, facts: Mapping[str, str | None]) -> bool:
    match = _FACTOR.fullmatch(text)
    if match is None:
        raise _InvalidExpressionError
    name, operator, value = match.groups()
    # Upstream looks for an operator that begins with what stands here.
    operator = "!=" if operator == "!" else operator
    if operator not in _OPERATORS or _lower(name) not in _NAMES:
        raise _InvalidExpressionError
    fact = facts.get(_lower(name))
    if fact is None:
        return True
    met = _is_brand(fact, operator, value) if _lower(name) == "brand" else _holds(_order(fact, value), operator)
    # Upstream writes a false comparison as "name op value", with blanks, into a buffer of this size.
    if not met and len(f"{name} {operator} {value}".encode(errors="surrogatepass")) >= _LONGEST_TEXT:
        raise _InvalidExpressionError
    return met


def _lower(text: str) -> str:
    """Lower case as strcasecmp sees it: the letters of ASCII alone."""
    return text.lower() if text.isascii() else text


def _is_brand(fact: str, operator: str, value: str) -> bool:
    if operator not in ("=", "!="):
        raise _InvalidExpressionError
    return (_lower(fact) == _lower(value)) == (operator == "=")


def _holds(order: int, operator: str) -> bool:
    if operator == "!=":
        return order != 0
    return (order == 0 and "=" in operator) or (order < 0 and "<" in operator) or (order > 0 and ">" in operator)


def _order(fact: str, value: str) -> int:
    """-1, 0 or 1, part by part; the first difference decides, and what follows it is never read.

    Where one side runs out, the other's rest counts as zero only when it is zeros and dots.
    """
    if not _VERSION.fullmatch(fact) or not _VERSION.fullmatch(value):
        raise _InvalidExpressionError
    here = there = 0
    while here < len(fact) and there < len(value):
        one, here = _part(fact, here)
        other, there = _part(value, there)
        if one != other:
            return 1 if one > other else -1
    return bool(fact[here:].strip(".0")) - bool(value[there:].strip(".0"))


def _part(version: str, start: int) -> tuple[int, int]:
    """The number at ``start`` and where the next one begins."""
    match = _PART.match(version, start)
    if match is None or len(match[1]) > len(str(_TOO_BIG)) or int(match[1]) >= _TOO_BIG:
        raise _InvalidExpressionError
    return int(match[1]), match.end()
