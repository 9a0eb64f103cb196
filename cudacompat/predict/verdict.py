"""Stages folded into a verdict, and verdicts of several scenarios merged into one."""

from __future__ import annotations

from collections.abc import Sequence

from cudacompat.model import ImageFacts, Stage, Verdict
from cudacompat.model.prediction import STAGES, Confidence, DriverPath, Outcome
from cudacompat.predict.needs import is_other_build

_CONFIDENCE: tuple[Confidence, ...] = ("low", "medium", "high")
# From worst to best, for choosing among verdicts and for telling whether a change helps.
_RANK: tuple[Outcome, ...] = ("fails", "depends", "unknown", "runs-limited", "runs", "no-cuda")
GREEN: tuple[Outcome, ...] = ("runs", "runs-limited", "no-cuda")

_PATH_WORDS = {
    "native": "natively",
    "minor-version": "through minor version compatibility",
    "forward-compat": "through forward compatibility",
}
_STAGE_WORDS = {
    "platform": "cannot start on this platform",
    "request": "gets no usable GPU",
    "start": "refused at start",
    "driver-library": "gets the wrong driver library",
    "init": "fails in CUDA's initialisation",
    "kernel": "fails at the first kernel",
    "libraries": "fails to load its libraries",
}


def rank(verdict: Verdict) -> int:
    """A number that grows with how good the outcome is."""
    return _RANK.index(verdict.outcome)


def fold(image: ImageFacts, stages: Sequence[Stage]) -> Verdict:
    """The first stage that fails decides; then what could not be judged; then what is limited."""
    failed = next((stage for stage in stages if stage.status == "fails"), None)
    if failed is not None:
        return _fails(failed)
    if not has_cuda(image):
        return _no_cuda(image)
    unknown = [stage for stage in stages if stage.status == "unknown"]
    if unknown:
        return _unknown(unknown)
    return _runs(image, stages)


def has_cuda(image: ImageFacts) -> bool:
    """Whether anything of CUDA was seen; what the environment announces counts where the reading was partial."""
    partly = image.coverage.depth == "config" or not image.coverage.complete
    announced = partly and any(
        entry.startswith(("CUDA_VERSION=", "NVIDIA_REQUIRE_CUDA=")) for entry in image.config.env
    )
    parts = any(not is_other_build(part) for part in image.components)
    return announced or parts or bool(image.kernels) or bool(image.libraries)


def _fails(stage: Stage) -> Verdict:
    code = f" ({stage.error.code})" if stage.error and stage.error.code is not None else ""
    summary = f"{_STAGE_WORDS[stage.stage]}{code}: {stage.summary}"
    return Verdict("fails", stage.stage, None, stage.error, stage.confidence, stage.confidence_reason, summary)


def _no_cuda(image: ImageFacts) -> Verdict:
    if image.coverage.depth == "config":
        summary = "the config tells nothing of CUDA, and the layers were not read"
        return Verdict("unknown", None, None, None, "low", "only the config was read", summary, ("layers",))
    if not image.coverage.complete:
        summary = "nothing of CUDA was found, but parts of the image could not be read"
        return Verdict("unknown", None, None, None, "low", "the image was read in part", summary, ("layers",))
    if any(is_other_build(part) for part in image.components):
        names = ", ".join(sorted({part.name for part in image.components if is_other_build(part)}))
        summary = f"only builds without CUDA are in the image ({names}): the GPU stays unused"
    else:
        summary = "nothing of CUDA is in the image"
    return Verdict("no-cuda", None, None, None, "high", "", summary)


def _unknown(stages: Sequence[Stage]) -> Verdict:
    missing = tuple(dict.fromkeys(name for stage in stages for name in stage.missing))
    first = next((stage for stage in stages if stage.missing), stages[0])
    summary = f"cannot be told: {first.summary}"
    return Verdict("unknown", None, None, None, "low", "facts are missing", summary, missing)


def _runs(image: ImageFacts, stages: Sequence[Stage]) -> Verdict:
    path: DriverPath | None = next((stage.path for stage in stages if stage.path), None)
    limited = [stage for stage in stages if stage.status == "limited"]
    confidence, reason = _confidence(image, stages)
    how = f" {_PATH_WORDS[path]}" if path else ""
    if limited:
        why = "; ".join(stage.summary for stage in limited)
        return Verdict("runs-limited", None, path, None, confidence, reason, f"runs{how}, with limits: {why}")
    init = next((stage.summary for stage in stages if stage.stage == "init" and stage.status == "ok"), "")
    summary = f"runs{how}" + (f": {init}" if init else "")
    return Verdict("runs", None, path, None, confidence, reason, summary)


def _confidence(image: ImageFacts, stages: Sequence[Stage]) -> tuple[Confidence, str]:
    weakest = min(stages, key=lambda stage: _CONFIDENCE.index(stage.confidence))
    confidence, reason = weakest.confidence, weakest.confidence_reason
    if image.coverage.depth == "config":
        return "low", "only the config was read (--quick)"
    if not image.coverage.complete and confidence == "high":
        return "medium", "parts of the image could not be read"
    return confidence, reason


def key(verdict: Verdict) -> tuple[str, str | None, int | None, str | None]:
    """What makes two verdicts the same answer."""
    return (verdict.outcome, verdict.stage, verdict.error.code if verdict.error else None, verdict.path)


def merge(verdicts: Sequence[Verdict], depends_on: tuple[str, ...], summary: str, failing: str = "") -> Verdict:
    """One verdict for several scenarios: never better than the worst of them.

    All the same: that verdict, with the lowest confidence. All green or all failing: the worst, keeping
    what they agree on (``failing`` is the sentence where they fail at different stages). Mixed: "depends",
    or "unknown" when nothing fails but something is unknown.
    """
    worst = min(verdicts, key=lambda item: (rank(item), _CONFIDENCE.index(item.confidence)))
    outcomes = {item.outcome for item in verdicts}
    if len({key(item) for item in verdicts}) == 1:
        return worst
    if outcomes <= set(GREEN):
        return _agreeing(verdicts, worst, worst.outcome)
    if outcomes == {"fails"}:
        return _agreeing(verdicts, _first_failing(verdicts), "fails", failing)
    if "fails" not in outcomes and "depends" not in outcomes:
        return worst if worst.outcome == "unknown" else _agreeing(verdicts, worst, "unknown")
    return Verdict("depends", None, None, None, "high", "", summary, depends_on)


def _first_failing(verdicts: Sequence[Verdict]) -> Verdict:
    return min(verdicts, key=lambda item: STAGES.index(item.stage) if item.stage else len(STAGES))


def _agreeing(verdicts: Sequence[Verdict], base: Verdict, outcome: Outcome, failing: str = "") -> Verdict:
    paths = {item.path for item in verdicts}
    codes = {item.error.code if item.error else None for item in verdicts}
    stages = {item.stage for item in verdicts}
    confidence = min((item.confidence for item in verdicts), key=_CONFIDENCE.index)
    reason = next((item.confidence_reason for item in verdicts if item.confidence == confidence), "")
    return Verdict(
        outcome,
        base.stage if len(stages) == 1 or outcome == "fails" else None,
        base.path if len(paths) == 1 else None,
        base.error if len(codes) == 1 or outcome == "fails" else None,
        confidence,
        reason,
        failing if failing and len(stages) > 1 else base.summary,
    )
