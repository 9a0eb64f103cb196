"""What the container runtime reads from a container's environment: devices, capabilities, requirements.

Source: NVIDIA/nvidia-container-toolkit v1.20.0 (cmd/nvidia-container-runtime-hook, internal/config/image) and
NVIDIA/enroot conf/hooks/98-nvidia.sh for ``runtime="enroot"``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cudacompat.stack import semver

Runtime = Literal["toolkit", "enroot"]

CAPABILITIES = ("compat32", "compute", "display", "graphics", "ngx", "utility", "video")
_DEFAULT_CAPABILITIES = frozenset({"compute", "utility"})
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_CDI_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*=[\w.:-]+")
_DIRECT_HOOK = (
    "invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker --gpus flag) is not supported. "
    "Please use the NVIDIA Container Runtime (e.g. specify the --runtime=nvidia flag) instead"
)


@dataclass(frozen=True, slots=True)
class Request:
    """The request that a runtime would carry out.

    ``devices`` are the entries of the device list, empty for "none" and for containers without a request;
    ``capabilities`` and ``requirements`` are sorted. ``error`` is the text of a refusal, None without one.
    ``is_gpu_container`` False: the runtime does nothing at all.
    """

    devices: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    error: str | None = None
    is_gpu_container: bool = False
    is_legacy_image: bool = False
    disable_require: bool = False
    imex_channels: tuple[str, ...] = ()
    mig_config: str | None = None
    mig_monitor: str | None = None


class _RefusedError(Exception):
    """The runtime refuses the environment; carries its text."""


def container_request(
    env: Sequence[str],
    *,
    privileged: bool = False,
    config: Mapping[str, object] | None = None,
    runtime: Runtime = "toolkit",
) -> Request:
    """Read a request from "NAME=value" entries; of duplicates the last one counts.

    ``config`` holds keys of /etc/nvidia-container-runtime/config.toml, dotted or nested, for example
    {"disable-require": True}. ``privileged`` means CAP_SYS_ADMIN in the bounding set. Never raises: a
    refusal is the request's ``error``.
    """
    variables = dict(entry.split("=", 1) for entry in env if "=" in entry)
    if runtime == "enroot":
        return _enroot(variables)
    settings = _flatten(config or {})
    legacy = bool(variables.get("CUDA_VERSION")) and not variables.get("NVIDIA_REQUIRE_CUDA")
    devices = _devices(variables, settings, legacy, privileged)
    if devices is None:
        return Request(is_legacy_image=legacy)
    try:
        return _toolkit(variables, settings, legacy, privileged, devices)
    except _RefusedError as refusal:
        return Request(devices, error=str(refusal), is_gpu_container=True, is_legacy_image=legacy)


def _flatten(config: Mapping[str, object]) -> dict[str, object]:
    """Keys by their last part: "nvidia-container-runtime.mode" and {"mode": ...} are the same."""
    flat: dict[str, object] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat.update(_flatten(value))
        else:
            flat[key.rpartition(".")[2]] = value
    return flat


def _toolkit(
    variables: Mapping[str, str],
    settings: Mapping[str, object],
    legacy: bool,
    privileged: bool,
    devices: tuple[str, ...],
) -> Request:
    _check_mode(settings, devices)
    mig_config = _mig("CONFIG", variables, privileged)
    mig_monitor = _mig("MONITOR", variables, privileged)
    capabilities = _capabilities(variables, settings, legacy)
    disabled = _is_true(settings.get("disable-require")) or variables.get("NVIDIA_DISABLE_REQUIRE") in _TRUE
    return Request(
        devices=devices,
        capabilities=capabilities,
        requirements=() if disabled else _requirements(variables, legacy),
        is_gpu_container=True,
        is_legacy_image=legacy,
        disable_require=disabled,
        imex_channels=_imex(variables),
        mig_config=mig_config,
        mig_monitor=mig_monitor,
    )


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value in _TRUE)


def _is_false(value: object) -> bool:
    return value is False or (isinstance(value, str) and value in ("0", "f", "F", "false", "FALSE", "False"))


def _devices(
    variables: Mapping[str, str], settings: Mapping[str, object], legacy: bool, privileged: bool
) -> tuple[str, ...] | None:
    """The device list; None where the container asks for no GPU."""
    names = [name.strip() for name in str(settings.get("swarm-resource") or "").split(",") if name.strip()]
    present = [name for name in names if name in variables]
    if present:
        requested = ",".join(variables[name] for name in present)
    elif "NVIDIA_VISIBLE_DEVICES" in variables:
        requested = variables["NVIDIA_VISIBLE_DEVICES"]
    elif legacy:
        requested = "all"
    else:
        return None
    items = [item.strip() for item in requested.split(",") if item.strip()]
    if not items or "void" in items:
        return None
    refused = settings.get("accept-nvidia-visible-devices-envvar-when-unprivileged")
    if _is_false(refused) and not privileged:
        return None
    return _listed(items)


def _listed(items: list[str]) -> tuple[str, ...]:
    """Upstream's list: the first "all" or "none" wins; an earlier duplicate leaves an empty entry."""
    first = next((item for item in items if item in ("all", "none")), None)
    if first is not None:
        return ("all",) if first == "all" else ()
    last = {item: index for index, item in enumerate(items)}
    return tuple(item if last[item] == index else "" for index, item in enumerate(items))


