"""One scenario played through, stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cudacompat.model import Finding, Stage, Verdict
from cudacompat.model.prediction import StageName
from cudacompat.predict import driver_library, init, kernel, libraries, platform, request, start
from cudacompat.predict.launch import Judged, Launch
from cudacompat.predict.own_compat import arranged
from cudacompat.predict.verdict import fold, has_cuda

_RULES: tuple[tuple[StageName, Callable[[Launch], Judged]], ...] = (
    ("platform", platform.judge),
    ("request", request.judge),
    ("start", start.judge),
    ("driver-library", driver_library.judge),
    ("init", init.judge),
    ("kernel", kernel.judge),
    ("libraries", libraries.judge),
)
# What CUDA itself does is of no interest for an image that has nothing of it.
_CUDA_ONLY: tuple[StageName, ...] = ("request", "driver-library", "init", "kernel", "libraries")


@dataclass(frozen=True, slots=True)
class Play:
    """A fully specified launch's stages, verdict and findings."""

    stages: tuple[Stage, ...]
    verdict: Verdict
    findings: tuple[Finding, ...]


def play(scene: Launch) -> Play:
    """Judge the stages in order until one fails; injection mode, toolkit and board must be decided."""
    cuda = has_cuda(scene.image)
    scene, notes = arranged(scene)
    stages: list[Stage] = []
    findings: list[Finding] = list(notes)
    for name, judge in _RULES:
        if stages and stages[-1].status == "fails":
            break
        if not cuda and name in _CUDA_ONLY:
            stages.append(Stage(name, "skipped", "nothing of CUDA was found in the image"))
            continue
        judged = judge(scene)
        stages.append(judged.stage)
        findings.extend(judged.findings)
    reached = len(stages)
    stages.extend(Stage(name, "skipped", "not reached") for name, _ in _RULES[reached:])
    return Play(tuple(stages), fold(scene.image, stages), tuple(findings))
