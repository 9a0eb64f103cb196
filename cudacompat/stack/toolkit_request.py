"""The NVIDIA container toolkit's rules for a container's environment.

Source: NVIDIA/nvidia-container-toolkit v1.20.0, cmd/nvidia-container-runtime-hook and internal/config/image.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cudacompat.stack import semver
from cudacompat.stack.gotext import is_false, is_true, items
from cudacompat.stack.requested import CAPABILITIES, Request

_ALL = frozenset(CAPABILITIES)
_DEFAULT_CAPABILITIES = frozenset({"compute", "utility"})
_KIND = r"[A-Za-z](?:[\w.-]*[A-Za-z0-9])?"
_CDI_NAME = re.compile(rf"{_KIND}/{_KIND}=[A-Za-z0-9](?:[\w.:-]*[A-Za-z0-9])?", re.ASCII)
_DIRECT_HOOK = (
    "invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker --gpus flag) is not supported. "
    "Please use the NVIDIA Container Runtime (e.g. specify the --runtime=nvidia flag) instead"
)


class _RefusedError(Exception):
    """The runtime refuses the environment; carries its text."""


@dataclass(frozen=True, slots=True)
class _Container:
    """A container's variables, the hook's configuration, and what follows from both at once."""

    variables: Mapping[str, str]
    settings: Mapping[str, object]
    privileged: bool
    legacy: bool


def read(variables: Mapping[str, str], settings: Mapping[str, object], privileged: bool) -> Request:
    """The request that the toolkit's hook hands to nvidia-container-cli, or its refusal."""
    legacy = bool(variables.get("CUDA_VERSION")) and not variables.get("NVIDIA_REQUIRE_CUDA")
    container = _Container(variables, settings, privileged, legacy)
    devices: tuple[str, ...] | None = None
    try:
        supported = _supported(settings)
        devices = _devices(container)
        if devices is None:
            return Request(is_legacy_image=legacy)
        return _request(container, devices, supported)
    except _RefusedError as refusal:
        return Request(devices or (), error=str(refusal), is_gpu_container=True, is_legacy_image=legacy)


def _request(container: _Container, devices: tuple[str, ...], supported: frozenset[str]) -> Request:
    """In upstream's order: of several errors the first one is told, the mode's comes last."""
    variables, settings = container.variables, container.settings
    disabled = is_true(settings.get("disable-require")) or is_true(variables.get("NVIDIA_DISABLE_REQUIRE"))
    request = Request(
        devices=devices,
        mig_config=_mig("CONFIG", container),
        mig_monitor=_mig("MONITOR", container),
        imex_channels=_imex(variables),
        capabilities=_capabilities(container, supported),
        requirements=() if disabled else _requirements(container),
        is_gpu_container=True,
        is_legacy_image=container.legacy,
        disable_require=disabled,
    )
    _check_mode(settings, devices)
    return request


def _supported(settings: Mapping[str, object]) -> frozenset[str]:
    value = str(settings.get("supported-driver-capabilities", "all"))
    if value == "all":
        return _ALL
    words = frozenset(items(value))
    if not words <= _ALL:
        key, known = "supported-driver-capabilities", ",".join(CAPABILITIES)
        raise _RefusedError(f"Invalid value for config option '{key}'; {value} (supported: {known})")
    return words


def _devices(container: _Container) -> tuple[str, ...] | None:
    """The device list; None where the container asks for no GPU."""
    variables, settings = container.variables, container.settings
    swarm = [name for name in items(str(settings.get("swarm-resource") or "")) if name in variables]
    names = swarm or [name for name in ("NVIDIA_VISIBLE_DEVICES",) if name in variables]
    if names:
        listed = _listed([item for name in names for item in items(variables[name])])
    else:
        listed = ("all",) if container.legacy else None
    refused = is_false(settings.get("accept-nvidia-visible-devices-envvar-when-unprivileged"))
    return None if refused and not container.privileged else listed


def _listed(requested: list[str]) -> tuple[str, ...] | None:
    """Upstream's list, None without a request: the first "all" or "none" wins.

    Of equal entries the last one stays, and an empty entry stands for each earlier one.
    """
    if not requested or "void" in requested:
        return None
    first = next((item for item in requested if item in ("all", "none")), None)
    if first is not None:
        return ("all",) if first == "all" else ()
    last = {item: index for index, item in enumerate(requested)}
    return tuple(item if last[item] == index else "" for index, item in enumerate(requested))


def _imex(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Channels are listed by the rules for devices; "all" of them counts as none named."""
    channels = _listed(items(variables.get("NVIDIA_IMEX_CHANNELS", ""))) or ()
    return () if channels == ("all",) else channels


def _check_mode(settings: Mapping[str, object], devices: tuple[str, ...]) -> None:
    if is_true(settings.get("skip-mode-detection")):
        return
    mode = str(settings.get("mode", "auto"))
    by_cdi = bool(devices) and all(_CDI_NAME.fullmatch(device) for device in devices)
    if mode not in ("auto", "legacy") or (mode == "auto" and by_cdi):
        raise _RefusedError(_DIRECT_HOOK)


def _mig(kind: str, container: _Container) -> str | None:
    value = container.variables.get(f"NVIDIA_MIG_{kind}_DEVICES") or None
    if value is not None and not container.privileged:
        raise _RefusedError(f"cannot set MIG_{kind}_DEVICES in non privileged container")
    return value


def _capabilities(container: _Container, supported: frozenset[str]) -> tuple[str, ...]:
    value = container.variables.get("NVIDIA_DRIVER_CAPABILITIES")
    if value is None and container.legacy:
        return tuple(sorted(supported))
    if not value:
        return tuple(sorted(supported & _DEFAULT_CAPABILITIES))
    wanted = frozenset(items(value))
    if "all" in wanted:
        return tuple(sorted(supported))
    if not wanted <= supported:
        asked, allowed = ",".join(sorted(wanted)), ",".join(sorted(wanted & supported))
        raise _RefusedError(f"unsupported capabilities found in '{asked}' (allowed '{allowed}')")
    return tuple(sorted(wanted))


def _requirements(container: _Container) -> tuple[str, ...]:
    variables = container.variables
    found = [
        value
        for name, value in variables.items()
        if name.startswith("NVIDIA_REQUIRE_") and not name.startswith("NVIDIA_REQUIRE_JETPACK")
    ]
    if container.legacy:
        found.append(f"cuda>={_major_minor(variables['CUDA_VERSION'])}")
    return tuple(sorted(found))


def _major_minor(text: str) -> str:
    version = semver.parse(text)
    if version is None:
        problem = "invalid version string"
    elif not semver.fits(version.major, 32):
        problem = "invalid major version"
    elif not semver.fits(version.minor, 32):
        problem = "invalid minor version"
    else:
        return f"{version.major}.{version.minor}"
    raise _RefusedError(f"failed to get requirements failed to get version: invalid CUDA version {text}: {problem}")
