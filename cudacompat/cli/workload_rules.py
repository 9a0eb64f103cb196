"""Rules on workloads in the form of the other rules, so that one explanation serves both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from cudacompat.predict.rules import Rule


def workload_rule(name: str) -> Rule | None:
    """The rule of this id, such as S04 (in either case); None where there is none."""
    return _rules().get(name.upper())


def workload_rules(names: Iterable[str]) -> Mapping[str, Rule]:
    """Those of the names that are rules on workloads."""
    known = _rules()
    return {name: known[name] for name in names if name in known}


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, Rule]:
    from cudacompat.workloads import RuleInfo, rule_cards

    def rule(card: RuleInfo) -> Rule:
        waits = f" Judged only with facts about: {', '.join(card.needs)}." if card.needs else ""
        cause = f"A workload's text; level {card.level}. Known from: {card.source}.{waits}"
        return Rule(card.id, None, f"{card.title}.", cause, "cudacompat check FILE names the line.", card.fix)

    return {card.id: rule(card) for card in rule_cards()}
