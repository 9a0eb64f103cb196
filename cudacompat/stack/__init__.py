"""The model of NVIDIA's container stack: requirements, the container request, the compat choice. Pure."""

from cudacompat.stack.compat import compat_is_mounted, select_compat
from cudacompat.stack.injection import ModeChoice, compat_generations, injections_of, requirement_dialect
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
    "container_request",
    "evaluate_requirements",
    "explain_requirement",
    "injections_of",
    "requirement_dialect",
    "select_compat",
]
