"""The catalogue of findings: what each one means, how to confirm it on the host, and what to do.

Every finding that the code can raise has an entry here; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cudacompat.predict import rules_of_cuda, rules_of_start
from cudacompat.predict.rule import Rule

__all__ = ["RULES", "Rule"]

RULES: Mapping[str, Rule] = MappingProxyType({rule.name: rule for rule in (*rules_of_start.ALL, *rules_of_cuda.ALL)})
