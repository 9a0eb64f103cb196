"""Requirements as nvidia-container-toolkit evaluates them in csv mode (Tegra), releases up to 1.20.0.

Source: NVIDIA/nvidia-container-toolkit internal/requirements; only cuda and arch are supplied there, so
driver and brand compare as the empty string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cudacompat.stack import semver
from cudacompat.stack.gotext import trim_space

# Longest first within a prefix, as upstream lists them: "!=" and "<=" before "<" and "=".
_OPERATORS = ("!=", "<=", ">=", "=", "<", ">")
_VERSIONS = ("cuda", "driver", "arch")
_MATCHES: Mapping[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


class _InvalidError(Exception):
    """A formula that upstream refuses to parse; carries upstream's text."""


@dataclass(frozen=True, slots=True)
class _Comparison:
    name: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}{self.operator}{self.value}"


def evaluate(requirements: Sequence[str], facts: Mapping[str, str | None]) -> str | None:
    """None when every formula holds, else upstream's text. Everything is parsed before anything is compared."""
    try:
        formulas = [_parse(formula) for formula in requirements]
    except _InvalidError as error:
        return str(error)
    for groups in formulas:
        problem = _unmet(groups, facts)
        if problem is not None:
            return problem
    return None


def _parse(formula: str) -> list[list[_Comparison]]:
    groups = []
    for item in formula.split(" "):
        factors = [factor for text in item.split(",") if (factor := _comparison(text)) is not None]
        if factors:
            groups.append(factors)
    return groups


def _comparison(text: str) -> _Comparison | None:
    """None for what upstream skips: blank items and unknown names."""
    if not trim_space(text):
        return None
    end = re.search("[<>=!]", text)
    if end is None:
        raise _InvalidError(f"invalid constraint: {text}")
    name, rest = text[: end.start()], text[end.start() :]
    if name not in (*_VERSIONS, "brand"):
        return None
    operator = next((known for known in _OPERATORS if rest.startswith(known)), "")
    value = rest[len(operator) :]
    if name in _VERSIONS and semver.parse(value) is None:
        raise _InvalidError(f"invailid value {value}; expected a valid version string")
    return _Comparison(name, operator, value)


def _unmet(groups: list[list[_Comparison]], facts: Mapping[str, str | None]) -> str | None:
    """The text of an unmet formula: the comparison itself when it is alone, else the whole formula."""
    if not groups:
        return None
    problems = [_first_unmet(group, facts) for group in groups]
    if any(problem is None for problem in problems):
        return None
    if len(groups) == 1:
        return problems[0]
    whole = "||".join("&&".join(str(factor) for factor in group) for group in groups)
    return f"{whole} not met"


def _first_unmet(group: list[_Comparison], facts: Mapping[str, str | None]) -> str | None:
    for factor in group:
        fact = facts.get(factor.name) or ""
        if not factor.operator:
            return "invalid operator "
        if not _MATCHES[factor.operator](_order(factor, fact)):
            return f"unsatisfied condition: {factor} ({factor.name}={fact})"
    return None


def _order(factor: _Comparison, fact: str) -> int:
    if factor.name == "brand":
        return (fact > factor.value) - (fact < factor.value)
    return semver.compare(fact, factor.value)
