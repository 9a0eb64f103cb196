"""Our own host object: what ``cudacompat host --format json`` prints, and a report's "host"."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast, get_args

from cudacompat.errors import HostError, UsageError
from cudacompat.host.boards import capability_only, named_gpu
from cudacompat.host.values import compute_capability, cuda_version, driver_version, release
from cudacompat.model import Gpu, HostFacts
from cudacompat.model.host import INJECTIONS, HostOs, Injection

_KEYS = (
    "schema",
    "driver",
    "driver_cuda",
    "os",
    "machine",
    "injection",
    "toolkit",
    "docker",
    "gpus",
    "gpu_count",
    # The names of the options, for files written by hand.
    "toolkit_version",
    "docker_version",
    "compute_capability",
    "origin",
    "notes",
    "details",
    "faults",
)
_MOST_GPUS = 1024


def matches(text: str) -> bool:
    """Whether a text is a JSON object."""
    return text.lstrip().startswith("{")


def parse(text: str, origin: str) -> HostFacts:
    """Host facts from the JSON text: the host object, or a whole report that holds one. Raises HostError."""
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HostError(f"{origin} is not JSON: {error}") from error
    given = loaded.get("host", loaded)
    if not isinstance(given, dict):
        raise HostError(f"{origin}: 'host' is no object")
    try:
        return _facts(given, origin)
    except UsageError as error:
        raise HostError(f"{origin}: {error}") from error


def _facts(given: Mapping[str, object], origin: str) -> HostFacts:
    driver, cuda = _text(given, "driver"), _text(given, "driver_cuda")
    toolkit = _text(given, "toolkit") or _text(given, "toolkit_version")
    docker = _text(given, "docker") or _text(given, "docker_version")
    return HostFacts(
        driver=driver_version(driver) if driver is not None else None,
        driver_cuda=cuda_version(cuda) if cuda is not None else None,
        os=cast("HostOs", _word(given, "os", get_args(HostOs)) or "linux"),
        machine=_word(given, "machine", ("amd64", "arm64")),
        gpus=_gpus(given),
        injection=cast("Injection | None", _word(given, "injection", INJECTIONS)),
        toolkit=release(toolkit) if toolkit is not None else None,
        docker=release(docker) if docker is not None else None,
        origin=origin,
        notes=(*_texts(given, "notes"), *_unknown_keys(given, origin)),
        details=_texts(given, "details"),
        faults=_texts(given, "faults"),
    )


def _unknown_keys(given: Mapping[str, object], origin: str) -> tuple[str, ...]:
    """A newer release may write more: such keys are named and left out, so that a slip of the pen shows."""
    return tuple(f"{origin}: the key {key[:40]!r} is not known and was left out" for key in given if key not in _KEYS)


def _text(given: Mapping[str, object], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{key!r} must be a text in quotes: 12.10 and 12.1 are the same number")
    return value


def _word(given: Mapping[str, object], key: str, choices: tuple[str, ...]) -> str | None:
    value = _text(given, key)
    if value is not None and value not in choices:
        raise UsageError(f"{key!r} is {value[:40]!r}, expected one of {', '.join(choices)}")
    return value


def _texts(given: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = given.get(key) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{key!r} must be a list of texts")
    return tuple(value)


def _gpus(given: Mapping[str, object]) -> tuple[Gpu, ...] | None:
    """The host's GPUs. An empty list says nothing unless "gpu_count" is 0: then there is none."""
    value = given.get("gpus") or []
    if not isinstance(value, list) or len(value) > _MOST_GPUS:
        raise UsageError("'gpus' must be a list")
    capability = _text(given, "compute_capability")
    if not value and capability is not None:
        return (capability_only(compute_capability(capability)),)
    if not value:
        return () if given.get("gpu_count") == 0 else None
    return tuple(_gpu(item) for item in value)


def _gpu(value: object) -> Gpu:
    if isinstance(value, str):
        return named_gpu(value)
    if not isinstance(value, dict):
        raise UsageError("each of 'gpus' must be a name or an object")
    name, capability = _text(value, "name"), _text(value, "compute_capability")
    known = _known(name, capability, complete="brands" in value and "forward_compat" in value)
    return Gpu(
        name=name,
        compute_capability=known.compute_capability,
        brands=_texts(value, "brands") or known.brands,
        uuid=_text(value, "uuid"),
        forward_compat=_flag(value, "forward_compat") if "forward_compat" in value else known.forward_compat,
        architecture=_text(value, "architecture") or known.architecture,
        mig=_texts(value, "mig"),
        mig_profiles=_texts(value, "mig_profiles"),
        mig_enabled=_flag(value, "mig_enabled"),
        memory_mib=_count(value, "memory_mib"),
    )


def _known(name: str | None, capability: str | None, *, complete: bool) -> Gpu:
    """What the table adds to an object; nothing to a complete one, which comes from our own report."""
    if complete:
        return Gpu(name, compute_capability(capability) if capability else None)
    if name is None and capability is None:
        raise UsageError("one of 'gpus' has neither 'name' nor 'compute_capability'")
    if name is None:
        return capability_only(capability or "")
    return named_gpu(name, capability)


def _flag(given: Mapping[str, object], key: str) -> bool | None:
    value = given.get(key)
    if value is not None and not isinstance(value, bool):
        raise UsageError(f"{key!r} must be true, false or null")
    return value


def _count(given: Mapping[str, object], key: str) -> int | None:
    value = given.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise UsageError(f"{key!r} must be a number of 0 or more, or null")
    return value
