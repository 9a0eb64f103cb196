"""Changes for a whole fleet: one driver, or one change to the image, predicted again on every kind of machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from cudacompat.model import Change, HostFacts, ImageFacts, Verdict
from cudacompat.predict.changes import (
    Candidate,
    driver_changes,
    image_changes,
    newer_wheels,
    option_changes,
    wheel_changes,
)
from cudacompat.predict.scenarios import judge
from cudacompat.predict.verdict import GREEN
from cudacompat.stack.loader import version_key

# Predicting a change costs one prediction for each kind of machine.
_MOST_CHANGES = 24
Machines = Sequence[tuple[HostFacts, Verdict, int]]


@dataclass(frozen=True, slots=True)
class FleetRemedy:
    """A change and on how many of the ``machines`` with GPUs the image runs with it.

    ``hosts`` counts the machines that have to be changed: 0 for a change to the image or its start.
    """

    change: Change
    runs_on: int
    machines: int
    hosts: int = 0


def fleet_remedies(image: ImageFacts, kinds: Machines) -> tuple[FleetRemedy, ...]:
    """The changes that cover the fleet, cheapest first; else those that cover most of it.

    ``kinds`` are facts, today's verdict and the number of machines. Nothing is advised that was not predicted
    again on all kinds; machines whose driver nobody knows count as they stand.
    """
    total = sum(count for _, _, count in kinds)
    today = _covered(kinds)
    if today == total:
        return ()
    found = [_image_remedy(candidate, kinds, total) for candidate in _image_candidates(image, kinds)]
    driver = _driver_remedy(image, kinds, total)
    found += [driver] if driver is not None else []
    better = [remedy for remedy in found if remedy.runs_on > today]
    whole = [remedy for remedy in better if remedy.runs_on == total]
    best = max((remedy.runs_on for remedy in better), default=0)
    return tuple((whole or [remedy for remedy in better if remedy.runs_on == best])[:4])


def _covered(kinds: Machines) -> int:
    return sum(count for _, verdict, count in kinds if verdict.outcome in GREEN)


def _image_candidates(image: ImageFacts, kinds: Machines) -> Iterator[Candidate]:
    """The changes to start and image that a failing kind of machine suggests, each once."""
    failing = [(host, verdict) for host, verdict, _ in kinds if verdict.outcome in ("fails", "depends") and host.driver]

    def every() -> Iterator[Candidate]:
        for host, verdict in failing:
            yield from option_changes(image, host, verdict)
        for host, verdict in failing:
            yield from image_changes(image, host, verdict)
        for host, _ in failing:
            yield from wheel_changes(image, host)
        for host, _ in failing[:1]:
            yield from newer_wheels(image, host)

    return islice(_once(every()), _MOST_CHANGES)


def _once(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    seen: set[str] = set()
    for candidate in candidates:
        if candidate[0].text not in seen:
            seen.add(candidate[0].text)
            yield candidate


def _image_remedy(candidate: Candidate, kinds: Machines, total: int) -> FleetRemedy:
    change, image, changed = candidate
    runs = 0
    for host, _, count in kinds:
        if host.driver is None:
            # Nothing runs for certain under a driver that nobody knows.
            continue
        mode = changed.injection if change.kind == "option" and changed.injection != host.injection else host.injection
        if judge(image, replace(host, injection=mode)).verdict.outcome in GREEN:
            runs += count
    return FleetRemedy(change, runs, total)


def _driver_remedy(image: ImageFacts, kinds: Machines, total: int) -> FleetRemedy | None:
    """The smallest driver that makes the image run on most machines; newer ones are left as they are."""
    best: FleetRemedy | None = None
    for release, cuda, change in _drivers(image, kinds):
        runs = hosts = 0
        for host, verdict, count in kinds:
            if host.driver is not None and verdict.outcome not in GREEN and _older(host.driver, release):
                raised = replace(host, driver=release, driver_cuda=cuda)
                if judge(image, raised).verdict.outcome in GREEN:
                    runs, hosts = runs + count, hosts + count
            elif verdict.outcome in GREEN:
                runs += count
        if best is None or runs > best.runs_on:
            best = FleetRemedy(change, runs, total, hosts)
        if best.runs_on == total:
            break
    return best


def _drivers(image: ImageFacts, kinds: Machines) -> Iterator[tuple[str, str | None, Change]]:
    """Every driver that a failing machine could be given, oldest first."""
    failing = [host for host, verdict, _ in kinds if host.driver and verdict.outcome not in GREEN]
    oldest = min(failing, key=lambda host: version_key(host.driver), default=None)
    if oldest is None:
        return
    for change, _, changed in driver_changes(image, oldest):
        if changed.driver is not None:
            yield changed.driver, changed.driver_cuda, change


def _older(driver: str, release: str) -> bool:
    return version_key(driver) < version_key(release)
