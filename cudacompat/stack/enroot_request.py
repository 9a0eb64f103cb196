"""enroot's own rules: utility alone by default, no rule for CUDA_VERSION, any text disables the check.

Source: NVIDIA/enroot conf/hooks/98-nvidia.sh, a shell script: words split at blanks as well as at commas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cudacompat.stack.requested import CAPABILITIES, Request

_KNOWN = tuple(name for name in CAPABILITIES if name != "ngx")


def read(variables: Mapping[str, str]) -> Request:
    """The request that enroot hands to nvidia-container-cli."""
    requested = variables.get("NVIDIA_VISIBLE_DEVICES", "")
    if requested in ("", "void"):
        return Request()
    devices = () if requested == "none" else tuple(requested.split(","))
    wanted: set[str] = set()
    for word in re.findall(r"[^, \t\n]+", variables.get("NVIDIA_DRIVER_CAPABILITIES") or "utility"):
        if word == "all":
            wanted.update(_KNOWN)
            break
        if word not in _KNOWN:
            return Request(devices, error=f"Unknown NVIDIA driver capability: {word}", is_gpu_container=True)
        wanted.add(word)
    disabled = bool(variables.get("NVIDIA_DISABLE_REQUIRE"))
    names = [] if disabled else sorted(name for name in variables if name.startswith("NVIDIA_REQUIRE_"))
    return Request(
        devices=devices,
        capabilities=tuple(sorted(wanted)),
        requirements=tuple(variables[name] for name in names),
        is_gpu_container=True,
        disable_require=disabled,
    )
