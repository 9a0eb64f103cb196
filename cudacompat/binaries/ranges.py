"""Ranges of a file as sorted, disjoint intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class Ranges:
    """The union of [start, end) intervals, however they overlap."""

    def __init__(self, intervals: Iterable[tuple[int, int]]) -> None:
        self.intervals: list[tuple[int, int]] = []
        for start, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
            if self.intervals and start <= self.intervals[-1][1]:
                self.intervals[-1] = self.intervals[-1][0], max(end, self.intervals[-1][1])
            else:
                self.intervals.append((start, end))
        self._starts = [start for start, _ in self.intervals]

    def __contains__(self, position: object) -> bool:
        if not isinstance(position, int):
            return False
        at = bisect_right(self._starts, position) - 1
        return at >= 0 and position < self.intervals[at][1]

    def __bool__(self) -> bool:
        return bool(self.intervals)
