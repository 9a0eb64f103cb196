"""What `docker run --gpus` means by Docker and toolkit release, and which releases choose compat alike.

Sources: moby/moby daemon/devices_nvidia_linux.go (CDI first since 29.2.0), nvidia-container-toolkit CHANGELOG.
"""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from cudacompat.model.host import Injection


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """An injection mode that the host may use, with the grounds in plain words."""

    injection: Injection
    reason: str


_LEGACY = ModeChoice("legacy", "Docker before 29.2.0, or without a CDI spec, uses the legacy hook")
_CDI = ModeChoice("cdi", "Docker 29.2.0 and newer tries CDI first for --gpus")
_CDI_FROM = Version("29.2.0")
_GENERATIONS = {
    "legacy": (
        ("1.17.3", "toolkit up to 1.17.3 (compat libraries are mounted)"),
        ("1.17.4", "toolkit 1.17.4 to 1.17.6 (compat libraries are ignored)"),
        ("1.20.0", "toolkit 1.17.7 or newer (newer compat libraries come first)"),
    ),
    "cdi": (
        ("1.17.4", "toolkit up to 1.17.4 (compat libraries are ignored)"),
        ("1.17.8", "toolkit 1.17.5 to 1.19 (newer compat libraries come first)"),
        ("1.20.0", "toolkit 1.20 or newer (the compat library's branch list decides)"),
    ),
    "csv": (
        ("1.18.2", "toolkit before 1.19 (compat libraries are ignored)"),
        ("1.20.0", "toolkit 1.19 or newer (CUDA versions are compared)"),
    ),
}


def injections_of(docker: str | None, toolkit: str | None) -> tuple[ModeChoice, ...]:
    """The modes that `docker run --gpus` may take, most likely first; fewer where versions are given.

    Docker 29.2.0 falls back to the hook where no CDI spec exists, so its version alone does not exclude
    the hook; toolkit releases from 1.18 on write that spec by themselves.
    """
    engine = _version(docker)
    if engine is not None and engine < _CDI_FROM:
        return (_LEGACY,)
    writes_spec = _version(toolkit)
    if engine is not None and writes_spec is not None and writes_spec >= Version("1.18"):
        return (_CDI,)
    return (_LEGACY, _CDI) if engine is None else (_CDI, _LEGACY)


def compat_generations(injection: str, toolkit: str | None) -> tuple[tuple[str, str], ...]:
    """(representative toolkit release, plain words) for each distinct choice of compat libraries.

    One entry where the release is given or the mode's choice never changed.
    """
    if toolkit is not None:
        return ((toolkit, f"toolkit {toolkit}"),)
    return _GENERATIONS.get(injection, (("1.20.0", "any toolkit release"),))


def _version(text: str | None) -> Version | None:
    try:
        return Version(text) if text is not None else None
    except InvalidVersion:
        return None
