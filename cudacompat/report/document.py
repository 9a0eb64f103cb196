"""Reports, images and hosts as plain data: the public JSON. Names and meanings change only by adding."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from cudacompat.model import (
    CompatDirectory,
    Component,
    CudaError,
    Evidence,
    Finding,
    Gpu,
    HostFacts,
    ImageFacts,
    Kernels,
    Remedy,
    Report,
    Scenario,
    Stage,
    Target,
    Tool,
    Verdict,
)

Document = dict[str, object]

REPORT_SCHEMA = "cudacompat/report/v1"
REPORTS_SCHEMA = "cudacompat/reports/v1"
INSPECT_SCHEMA = "cudacompat/inspect/v1"
HOST_SCHEMA = "cudacompat/host/v1"
# Real notes have three objects or lists in them.
_DEEPEST_NOTE = 40


class EvidenceList:
    """Every piece of evidence once; others refer to it by its place."""

    def __init__(self, known: Iterable[Evidence] = ()) -> None:
        self._places: dict[Evidence, int] = {}
        self.places(known)

    def place(self, item: Evidence) -> int:
        """The item's index, added at the end when it is new."""
        return self._places.setdefault(item, len(self._places))

    def places(self, items: Iterable[Evidence]) -> list[int]:
        """The indices of several items, each once."""
        return list(dict.fromkeys(self.place(item) for item in items))

    def document(self) -> list[Document]:
        """The list as the report shows it."""
        return [
            {"kind": item.kind, "where": item.where, "layer": item.layer, "value": item.value} for item in self._places
        ]


def report_document(report: Report) -> Document:
    """A report on one image as plain data, schema id ``cudacompat/report/v1``."""
    evidence = EvidenceList(report.image.evidence)
    document: Document = {
        "schema": REPORT_SCHEMA,
        "tool": tool_document(report.tool),
        "target": target_document(report.target),
        "host": host_document(report.host),
        "verdict": verdict_document(report.verdict),
        "stages": [stage_document(stage, evidence) for stage in report.stages],
        "scenarios": [scenario_document(scenario) for scenario in report.scenarios],
        "findings": [finding_document(finding, evidence) for finding in report.findings],
        "remedies": [_remedy(remedy) for remedy in report.remedies],
        "image": image_document(report.image, evidence),
    }
    # Last, when everything that refers to it has been written.
    document["evidence"] = evidence.document()
    document["coverage"] = coverage_document(report.image)
    return document


def inspect_document(image: ImageFacts, tool: Tool) -> Document:
    """What is in an image, without any host, schema id ``cudacompat/inspect/v1``."""
    evidence = EvidenceList(image.evidence)
    document: Document = {
        "schema": INSPECT_SCHEMA,
        "tool": tool_document(tool),
        "target": target_document(image.target),
        "image": image_document(image, evidence),
    }
    document["evidence"] = evidence.document()
    document["coverage"] = coverage_document(image)
    return document


def tool_document(tool: Tool) -> Document:
    """Who says so."""
    return {"name": tool.name, "version": tool.version, "data_edition": tool.data_edition}


def target_document(target: Target) -> Document:
    """What was checked."""
    return {
        "kind": target.kind,
        "reference": target.reference,
        "digest": target.digest,
        "platform": target.platform,
        "source": target.source,
    }


def host_document(host: HostFacts) -> Document:
    """Host facts, in the form that ``--host FILE`` reads back without loss."""
    return {
        "driver": host.driver,
        "driver_cuda": host.driver_cuda,
        "os": host.os,
        "machine": host.machine,
        "injection": host.injection,
        "toolkit": host.toolkit,
        "docker": host.docker,
        "gpus": [gpu_document(gpu) for gpu in host.gpus or ()],
        "gpu_count": None if host.gpus is None else len(host.gpus),
        "origin": host.origin,
        "notes": list(host.notes),
        "details": list(host.details),
        "faults": list(host.faults),
    }


def gpu_document(gpu: Gpu) -> Document:
    """One board as plain data."""
    return {
        "name": gpu.name,
        "compute_capability": gpu.compute_capability,
        "brands": list(gpu.brands),
        "uuid": gpu.uuid,
        "architecture": gpu.architecture,
        "forward_compat": gpu.forward_compat,
        "mig": list(gpu.mig),
        "mig_profiles": list(gpu.mig_profiles),
        "mig_enabled": gpu.mig_enabled,
        "memory_mib": gpu.memory_mib,
    }


