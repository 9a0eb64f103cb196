"""Frozen dataclasses that cross the borders between rooms. No input or output, no imports of ours."""

from cudacompat.model.evidence import Coverage, Evidence, EvidenceKind
from cudacompat.model.host import Gpu, HostFacts
from cudacompat.model.image import (
    CompatDirectory,
    Component,
    ImageConfig,
    ImageFacts,
    Kernels,
    Ptx,
    SharedLibrary,
    Target,
)
from cudacompat.model.prediction import (
    Change,
    CudaError,
    Finding,
    Location,
    Prediction,
    Remedy,
    Scenario,
    Stage,
    Verdict,
)
from cudacompat.model.report import Report, Tool

__all__ = [
    "Change",
    "CompatDirectory",
    "Component",
    "Coverage",
    "CudaError",
    "Evidence",
    "EvidenceKind",
    "Finding",
    "Gpu",
    "HostFacts",
    "ImageConfig",
    "ImageFacts",
    "Kernels",
    "Location",
    "Prediction",
    "Ptx",
    "Remedy",
    "Report",
    "Scenario",
    "SharedLibrary",
    "Stage",
    "Target",
    "Tool",
    "Verdict",
]
