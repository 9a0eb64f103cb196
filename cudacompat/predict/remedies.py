"""Changes that were predicted to end better, cheapest first. Nothing is advised that was not re-predicted."""

from __future__ import annotations

from collections.abc import Iterator

from cudacompat.model import Change, HostFacts, ImageFacts, Remedy, Verdict
from cudacompat.predict.changes import driver_changes, image_changes, option_changes
from cudacompat.predict.scenarios import judge
from cudacompat.predict.verdict import GREEN, rank

_MOST = 6


def remedies(image: ImageFacts, host: HostFacts, verdict: Verdict) -> tuple[Remedy, ...]:
    """Options first, then packages and base images, then the driver: the order of what they cost."""
    if verdict.outcome not in ("fails", "depends") or host.driver is None:
        return ()
    found = list(_better(option_changes(image, host, verdict), verdict))
    found += _better(image_changes(image, host, verdict), verdict)
    # Driver branches come in rising order: the first that helps is the smallest.
    found += next(([remedy] for remedy in _better(driver_changes(image, host), verdict)), [])
    return tuple(found[:_MOST])


def _better(candidates: Iterator[tuple[Change, ImageFacts, HostFacts]], verdict: Verdict) -> Iterator[Remedy]:
    for change, image, host in candidates:
        answer = judge(image, host).verdict
        if answer.outcome in GREEN and answer.outcome != "no-cuda" and rank(answer) > rank(verdict):
            yield Remedy(change, answer)
