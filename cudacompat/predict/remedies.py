"""Changes that were predicted to end better, cheapest first. Nothing is advised that was not re-predicted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from cudacompat.model import HostFacts, ImageFacts, Remedy, Verdict
from cudacompat.predict.boards import candidate_boards, gpu_matters
from cudacompat.predict.changes import (
    Candidate,
    driver_changes,
    image_changes,
    newer_wheels,
    option_changes,
    wheel_changes,
)
from cudacompat.predict.scenarios import judge
from cudacompat.predict.verdict import GREEN, rank


def remedies(image: ImageFacts, host: HostFacts, verdict: Verdict) -> tuple[Remedy, ...]:
    """Options first, then packages and base images, then the driver: the order of what they cost.

    Of changes that stand for each other (the wheel variants) the best is kept, and of driver branches the
    first that helps, which is the smallest.
    """
    if verdict.outcome not in ("fails", "depends") or host.driver is None:
        return ()
    found = list(_better(option_changes(image, host, verdict)))
    found += _better(image_changes(image, host, verdict))
    wheels = list(_better(wheel_changes(image, host)))
    found += [max(wheels, key=lambda remedy: rank(remedy.verdict))] if wheels else []
    found += [] if wheels else islice(_better(newer_wheels(image, host)), 1)
    found += islice(_better(_for_these_boards(driver_changes(image, host), host)), 1)
    return tuple(found)


def _for_these_boards(candidates: Iterable[Candidate], host: HostFacts) -> Iterator[Candidate]:
    """Where nobody named the board, a driver helps only if it helps every board that today's driver may drive.

    Without this a driver that drops the boards in question would look like a cure.
    """
    boards = tuple(gpu for gpu, _, _ in candidate_boards(host)) if host.gpus is None else None
    for change, image, changed in candidates:
        yield change, image, replace(changed, gpus=boards) if boards and gpu_matters(image) else changed


def _better(candidates: Iterable[Candidate]) -> Iterator[Remedy]:
    """Every green outcome is better than the two that ask for remedies."""
    for change, image, host in candidates:
        answer = judge(image, host).verdict
        if answer.outcome in GREEN and answer.outcome != "no-cuda":
            yield Remedy(change, answer)