def verdict_document(verdict: Verdict) -> Document:
    """The answer."""
    return {
        "outcome": verdict.outcome,
        "stage": verdict.stage,
        "path": verdict.path,
        "error": _error(verdict.error),
        "confidence": verdict.confidence,
        "confidence_reason": verdict.confidence_reason,
        "depends_on": list(verdict.depends_on),
        "summary": verdict.summary,
    }


def _error(error: CudaError | None) -> Document | None:
    return None if error is None else {"code": error.code, "name": error.name, "message": error.message}


def stage_document(stage: Stage, evidence: EvidenceList) -> Document:
    """A stage; its evidence by place."""
    return {
        "stage": stage.stage,
        "status": stage.status,
        "summary": stage.summary,
        "evidence": evidence.places(stage.evidence),
        "error": _error(stage.error),
        "path": stage.path,
        "confidence": stage.confidence,
        "confidence_reason": stage.confidence_reason,
        "missing": list(stage.missing),
    }


def scenario_document(scenario: Scenario) -> Document:
    """A scenario."""
    return {
        "given": dict(scenario.given),
        "text": scenario.text,
        "verdict": verdict_document(scenario.verdict),
    }


def finding_document(finding: Finding, evidence: EvidenceList) -> Document:
    """A finding; its evidence by place."""
    location = finding.location
    return {
        "rule": finding.rule,
        "level": finding.level,
        "stage": finding.stage,
        "message": finding.message,
        "fix": finding.fix,
        "evidence": evidence.places(finding.evidence),
        "location": None if location is None else {"path": location.path, "line": location.line},
    }


def _remedy(remedy: Remedy) -> Document:
    change = {"kind": remedy.change.kind, "text": remedy.change.text}
    return {"change": change, "verdict": verdict_document(remedy.verdict)}


def image_document(image: ImageFacts, evidence: EvidenceList) -> Document:
    """The image's parts; their evidence goes into the list."""
    return {
        "components": [_component(part, evidence) for part in image.components],
        "requirements": requirements(image),
        "compat": compat_document(image.compat),
        "compat_directories": [_compat(directory) for directory in image.compat],
        "kernels": [_kernels(item) for item in image.kernels],
        "platforms": list(image.available_platforms),
    }


def _component(part: Component, evidence: EvidenceList) -> Document:
    return {
        "name": part.name,
        "version": part.version,
        "cuda": part.cuda,
        "variant": part.variant,
        "linkage": part.linkage,
        "path": part.path,
        "layer": part.layer,
        "found_by": part.found_by,
        "evidence": evidence.place(part.evidence),
    }


def requirements(image: ImageFacts) -> dict[str, str]:
    """The NVIDIA_REQUIRE_* variables of the image; of duplicates the last one counts."""
    pairs = (entry.partition("=") for entry in image.config.env)
    return {name: value for name, _, value in pairs if name.startswith("NVIDIA_REQUIRE_")}


def compat_document(directories: Sequence[CompatDirectory]) -> Document | None:
    """The compat directory that NVIDIA's stack looks at, else the first one, else None."""
    standard = [directory for directory in directories if directory.standard]
    return _compat((standard or list(directories))[0]) if directories else None


def _compat(directory: CompatDirectory) -> Document:
    return {
        "directory": directory.directory,
        "libcuda": directory.libcuda,
        "note": _note(directory.note),
        "standard": directory.standard,
        "layer": directory.layer,
    }


def _note(text: str | None) -> object:
    """The ELF note as data; its text where it is no JSON object, or one that no real package has."""
    if text is None or text.count("{") + text.count("[") > _DEEPEST_NOTE:
        return text
    try:
        loaded = json.loads(text, parse_constant=_refuse)
    except ValueError:
        return text
    return loaded if isinstance(loaded, dict) else text


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} cannot be written as JSON again")


def _kernels(item: Kernels) -> Document:
    return {
        "path": item.path,
        "sass": list(item.sass),
        "ptx": [{"arch": ptx.arch, "isa": ptx.isa} for ptx in item.ptx],
        "component": item.component,
        "origin": item.origin,
        "decides": item.decides,
        "layer": item.layer,
    }


def coverage_document(image: ImageFacts) -> Document:
    """How much of the image was read."""
    coverage = image.coverage
    return {
        "depth": coverage.depth,
        "complete": coverage.complete,
        "layers_read": coverage.layers_read,
        "layers": coverage.layers,
        "notes": list(coverage.notes),
    }
