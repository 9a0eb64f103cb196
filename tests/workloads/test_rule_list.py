"""The documentation lists every rule, and only those that exist."""

from __future__ import annotations

from pathlib import Path

from cudacompat.workloads import rule_cards

PAGE = Path(__file__).parents[2] / "docs" / "workload-rules.md"


def lines() -> list[str]:
    return [
        f"| {card.id} | {card.level} | {card.title} | {card.fix} | {', '.join(card.needs) or '-'} |".replace("||", "|")
        for card in rule_cards()
    ]


def test_the_page_lists_every_rule() -> None:
    listed = [
        line
        for line in PAGE.read_text().splitlines()
        if line.startswith("| ") and line[2:5].strip() not in ("Id", "---")
    ]
    assert listed == lines()
