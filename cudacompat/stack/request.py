"""What a container runtime reads from a container's environment: devices, capabilities, requirements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from cudacompat.stack import enroot_request, toolkit_request
from cudacompat.stack.requested import Request

Runtime = Literal["toolkit", "enroot"]


def container_request(
    env: Sequence[str],
    *,
    privileged: bool = False,
    config: Mapping[str, object] | None = None,
    runtime: Runtime = "toolkit",
) -> Request:
    """Read a request from "NAME=value" entries; of duplicates the last one counts.

    ``config`` holds keys of /etc/nvidia-container-runtime/config.toml, dotted or nested, for example
    {"disable-require": True}. ``privileged`` means CAP_SYS_ADMIN in the bounding set. Entries without "="
    are left out, as container engines leave them out. Never raises: a refusal is the request's ``error``.
    """
    variables = dict(entry.split("=", 1) for entry in env if "=" in entry)
    if runtime == "enroot":
        return enroot_request.read(variables)
    return toolkit_request.read(variables, _flatten(config or {}), privileged)


def _flatten(config: Mapping[str, object]) -> dict[str, object]:
    """Keys by their last part: "nvidia-container-runtime.mode" and {"mode": ...} are the same."""
    flat: dict[str, object] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat.update(_flatten(value))
        else:
            flat[key.rpartition(".")[2]] = value
    return flat
