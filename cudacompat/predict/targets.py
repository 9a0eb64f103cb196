"""Which GPU runs which target: the rules of machine code and PTX.

Source: NVIDIA CUDA C++ Programming Guide, "Compute Capabilities" and "Family-Specific Features": machine
code runs on the same major version with the same or a newer minor version; an "a" target on exactly its own
version; an "f" target on its family, the same major version from its minor version on; PTX compiles for its
own and every newer version.
"""

from __future__ import annotations

import re

from cudacompat.model import Kernels


def split_target(target: str) -> tuple[int, int, str]:
    """ "103f" as (10, 3, "f"); (0, 0, "") when it is no target."""
    match = re.fullmatch(r"(\d+)(\d)([af]?)", target)
    return (int(match[1]), int(match[2]), match[3]) if match else (0, 0, "")


def split_capability(capability: str) -> tuple[int, int]:
    """ "12.1" as (12, 1)."""
    major, _, minor = capability.partition(".")
    return int(major), int(minor or 0)


def sass_runs_on(target: str, capability: str) -> bool:
    """Whether machine code of a target ("86", "90a", "100f") runs on a compute capability ("8.9")."""
    major, minor, suffix = split_target(target)
    have = split_capability(capability)
    if suffix == "a":
        return have == (major, minor)
    return have[0] == major and have[1] >= minor


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
