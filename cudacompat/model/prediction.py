"""What a prediction says: stages, verdict, scenarios, findings, remedies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cudacompat.model.evidence import Evidence

Outcome = Literal["runs", "runs-limited", "depends", "fails", "unknown", "no-cuda"]
StageName = Literal["platform", "request", "start", "driver-library", "init", "kernel", "libraries"]
StageStatus = Literal["ok", "limited", "fails", "unknown", "skipped"]
DriverPath = Literal["native", "minor-version", "forward-compat"]
Confidence = Literal["high", "medium", "low"]
Level = Literal["error", "warning", "note"]

STAGES: tuple[StageName, ...] = (
    "platform",
    "request",
    "start",
    "driver-library",
    "init",
    "kernel",
    "libraries",
)


@dataclass(frozen=True, slots=True)
class CudaError:
    """The error a user would see. ``code`` and ``name`` are None for refusals that CUDA does not number."""

    code: int | None
    name: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One launch stage's answer in one sentence, with the evidence it rests on.

    ``path`` is set by the init stage only; ``error`` only where the status is "fails". ``confidence`` is
    how far the answer can be trusted and ``confidence_reason`` why it is less than high. ``missing`` names
    the facts that an unknown status waits for.
    """

    stage: StageName
    status: StageStatus
    summary: str
    evidence: tuple[Evidence, ...] = ()
    error: CudaError | None = None
    path: DriverPath | None = None
    confidence: Confidence = "high"
    confidence_reason: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer. ``depends_on`` names the facts that decide when the outcome is "depends" or "unknown"."""

    outcome: Outcome
    stage: StageName | None
    path: DriverPath | None
    error: CudaError | None
    confidence: Confidence
    confidence_reason: str
    summary: str
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way of filling in facts that nobody gave, and the verdict it leads to.

    ``given`` maps fact to value ({"injection": "cdi"}); ``text`` names it in plain words.
    """

    given: Mapping[str, str]
    verdict: Verdict
    text: str = ""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file that the user wrote: path and 1-based line."""

    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person should know. ``rule`` is the kebab-case name that ``explain`` knows."""

    rule: str
    level: Level
    stage: StageName | None
    message: str
    fix: str = ""
    evidence: tuple[Evidence, ...] = ()
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change somebody can make: to the driver, the base image, a package in it, or an option."""

    kind: Literal["driver", "base-image", "package", "option"]
    text: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change together with the verdict that was predicted for it."""

    change: Change
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Prediction:
    """The whole answer for one image on one host."""

    verdict: Verdict
    stages: tuple[Stage, ...]
    scenarios: tuple[Scenario, ...] = ()
    findings: tuple[Finding, ...] = ()
    remedies: tuple[Remedy, ...] = ()
