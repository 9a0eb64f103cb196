"""Asks NVML and prints the answers as one JSON object. Runs as a script, in a process of its own.

A driver in trouble can hang or crash whoever calls into it, so this is never imported by the rest. It needs
nvidia-ml-py and nothing of ours. Each answer is a value, or ``{"error": NVML's code, "text": its words}``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_MOST_GPUS = 256
_MOST_INSTANCES = 64


def attempt(question: Callable[[], Any]) -> Any:
    """The answer, or the error as data. NVML's texts may be anything, so any exception can come."""
    try:
        return question()
    except Exception as error:
        code = getattr(error, "value", None)
        return {"error": code if isinstance(code, int) else None, "text": _words(error)}


def _words(error: Exception) -> str:
    try:
        return str(error)[:200]
    except Exception:
        return type(error).__name__


def machine(nvml: Any) -> dict[str, Any]:
    """Everything about the machine. NVML must be initialised."""
    count = attempt(nvml.nvmlDeviceGetCount)
    number = min(count, _MOST_GPUS) if isinstance(count, int) else 0
    return {
        "driver": attempt(nvml.nvmlSystemGetDriverVersion),
        "cuda": attempt(nvml.nvmlSystemGetCudaDriverVersion),
        "count": count,
        "gpus": [gpu(nvml, index) for index in range(number)],
    }


def gpu(nvml: Any, index: int) -> dict[str, Any]:
    """Everything about one GPU."""
    handle = attempt(lambda: nvml.nvmlDeviceGetHandleByIndex(index))
    if isinstance(handle, dict):
        return {"handle": handle}
    mode = attempt(lambda: nvml.nvmlDeviceGetMigMode(handle))
    return {
        "name": attempt(lambda: nvml.nvmlDeviceGetName(handle)),
        "uuid": attempt(lambda: nvml.nvmlDeviceGetUUID(handle)),
        "brand": attempt(lambda: nvml.nvmlDeviceGetBrand(handle)),
        "compute_capability": attempt(lambda: nvml.nvmlDeviceGetCudaComputeCapability(handle)),
        "memory": attempt(lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total),
        "mig_mode": mode,
        "mig": instances(nvml, handle) if isinstance(mode, list) and mode[0] == 1 else [],
    }


def instances(nvml: Any, handle: Any) -> list[dict[str, Any]]:
    """The MIG instances of a GPU; places without one are left out."""
    most = attempt(lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(handle))
    found = []
    for index in range(min(most, _MOST_INSTANCES) if isinstance(most, int) else 0):
        one = _instance(nvml, handle, index)
        if one is not None:
            found.append(one)
    return found


def _instance(nvml: Any, handle: Any, index: int) -> dict[str, Any] | None:
    instance = attempt(lambda: nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index))
    if isinstance(instance, dict):
        return None
    return {
        "name": attempt(lambda: nvml.nvmlDeviceGetName(instance)),
        "uuid": attempt(lambda: nvml.nvmlDeviceGetUUID(instance)),
    }


def main() -> None:
    """Print the answers."""
    try:
        import pynvml
    except Exception as error:
        print(json.dumps({"binding": _words(error)}))
        return
    started = attempt(pynvml.nvmlInit)
    print(json.dumps({"init": started} if isinstance(started, dict) else machine(pynvml)))


if __name__ == "__main__":
    main()
