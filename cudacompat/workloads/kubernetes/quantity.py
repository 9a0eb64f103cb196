"""Kubernetes quantities ("1", 1, 500m, 2k) as exact numbers."""

from __future__ import annotations

import re
from fractions import Fraction

_QUANTITY = re.compile(r"([+-]?\d{0,12}(?:\.\d{0,12})?)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|)")
_FACTORS = {"": Fraction(1), "m": Fraction(1, 1000)} | {
    unit: Fraction(1000 ** (power + 1)) for power, unit in enumerate(["k", "M", "G", "T", "P", "E"])
} | {unit: Fraction(1024 ** (power + 1)) for power, unit in enumerate(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])}  # fmt: skip


def quantity(text: str) -> Fraction | None:
    """The number, None when the text is no quantity."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or not re.search(r"\d", match[1]):
        return None
    return Fraction(match[1] if match[1][-1] != "." else match[1] + "0") * _FACTORS[match[2]]
