"""Exit codes: what scripts rely on, for every outcome at every threshold."""

from __future__ import annotations

import pytest

from cudacompat.cli.codes import DEFAULT_THRESHOLD, THRESHOLDS, exit_code, heaviest
from cudacompat.model.prediction import Outcome

#                     fails depends unknown limited
ROWS: dict[Outcome, tuple[int, int, int, int]] = {
    "fails": (1, 1, 1, 1),
    "depends": (0, 1, 1, 1),
    "unknown": (0, 0, 3, 3),
    "runs-limited": (0, 0, 0, 1),
    "runs": (0, 0, 0, 0),
    "no-cuda": (0, 0, 0, 0),
}


@pytest.mark.parametrize("outcome", ROWS)
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_exit_code(outcome: Outcome, threshold: str) -> None:
    assert exit_code(outcome, threshold) == ROWS[outcome][THRESHOLDS.index(threshold)]


def test_unknown_is_not_green_by_default() -> None:
    assert exit_code("unknown", DEFAULT_THRESHOLD) == 3
    assert exit_code("depends", DEFAULT_THRESHOLD) == 1


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([], 0), ([0, 3], 3), ([3, 1, 0], 1), ([1, 4, 3], 4), ([0, 0], 0), ([0, 4], 4)],
)
def test_of_several_the_weightiest_counts(codes: list[int], expected: int) -> None:
    assert heaviest(codes) == expected
