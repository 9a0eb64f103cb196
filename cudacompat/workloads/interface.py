"""What every workload format shares: what was found, how a rule is written, and the bounds on reading.

A format's reader turns text into its own document type. A rule is one function over that document,
registered with its id, level, message and fix in the format's rule book.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, Literal, TypeVar

from cudacompat.errors import TargetError
from cudacompat.model import Finding, ImageFacts, Location, Report
from cudacompat.model.host import Injection
from cudacompat.model.inventory import Fleet, SlurmSite
from cudacompat.model.prediction import Level

WorkloadKind = Literal["slurm", "kubernetes", "compose", "docker-run", "dockerfile"]
Need = Literal["site", "fleet", "image", "host"]
RequestUnit = Literal["node", "job", "task", "container", "service", "pod"]

MAX_SCRIPT_BYTES = 256 << 10
MAX_YAML_BYTES = 4 << 20
MAX_DOCUMENTS = 10_000
MAX_VALUES = 250_000

_NEED_TEXT: Mapping[Need, str] = MappingProxyType(
    {
        "site": "the Slurm site's facts (`scontrol show node` or `sinfo -N -o` output)",
        "fleet": "the fleet's nodes (`kubectl get nodes -o json`)",
        "image": "the image's content",
        "host": "the host's facts",
    }
)


@dataclass(frozen=True, slots=True)
class ImageUse:
    """An image that a workload starts.

    ``reference`` is the text as written. ``target`` is how `cudacompat check` would be given it, None when
    it cannot be read from here (squashfs files, unexpanded variables); ``why_not`` says why. ``injection``
    is the injection mode that follows from the way it is started, None where the workload leaves it open.
    ``gpus`` tells whether the part that starts it asks for GPUs: None when the workload leaves it open.
    ``env`` is what the workload adds to the image's environment.
    """

    reference: str
    line: int
    started_by: str
    injection: Injection | None
    target: str | None
    why_not: str = ""
    gpus: bool | None = None
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """A request for GPUs: ``count`` per ``unit``, None for all of them. ``resource`` as the format names it."""

    resource: str
    count: int | None
    unit: RequestUnit
    line: int
    gpu_type: str | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload of a file: the images it starts and the GPUs it asks for."""

    kind: WorkloadKind
    path: str
    name: str
    line: int
    images: tuple[ImageUse, ...] = ()
    requests: tuple[GpuRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class Inventory:
    """Facts from outside the workload's text. None: nobody gave them, and nothing is assumed.

    ``images`` maps an image's reference to what was read of it. ``compose_version`` and ``runtimes`` are
    those of the host that runs a Compose file or a docker command.
    """

    site: SlurmSite | None = None
    fleet: Fleet | None = None
    images: Mapping[str, ImageFacts] = field(default_factory=lambda: MappingProxyType({}))
    compose_version: tuple[int, ...] | None = None
    runtimes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule's answer at one place. ``level`` and ``fix`` replace the rule's own where they are given."""

    line: int
    message: str
    level: Level | None = None
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A rule that applies to this kind of workload but waits for facts nobody gave."""

    rule: str
    title: str
    waits_for: str


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """A rule's card, for `explain` and for documentation."""

    id: str
    level: Level
    title: str
    fix: str
    source: str
    needs: tuple[Need, ...] = ()


D = TypeVar("D")
Check = Callable[[D, Inventory], Iterable[Hit]]


@dataclass(frozen=True, slots=True)
class Rule(Generic[D]):
    """A rule's card with the function that judges a document."""

    info: RuleInfo
    check: Check[D]


class RuleBook(Generic[D]):
    """The rules of one format, in the order they were written down."""

    def __init__(self) -> None:
        self._rules: dict[str, Rule[D]] = {}

    def rule(
        self, rule_id: str, level: Level, title: str, *, fix: str, source: str, needs: tuple[Need, ...] = ()
    ) -> Callable[[Check[D]], Check[D]]:
        """Register a function as the rule ``rule_id``; ``needs`` are facts without which it is not run."""

        def register(check: Check[D]) -> Check[D]:
            if rule_id in self._rules:
                raise ValueError(f"rule {rule_id} is registered twice")
            self._rules[rule_id] = Rule(RuleInfo(rule_id, level, title, fix, source, needs), check)
            return check

        return register

    @property
    def cards(self) -> tuple[RuleInfo, ...]:
        """Every registered rule's card."""
        return tuple(rule.info for rule in self._rules.values())

    def judge(self, document: D, path: str, inventory: Inventory) -> tuple[list[Finding], list[NotJudged]]:
        """Run every rule whose needs are met; name the others with what they wait for."""
        findings: list[Finding] = []
        waiting: list[NotJudged] = []
        for rule in self._rules.values():
            missing = [need for need in rule.info.needs if not _given(need, inventory)]
            if missing:
                waits_for = " and ".join(_NEED_TEXT[need] for need in missing)
                waiting.append(NotJudged(rule.info.id, rule.info.title, waits_for))
                continue
            findings.extend(_finding(rule.info, hit, path) for hit in rule.check(document, inventory))
        return findings, waiting


def _given(need: Need, inventory: Inventory) -> bool:
    if need == "site":
        return inventory.site is not None
    if need == "fleet":
        return inventory.fleet is not None
    if need == "image":
        return bool(inventory.images)
    return inventory.runtimes is not None or inventory.compose_version is not None


def _finding(info: RuleInfo, hit: Hit, path: str) -> Finding:
    return Finding(
        rule=info.id,
        level=hit.level or info.level,
        stage=None,
        message=hit.message,
        fix=info.fix if hit.fix is None else hit.fix,
        location=Location(path, hit.line),
    )


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that the file or the configuration silences, with the reason given there."""

    finding: Finding
    reason: str
    where: str


@dataclass(frozen=True, slots=True)
class WorkloadReport:
    """The result of checking a workload file.

    ``reports`` pairs each image that could be read with its report; ``unread`` names the others with the
    reason. ``not_judged`` are the rules that wait for facts nobody gave.
    """

    path: str
    kind: WorkloadKind
    workloads: tuple[Workload, ...]
    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    reports: tuple[tuple[ImageUse, Report], ...] = ()
    unread: tuple[tuple[ImageUse, str], ...] = ()

    @property
    def images(self) -> tuple[ImageUse, ...]:
        """Every image that the file's workloads start, in the order of the file."""
        return tuple(use for workload in self.workloads for use in workload.images)


def check_size(text: str, path: str, limit: int, what: str) -> None:
    """Refuse text above ``limit`` characters, naming the line where the limit falls."""
    if len(text) <= limit:
        return
    line = text.count("\n", 0, limit) + 1
    raise TargetError(
        f"{path}, line {line}: the {what} goes on after {limit >> 10} KiB and is not read further; "
        f"give the {what} alone, without the data in it"
    )