def _check_mode(settings: Mapping[str, object], devices: tuple[str, ...]) -> None:
    mode = str(settings.get("mode") or "auto")
    by_cdi = bool(devices) and all(_CDI_NAME.fullmatch(device) for device in devices)
    if mode in ("cdi", "csv", "jit-cdi") or (mode == "auto" and by_cdi):
        raise _RefusedError(_DIRECT_HOOK)


def _mig(kind: str, variables: Mapping[str, str], privileged: bool) -> str | None:
    value = variables.get(f"NVIDIA_MIG_{kind}_DEVICES") or None
    if value is not None and not privileged:
        raise _RefusedError(f"cannot set MIG_{kind}_DEVICES in non privileged container")
    return value


def _capabilities(variables: Mapping[str, str], settings: Mapping[str, object], legacy: bool) -> tuple[str, ...]:
    supported = _words(str(settings.get("supported-driver-capabilities") or "all"))
    known = set(CAPABILITIES) if "all" in supported else supported & set(CAPABILITIES)
    value = variables.get("NVIDIA_DRIVER_CAPABILITIES")
    if value is None and legacy:
        return tuple(sorted(known))
    wanted = _words(value or "")
    if not wanted:
        return tuple(sorted(known & _DEFAULT_CAPABILITIES))
    if "all" in wanted:
        return tuple(sorted(known))
    allowed = known & wanted
    if allowed != wanted:
        asked, got = ",".join(_ordered_words(value or "")), ",".join(sorted(allowed))
        raise _RefusedError(f"unsupported capabilities found in '{asked}' (allowed '{got}')")
    return tuple(sorted(allowed))


def _ordered_words(text: str) -> list[str]:
    return sorted({word.strip() for word in text.split(",") if word.strip()})


def _words(text: str) -> set[str]:
    return set(_ordered_words(text))


def _requirements(variables: Mapping[str, str], legacy: bool) -> tuple[str, ...]:
    found = [
        value
        for name, value in variables.items()
        if name.startswith("NVIDIA_REQUIRE_") and not name.startswith("NVIDIA_REQUIRE_JETPACK")
    ]
    if legacy:
        found.append(f"cuda>={_major_minor(variables['CUDA_VERSION'])}")
    return tuple(sorted(found))


def _major_minor(text: str) -> str:
    version = semver.parse(text)
    if version is None:
        raise _RefusedError(
            f"failed to get requirements failed to get version: invalid CUDA version {text}: invalid version string"
        )
    return f"{version.major}.{version.minor}"


def _imex(variables: Mapping[str, str]) -> tuple[str, ...]:
    items = [item.strip() for item in variables.get("NVIDIA_IMEX_CHANNELS", "").split(",") if item.strip()]
    return tuple(item for item in items if item != "all")


def _enroot(variables: Mapping[str, str]) -> Request:
    """enroot's own hook: utility alone by default, no rule for CUDA_VERSION, any text disables the check."""
    requested = variables.get("NVIDIA_VISIBLE_DEVICES", "")
    if requested in ("", "void"):
        return Request()
    devices = () if requested == "none" else tuple(requested.split(","))
    words = _ordered_words(variables.get("NVIDIA_DRIVER_CAPABILITIES") or "utility")
    if "all" in words:
        words = [word for word in CAPABILITIES if word != "ngx"]
    unknown = [word for word in words if word not in CAPABILITIES or word == "ngx"]
    if unknown:
        text = f"Unknown NVIDIA driver capability: {unknown[0]}"
        return Request(devices, error=text, is_gpu_container=True)
    disabled = bool(variables.get("NVIDIA_DISABLE_REQUIRE"))
    found = sorted(value for name, value in variables.items() if name.startswith("NVIDIA_REQUIRE_"))
    return Request(
        devices=devices,
        capabilities=tuple(words),
        requirements=() if disabled else tuple(found),
        is_gpu_container=True,
        disable_require=disabled,
    )
