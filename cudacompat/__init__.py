"""Predict whether a container image will run on an NVIDIA GPU host, how, and what mends it.

>>> import cudacompat
>>> report = cudacompat.check("registry:repo/app:1.2", driver="535.104.05", gpus=["A100"])  # doctest: +SKIP

Names are loaded on first use, so that a program pays only for what it calls.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cudacompat._version import __version__
from cudacompat.errors import DataError, Error, HostError, TargetError, UsageError

# Not lazy: a first import of the package cudacompat.predict would put the module in the function's place.
from cudacompat.predict import predict

if TYPE_CHECKING:
    from cudacompat import stack
    from cudacompat.api import check, host_facts, inspect
    from cudacompat.binaries import read_fatbins
    from cudacompat.model import HostFacts, ImageFacts, Prediction, Report

_LAZY = {
    "check": "cudacompat.api",
    "inspect": "cudacompat.api",
    "host_facts": "cudacompat.api",
    "read_fatbins": "cudacompat.binaries",
    "HostFacts": "cudacompat.model",
    "ImageFacts": "cudacompat.model",
    "Prediction": "cudacompat.model",
    "Report": "cudacompat.model",
}

__all__ = [
    "DataError",
    "Error",
    "HostError",
    "HostFacts",
    "ImageFacts",
    "Prediction",
    "Report",
    "TargetError",
    "UsageError",
    "__version__",
    "check",
    "host_facts",
    "inspect",
    "predict",
    "read_fatbins",
    "stack",
]


def __getattr__(name: str) -> object:
    if name == "stack":
        return importlib.import_module("cudacompat.stack")
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'cudacompat' has no attribute {name!r}")
