"""Pure prediction: facts in, prediction out. Nothing here reads or writes anything but the bundled tables."""

from __future__ import annotations

from dataclasses import replace

from cudacompat import tables
from cudacompat.model import Finding, HostFacts, ImageFacts, Prediction
from cudacompat.predict.remedies import remedies
from cudacompat.predict.scenarios import judge
from cudacompat.predict.warnings import image_findings
from cudacompat.stack import file_injection

__all__ = ["predict"]

_LEVELS = ("error", "warning", "note")


def predict(image: ImageFacts, host: HostFacts) -> Prediction:
    """Predict what `docker run --gpus` (or the host's own way) does with an image on a host.

    Facts of the host that are None are not guessed: every value they can have is played through, and the
    answers are merged ("depends" where they differ). Never raises on well-formed facts.
    """
    filled = with_driver_cuda(replace(host, injection=file_injection(image.target.source, host.injection)))
    merged = judge(image, filled)
    findings = (*merged.findings, *image_findings(image, filled))
    return Prediction(
        verdict=merged.verdict,
        stages=merged.stages,
        scenarios=merged.scenarios,
        findings=_ordered(findings),
        remedies=remedies(image, filled, merged.verdict),
    )


def with_driver_cuda(host: HostFacts) -> HostFacts:
    """The host with the CUDA version that its driver's branch reports, where nobody gave it."""
    if host.driver is None or host.driver_cuda is not None:
        return host
    return replace(host, driver_cuda=tables.driver_cuda(host.driver, os=host.os).value)


def _ordered(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: _LEVELS.index(finding.level)))
