"""The workload formats: how each is read, what it starts, and its rules. A new format is one function here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from cudacompat.model import Finding
from cudacompat.workloads.interface import Inventory, NotJudged, RuleBook, RuleInfo, Workload, WorkloadKind

D = TypeVar("D")
Judged = tuple[list[Finding], list[NotJudged]]


@dataclass(frozen=True, slots=True)
class Opened:
    """A text that was read: its workloads, and a function that judges it with what is known of the site."""

    workloads: tuple[Workload, ...]
    judge: Callable[[Inventory], Judged]


def open_format(kind: WorkloadKind, text: str, path: str, submit_env: Mapping[str, str] | None = None) -> Opened:
    """Read ``text`` as a workload of this kind; ``submit_env`` is what a job script is submitted with."""
    if kind == "slurm":
        return _slurm(text, path, submit_env)
    return _OPENERS[kind](text, path)


def _judge(book: RuleBook[D], document: D, path: str, inventory: Inventory) -> Judged:
    return book.judge(document, path, inventory)


def _slurm(text: str, path: str, submit_env: Mapping[str, str] | None) -> Opened:
    from cudacompat.workloads.docker.lines import DockerLines
    from cudacompat.workloads.docker.rules import BOOK as DOCKER
    from cudacompat.workloads.slurm.reader import read_slurm, workload_of
    from cudacompat.workloads.slurm.rules import BOOK

    script = read_slurm(text, path, submit_env=submit_env)
    runs = (launch.container.run for launch in script.launches if launch.container is not None)
    lines = DockerLines(path, text, tuple(run for run in runs if run is not None))

    def judge(inventory: Inventory) -> Judged:
        findings, waiting = BOOK.judge(script, path, inventory)
        # Of docker lines inside a job only what does not work at all: the rest is said by the job's own rules.
        inside, _ = DOCKER.judge(lines, path, inventory)
        return findings + [f for f in inside if f.level == "error"], waiting

    return Opened((workload_of(script),), judge)


def _kubernetes(text: str, path: str) -> Opened:
    from cudacompat.workloads.kubernetes.reader import read_kubernetes, workloads_of
    from cudacompat.workloads.kubernetes.rules import BOOK

    file = read_kubernetes(text, path)
    return Opened(workloads_of(file), partial(_judge, BOOK, file, path))


def _compose(text: str, path: str) -> Opened:
    from cudacompat.workloads.compose.reader import read_compose, workloads_of
    from cudacompat.workloads.compose.rules import BOOK

    file = read_compose(text, path)
    return Opened(workloads_of(file), partial(_judge, BOOK, file, path))


def _docker(text: str, path: str) -> Opened:
    from cudacompat.workloads.docker.lines import read_lines, workloads_of
    from cudacompat.workloads.docker.rules import BOOK

    lines = read_lines(text, path)
    return Opened(workloads_of(lines), partial(_judge, BOOK, lines, path))


def _dockerfile(text: str, path: str) -> Opened:
    from cudacompat.workloads.dockerfile.reader import read_dockerfile, workload_of
    from cudacompat.workloads.dockerfile.rules import BOOK

    file = read_dockerfile(text, path)
    return Opened((workload_of(file),), partial(_judge, BOOK, file, path))


_OPENERS: dict[WorkloadKind, Callable[[str, str], Opened]] = {
    "kubernetes": _kubernetes,
    "compose": _compose,
    "docker-run": _docker,
    "dockerfile": _dockerfile,
}


def rule_cards() -> tuple[RuleInfo, ...]:
    """Every rule of every format, each id once, sorted by id."""
    from cudacompat.workloads.compose.rules import BOOK as COMPOSE
    from cudacompat.workloads.docker.rules import BOOK as DOCKER
    from cudacompat.workloads.dockerfile.rules import BOOK as DOCKERFILE
    from cudacompat.workloads.kubernetes.rules import BOOK as KUBERNETES
    from cudacompat.workloads.slurm.rules import BOOK as SLURM

    cards: dict[str, RuleInfo] = {}
    for group in (SLURM.cards, KUBERNETES.cards, COMPOSE.cards, DOCKER.cards, DOCKERFILE.cards):
        cards.update((card.id, card) for card in group)
    return tuple(cards[rule_id] for rule_id in sorted(cards))
