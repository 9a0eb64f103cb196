"""Named hosts in a config file: ``[profiles.prod-a100]`` with a driver, GPUs and how containers get them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cudacompat.errors import UsageError
from cudacompat.host.options import HostOptions, with_options
from cudacompat.model import HostFacts

# Key in the file -> field of HostOptions; the first spelling of each is the one that sentences name.
_KEYS: Mapping[str, str] = {
    "driver": "driver",
    "driver_cuda": "driver_cuda",
    "gpus": "gpus",
    "gpu": "gpus",
    "compute_capability": "compute_capability",
    "os": "os",
    "host_os": "os",
    "injection": "injection",
    "toolkit_version": "toolkit",
    "toolkit": "toolkit",
    "docker_version": "docker",
    "docker": "docker",
}
_HOST = "host"
_SSH = "ssh://"


@dataclass(frozen=True, slots=True)
class Profile:
    """A named host: ``options`` laid over ``host``, a file's path or "ssh://node", where one is given.

    ``where`` is the file and table, for sentences.
    """

    name: str
    options: HostOptions
    host: str | None
    where: str


def read_profiles(tables: object, file: Path, *, trusted: bool) -> tuple[Profile, ...]:
    """All profiles of a config file's ``profiles`` table. Raises UsageError naming file and key.

    ``trusted`` tells that the user named the file; only then may a profile open connections.
    """
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise UsageError(f"{file}: profiles must be tables: [profiles.NAME]")
    return tuple(_profile(name, table, file, trusted=trusted) for name, table in tables.items())


def _profile(name: str, table: Mapping[str, object], file: Path, *, trusted: bool) -> Profile:
    where = f"{file}: [profiles.{name}]"
    fields: dict[str, str | tuple[str, ...]] = {}
    host = None
    for key, value in table.items():
        spelled = key.replace("-", "_")
        if spelled == _HOST:
            host = _host(value, where, file, trusted=trusted)
            continue
        if spelled not in _KEYS:
            raise UsageError(f"{where} has no key {key[:40]!r}{_near(spelled)}; known are {', '.join(_known())}")
        if _KEYS[spelled] in fields:
            raise UsageError(f"{where} gives {_KEYS[spelled]} twice")
        fields[_KEYS[spelled]] = _value(_KEYS[spelled], value, f"{where} {key}")
    _check(fields, where)
    return Profile(name, _options(fields), host, where)


def _known() -> list[str]:
    """The first spelling of each key."""
    first: dict[str, str] = {}
    for key, field in _KEYS.items():
        first.setdefault(field, key)
    return [*first.values(), _HOST]


def _near(key: str) -> str:
    near = difflib.get_close_matches(key, [*_KEYS, _HOST], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _host(value: object, where: str, file: Path, *, trusted: bool) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where} host must be a text: a file, or ssh://user@node")
    if not value.startswith(_SSH):
        return str(file.parent / value)
    if not trusted:
        raise UsageError(
            f"{where} host: a machine is asked over ssh only for a file that --config or CUDACOMPAT_CONFIG names"
        )
    return value


def _value(field: str, value: object, where: str) -> str | tuple[str, ...]:
    if field != "gpus":
        if not isinstance(value, str):
            raise UsageError(f"{where} must be a text in quotes: 12.10 and 12.1 are the same number")
        return value
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, str) for item in items):
        raise UsageError(f"{where} must be a text in quotes, or a list of them")
    return tuple(items)


def _check(fields: Mapping[str, str | tuple[str, ...]], where: str) -> None:
    """Every value by itself, so that the sentence names its key; a GPU's name together with its capability."""
    for field, value in fields.items():
        alone = {field: value}
        if field == "gpus" and "compute_capability" in fields:
            alone["compute_capability"] = fields["compute_capability"]
        try:
            with_options(_options(alone))
        except UsageError as error:
            key = next(key for key, known in _KEYS.items() if known == field)
            raise UsageError(f"{where} {key}: {error}") from error


def _options(fields: Mapping[str, str | tuple[str, ...]]) -> HostOptions:
    gpus = fields.get("gpus", ())
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    return HostOptions(gpus=gpus if isinstance(gpus, tuple) else (gpus,), **texts)


def chosen(profiles: Sequence[Profile], names: Sequence[str], file: Path | None) -> tuple[Profile, ...]:
    """The profiles of these names, each once and in the order given. Raises UsageError listing those there are."""
    known = {profile.name: profile for profile in profiles}
    for name in names:
        if name not in known:
            there = f"{file} has {', '.join(known)}" if known else _none(file)
            raise UsageError(f"there is no profile {name[:60]!r}: {there}")
    return tuple(known[name] for name in dict.fromkeys(names))


def every(profiles: Sequence[Profile], file: Path | None) -> tuple[Profile, ...]:
    """All profiles. Raises UsageError when there is none: nothing checked must not look like nothing wrong."""
    if not profiles:
        raise UsageError(f"there is no profile: {_none(file)}")
    return tuple(profiles)


def _none(file: Path | None) -> str:
    there = f"{file} has no [profiles.NAME] table" if file else "there is no config file here (cudacompat.toml)"
    return f"{there}; --config FILE names another one"


def profile_host(profile: Profile, base: HostFacts | None) -> HostFacts:
    """A profile's facts; ``base`` are those of its ``host``. Raises UsageError."""
    origin = f"profile {profile.name}"
    if base is not None:
        origin += f" ({base.origin})"
    return replace(with_options(profile.options, base), origin=origin)
