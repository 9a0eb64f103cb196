"""What ``nvidia-smi -L`` prints: one line for each GPU, and below it one for each MIG instance."""

from __future__ import annotations

import re
from dataclasses import replace

from cudacompat.host.boards import observed_gpu
from cudacompat.model import Gpu, HostFacts

_GPU = re.compile(r"GPU \d+: (.{1,200}?) \(UUID: (GPU-[\w-]{1,100})\)", re.ASCII)
# "  MIG 1g.5gb      Device  0: (UUID: MIG-...)"; old drivers: "MIG-GPU-.../7/0"
_INSTANCE = re.compile(r"\s+MIG (\S{1,40})\s+Device\s+\d+: \(UUID: (MIG-[\w/-]{1,120})\)", re.ASCII)


def matches(text: str) -> bool:
    """Whether a text begins with such a line."""
    return _GPU.match(text.lstrip()) is not None


def parse(text: str, origin: str) -> HostFacts:
    """GPUs and their instances. The list names no driver."""
    gpus: list[Gpu] = []
    notes: list[str] = []
    for line in text.splitlines():
        board, instance = _GPU.match(line), _INSTANCE.match(line)
        if board is not None:
            gpu, note = observed_gpu(board[1], uuid=board[2])
            gpus.append(gpu)
            notes += [note] if note else []
        elif instance is not None and gpus:
            gpus[-1] = _with_instance(gpus[-1], instance[1], instance[2])
    return HostFacts(gpus=tuple(gpus), origin=origin, notes=tuple(dict.fromkeys(notes)))


def _with_instance(gpu: Gpu, profile: str, uuid: str) -> Gpu:
    return replace(gpu, mig_enabled=True, mig=(*gpu.mig, uuid), mig_profiles=(*gpu.mig_profiles, profile))
