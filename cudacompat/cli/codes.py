"""Exit codes: what a script or a CI job can rely on."""

from __future__ import annotations

from collections.abc import Iterable

from cudacompat.model.prediction import Outcome

FINE, FAILURE, USAGE, UNKNOWN, UNREADABLE, INTERRUPTED = 0, 1, 2, 3, 4, 130
# Of several targets the weightiest code counts.
_WEIGHT = (UNREADABLE, FAILURE, UNKNOWN, FINE)
# From the worst on: each threshold stops itself and all before it.
_LADDER: tuple[tuple[str, Outcome, int], ...] = (
    ("fails", "fails", FAILURE),
    ("depends", "depends", FAILURE),
    ("unknown", "unknown", UNKNOWN),
    ("limited", "runs-limited", FAILURE),
)
THRESHOLDS = tuple(name for name, _, _ in _LADDER)
DEFAULT_THRESHOLD = "unknown"


def exit_code(outcome: Outcome, threshold: str) -> int:
    """The code for one outcome: 0 when it is milder than the threshold."""
    for name, stopped, code in _LADDER:
        if outcome == stopped:
            return code
        if name == threshold:
            break
    return FINE


def heaviest(codes: Iterable[int]) -> int:
    """The code for several targets."""
    return min(codes, key=_WEIGHT.index, default=FINE)
