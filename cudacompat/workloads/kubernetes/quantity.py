"""Kubernetes quantities ("1", 1, 500m, 2k) as exact numbers."""

from __future__ import annotations

import re
from fractions import Fraction

_QUANTITY = re.compile(r"([+-]?\d{0,12}(?:\.\d{0,12})?)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|)")
_DECIMAL = {unit: Fraction(1000**power) for power, unit in enumerate(["", "k", "M", "G", "T", "P", "E"])}
_BINARY = {unit: Fraction(1024**power) for power, unit in enumerate(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"], start=1)}
_FACTORS = {**_DECIMAL, **_BINARY, "m": Fraction(1, 1000)}


def quantity(text: str) -> Fraction | None:
    """The number, None when the text is no quantity."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or not re.search(r"\d", match[1]):
        return None
    return Fraction(match[1] if match[1][-1] != "." else match[1] + "0") * _FACTORS[match[2]]
