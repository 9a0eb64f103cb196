"""Which GPU runs which target: the rules of machine code and PTX.

Source: NVIDIA CUDA C++ Programming Guide, "Compute Capabilities" and "Family-Specific Features": machine
code runs on the same major version with the same or a newer minor version; an "a" target on exactly its own
version; an "f" target on its family, the same major version from its minor version on; PTX compiles for its
own and every newer version.

Tegra stands apart: the guide's "Binary Compatibility" excludes it, in both directions. jax-ml/jax#40492
measured sm_80 code failing on Orin (8.7) where sm_87 code and PTX 8.0 run, vllm-project/vllm#19328 likewise,
and PyTorch's own table of devices says the same. Drivers of CUDA 13, where Arm servers and Jetson share one
toolkit, are reported to run server code on Orin (nvidia-holoscan/holohub#1687).
"""

from __future__ import annotations

import re

from cudacompat.model import Kernels

# Integrated GPUs. CUDA 13 renamed Thor's 10.1 to 11.0.
TEGRA = ("3.2", "5.3", "6.2", "7.2", "8.7", "10.1", "11.0")
_RENAMED = {(10, 1): (11, 0)}
SHARED_TOOLKIT = (13, 0)


def split_target(target: str) -> tuple[int, int, str]:
    """ "103f" as (10, 3, "f"); (0, 0, "") when it is no target."""
    match = re.fullmatch(r"(\d+)(\d)([af]?)", target)
    return (int(match[1]), int(match[2]), match[3]) if match else (0, 0, "")


def split_capability(capability: str) -> tuple[int, int]:
    """ "12.1" as (12, 1)."""
    major, _, minor = capability.partition(".")
    return int(major), int(minor or 0)


def sass_runs_on(target: str, capability: str, *, shared_toolkit: bool = False) -> bool:
    """Whether machine code of a target ("86", "90a", "100f") runs on a compute capability ("8.9").

    ``shared_toolkit``: the driver is of CUDA 13 or newer, where Tegra also takes the code of servers.
    """
    major, minor, suffix = split_target(target)
    if is_own_target(target, capability):
        return True
    have = split_capability(capability)
    if suffix == "a" or (not shared_toolkit and (capability in TEGRA or f"{major}.{minor}" in TEGRA)):
        return False
    return have[0] == major and have[1] >= minor


def is_own_target(target: str, capability: str) -> bool:
    """Whether machine code was made for exactly this compute capability, under either of Thor's names."""
    made_for, have = split_target(target)[:2], split_capability(capability)
    return _RENAMED.get(made_for, made_for) == _RENAMED.get(have, have)


def ptx_compiles_for(arch: str, capability: str) -> bool:
    """Whether PTX of an arch can be compiled for a compute capability, the driver's version aside."""
    major, minor, suffix = split_target(arch)
    have = split_capability(capability)
    if suffix == "a":
        return have == (major, minor)
    if suffix == "f":
        return have[0] == major and have[1] >= minor
    return have >= (major, minor) and major > 0


def describe(file: Kernels) -> str:
    """Device code in one line: "sm_75 80 86 90a + PTX 12.0 (ISA 9.0)"."""
    sass = " ".join(file.sass)
    parts = [f"sm_{sass}"] if sass else []
    for ptx in file.ptx:
        major, minor, suffix = split_target(ptx.arch)
        parts.append(f"PTX {major}.{minor}{suffix} (ISA {ptx.isa})")
    return " + ".join(parts) or "no device code"
