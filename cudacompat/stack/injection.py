"""What `docker run --gpus` means by Docker and toolkit release, and what each injection mode looks at.

Sources: moby/moby daemon/devices_nvidia_linux.go (CDI first since 29.2.0), nvidia-container-toolkit CHANGELOG.
"""

from __future__ import annotations

from dataclasses import dataclass

from cudacompat.model.host import Injection
from cudacompat.stack.releases import release
from cudacompat.stack.requirements import Dialect


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """An injection mode that the host may use, with the grounds in plain words."""

    injection: Injection
    reason: str


_CDI_FIRST = (29, 2)
# moby's pull request 52704 (open in May 2026) would put the hook first again; sources were read up to Docker 29.
_NOT_READ_FROM = (30,)
_WRITES_SPEC = (1, 18)
_OLD_DOCKER = ModeChoice("legacy", "Docker before 29.2.0 hands --gpus to the legacy hook")
_FALLBACK = ModeChoice("legacy", "Docker falls back to the legacy hook where it finds no usable CDI spec")
_UNKNOWN_DOCKER = ModeChoice("legacy", "Docker before 29.2.0, or without a usable CDI spec, uses the legacy hook")
_CDI = ModeChoice("cdi", "Docker 29.2.0 or newer tries CDI first for --gpus")
_SURE_CDI = ModeChoice(
    "cdi", "Docker 29.2.0 or newer tries CDI first for --gpus, and toolkit 1.18 or newer writes the CDI spec"
)
_GENERATIONS = {
    "legacy": (
        ("1.17.3", "toolkit up to 1.17.3 (compat libraries are mounted)"),
        ("1.17.4", "toolkit 1.17.4 to 1.17.6 (compat libraries are ignored)"),
        ("1.20.0", "toolkit 1.17.7 or newer (newer compat libraries come first)"),
    ),
    "cdi": (
        ("1.17.4", "toolkit up to 1.17.4 (compat libraries are ignored)"),
        ("1.17.8", "toolkit 1.17.5 to 1.17.8 (newer compat libraries come first where there is a linker cache)"),
        ("1.19.1", "toolkit 1.18 or 1.19 (newer compat libraries come first)"),
        ("1.20.0", "toolkit 1.20 or newer (the compat library's branch list decides)"),
    ),
    "csv": (
        ("1.18.2", "toolkit before 1.19 (compat libraries are ignored)"),
        ("1.20.0", "toolkit 1.19 or newer (CUDA versions are compared)"),
    ),
}


def injections_of(docker: str | None, toolkit: str | None) -> tuple[ModeChoice, ...]:
    """The modes that `docker run --gpus` may take with the runtime runc; fewer where versions are given.

    Docker 29.2.0 falls back to the hook where no CDI spec exists, so its version alone does not exclude
    the hook; toolkit releases from 1.18 on write that spec by themselves.
    """
    engine, tools = release(docker), release(toolkit)
    if engine is None:
        return (_UNKNOWN_DOCKER, _CDI)
    if engine < _CDI_FIRST:
        return (_OLD_DOCKER,)
    if tools is not None and tools >= _WRITES_SPEC and engine < _NOT_READ_FROM:
        return (_SURE_CDI,)
    return (_CDI, _FALLBACK)


def requirement_dialect(injection: str) -> Dialect | None:
    """The evaluator that an injection mode runs on the image's formulas, None where nothing evaluates them."""
    if injection in ("legacy", "enroot"):
        return "c"
    return "go" if injection == "csv" else None


def compat_generations(injection: str, toolkit: str | None) -> tuple[tuple[str, str], ...]:
    """(representative toolkit release, plain words) for each distinct choice of compat libraries.

    One entry where the release is given or the mode's choice never changed.
    """
    if toolkit is not None:
        return ((toolkit, f"toolkit {toolkit}"),)
    return _GENERATIONS.get(injection, (("1.20.0", "any toolkit release"),))
