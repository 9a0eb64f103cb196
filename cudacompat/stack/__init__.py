"""The model of NVIDIA's container stack: requirements, the container request, the compat choice. Pure."""

from cudacompat.stack.compat import compat_is_mounted, compat_root, is_reached, select_compat
from cudacompat.stack.injection import (
    ModeChoice,
    compat_generations,
    file_injection,
    injections_of,
    requirement_dialect,
    runtime_injection,
)
from cudacompat.stack.request import container_request
from cudacompat.stack.requested import Request
from cudacompat.stack.requirements import (
    Alternative,
    evaluate_requirements,
    explain_requirement,
)

__all__ = [
    "Alternative",
    "ModeChoice",
    "Request",
    "compat_generations",
    "compat_is_mounted",
    "compat_root",
    "container_request",
    "evaluate_requirements",
    "explain_requirement",
    "file_injection",
    "injections_of",
    "is_reached",
    "requirement_dialect",
    "runtime_injection",
    "select_compat",
]
