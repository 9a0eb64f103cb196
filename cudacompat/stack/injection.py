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
_SEEN_SPEC = ModeChoice("cdi", "Docker 29.2.0 or newer tries CDI first for --gpus, and a usable CDI spec is there")
_NO_SPEC = ModeChoice("legacy", "Docker has no usable CDI spec, which leaves the legacy hook for --gpus")
_LEGACY_RUNTIME = ModeChoice("legacy", "the nvidia runtime of toolkits before 1.18 uses the legacy hook by itself")
_JIT_RUNTIME = ModeChoice("cdi", "the nvidia runtime of toolkit 1.18 or newer makes CDI specs itself (jit-cdi)")
_CONFIGURED: dict[str, Injection] = {"legacy": "legacy", "csv": "csv", "cdi": "cdi", "jit-cdi": "cdi"}
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
# By the source of an image, what starts it where that is not Docker.
_OWN_MODE: dict[str, Injection] = {"sif": "apptainer", "squashfs": "enroot"}
_OF_DOCKER = (None, "legacy", "cdi", "csv")


def injections_of(docker: str | None, toolkit: str | None, *, cdi_spec: bool | None = None) -> tuple[ModeChoice, ...]:
    """The modes that `docker run --gpus` may take with the runtime runc; fewer where versions are given.

    Docker 29.2.0 falls back to the hook where no CDI spec exists, so its version alone does not exclude
    the hook; toolkit releases from 1.18 on write that spec by themselves. ``cdi_spec`` tells whether the
    engine has a usable one (CDI on, a spec of nvidia.com/gpu, nvidia-cdi-hook on its path); None: nobody looked.
    """
    engine, tools = release(docker), release(toolkit)
    if engine is not None and engine < _CDI_FIRST:
        return (_OLD_DOCKER,)
    if cdi_spec is False:
        return (_NO_SPEC,)
    if engine is None:
        return (_UNKNOWN_DOCKER, _CDI)
    if cdi_spec and engine < _NOT_READ_FROM:
        return (_SEEN_SPEC,)
    if tools is not None and tools >= _WRITES_SPEC and engine < _NOT_READ_FROM:
        return (_SURE_CDI,)
    return (_CDI, _FALLBACK)


def file_injection(source: str, injection: Injection | None) -> Injection | None:
    """The mode in which an image file is started on a host whose Docker would take ``injection``.

    Docker starts no SIF and no squashfs, so its modes do not count for them: Apptainer and enroot have their own.
    """
    own = _OWN_MODE.get(source)
    return own if own is not None and injection in _OF_DOCKER else injection


def runtime_injection(mode: str, toolkit: str | None, *, tegra: bool = False) -> ModeChoice | None:
    """What the `nvidia` runtime does by config.toml's mode; None where mode and release do not decide.

    ``tegra`` is a Jetson whose GPU NVML does not drive, where the mode auto means csv.
    """
    if mode in _CONFIGURED:
        return ModeChoice(_CONFIGURED[mode], f"config.toml sets the nvidia runtime's mode to {mode}")
    tools = release(toolkit)
    if mode != "auto":
        return None
    if tegra:
        return ModeChoice("csv", "the nvidia runtime takes the csv mode by itself on Tegra")
    return None if tools is None else (_JIT_RUNTIME if tools >= _WRITES_SPEC else _LEGACY_RUNTIME)


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
