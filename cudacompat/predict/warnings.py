"""Findings about the image that no single stage owns."""

from __future__ import annotations

from cudacompat.model import Finding, HostFacts, ImageFacts
from cudacompat.predict.disagreements import disagreements
from cudacompat.predict.needs import is_other_build


def image_findings(image: ImageFacts, host: HostFacts) -> tuple[Finding, ...]:
    """Contradictions inside the image, CPU builds, and what was not read."""
    return (*_disagreements(image), *_cpu_builds(image), *_coverage(image), *_host_notes(host))


def _disagreements(image: ImageFacts) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            "versions-disagree",
            "warning",
            "init",
            item.message,
            "Trust what the program loads; rebuild on a base image of the same CUDA version where you can.",
            item.evidence,
        )
        for item in disagreements(image)
    )


def _cpu_builds(image: ImageFacts) -> tuple[Finding, ...]:
    builds = [part for part in image.components if is_other_build(part)]
    if not builds:
        return ()
    part = builds[0]
    message = f"{part.name} {part.version or ''} is a {part.variant} build: it will not use an NVIDIA GPU"
    fix = "Install the CUDA build (for PyTorch: the index of the wanted CUDA version)."
    return (Finding("cpu-build", "warning", "platform", message, fix, (part.evidence,)),)


def _coverage(image: ImageFacts) -> tuple[Finding, ...]:
    if image.coverage.depth == "config":
        message = "only manifest and config were read: files, wheels and kernels in the layers were not judged"
        return (Finding("config-only", "note", None, message, "Run without --quick for the whole answer."),)
    if image.coverage.complete:
        return ()
    message = "parts of the image could not be read: " + "; ".join(image.coverage.notes[:3])
    return (Finding("incomplete-coverage", "warning", None, message, "See the coverage notes."),)


def _host_notes(host: HostFacts) -> tuple[Finding, ...]:
    fix = "Mend the host first: the prediction is for the time after it."
    faults = (Finding("host-fault", "warning", None, fault, fix) for fault in host.faults)
    return (*faults, *(Finding("host-fact-missing", "note", None, note) for note in host.notes))
