"""Which compat directory the container stack puts in front, by toolkit release and injection mode.

Source: NVIDIA/nvidia-container-toolkit cmd/nvidia-cdi-hook/cudacompat at 1.17.8, 1.19.1 and 1.20.0, and
libnvidia-container's compat_mode.c; the rule changed in 1.17.4, 1.17.5, 1.17.7, 1.18, 1.19 and 1.20.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from cudacompat.stack.paths import resolve

COMPAT_ROOT = "/usr/local/cuda/compat"
_CACHE = "/etc/ld.so.cache"
_VERSIONED = re.compile(r"libcuda\.so\.([^/]*\.[^/]*)")
# Masterminds/semver, which 1.20.0 uses: up to three numbers, leading zeros allowed, suffixes allowed.
_LOOSE = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)
_OFF = ((1, 17, 4), (1, 17, 7))


@dataclass(frozen=True, slots=True)
class _Image:
    """A compat directory as the stack sees it: where it really lies and the versions found there."""

    directory: str
    versions: tuple[str, ...]
    has_cache: bool


def select_compat(
    *,
    files: Sequence[str],
    links: Mapping[str, str],
    note: str | None,
    host_driver: str,
    host_cuda: str = "",
    toolkit: str,
    injection: str,
    compat_root: str = COMPAT_ROOT,
    compat_mode: str | None = None,
) -> str | None:
    """The real directory whose libcuda is put in front of the host's, or None.

    ``files`` are regular files and ``links`` symlinks of the image (absolute paths, targets as written);
    ``note`` the JSON text of the library's forward compatibility note. ``host_cuda`` is known to the stack
    on Tegra only. ``compat_mode`` is the config's cuda-compat-mode (ldconfig, mount, hook, disabled), by
    default the release's own. Versions that upstream cannot parse select nothing, as its error does.
    """
    release = _release(toolkit)
    if compat_root != COMPAT_ROOT and release < (1, 18):
        compat_root = COMPAT_ROOT
    image = _look(files, links, compat_root)
    if injection in ("legacy", "enroot"):
        mode = compat_mode if compat_mode is not None else _legacy_mode(injection, release)
        return _by_cli(image, host_driver, mode) if mode != "hook" else _by_hook(image, note, host_driver, "", release)
    if injection == "cdi" or (injection == "csv" and release >= (1, 19)):
        return _by_hook(image, note, host_driver, host_cuda, release)
    return None


def compat_is_mounted(*, injection: str, toolkit: str | None) -> bool:
    """Whether the files are bind-mounted among the driver's own, where the highest version wins."""
    if injection == "enroot":
        return True
    return injection == "legacy" and toolkit is not None and _release(toolkit) < _OFF[0]


def _release(toolkit: str) -> tuple[int, ...]:
    """A toolkit release as numbers; text that is no version counts as the newest release."""
    try:
        return Version(toolkit).release
    except InvalidVersion:
        return (99,)


def _legacy_mode(injection: str, release: tuple[int, ...]) -> str:
    if injection == "enroot" or release < _OFF[0]:
        return "mount"
    return "disabled" if release < _OFF[1] else "ldconfig"


def _look(files: Sequence[str], links: Mapping[str, str], compat_root: str) -> _Image:
    directory = resolve(compat_root, links)
    found = []
    for path in files:
        folder, _, name = path.rpartition("/")
        match = _VERSIONED.fullmatch(name)
        if match and folder == directory:
            found.append(match[1])
    real = {resolve(path, links) for path in (*files, *links)}
    return _Image(directory, tuple(sorted(found)), _CACHE in files or _CACHE in real)


def _by_cli(image: _Image, host_driver: str, mode: str) -> str | None:
    """The C filter compares the major versions as text."""
    host = host_driver.split(".", 1)[0]
    for version in image.versions:
        major = version.split(".", 1)[0]
        if (mode == "mount" and major != host) or (mode == "ldconfig" and major > host):
            return image.directory
    return None


def _by_hook(image: _Image, note: str | None, host_driver: str, host_cuda: str, release: tuple[int, ...]) -> str | None:
    """The hook enable-cuda-compat: exactly one regular libcuda.so.*.* counts."""
    if release < (1, 17, 5) or len(image.versions) != 1:
        return None
    if release < (1, 18) and not image.has_cache:
        return None
    if release < (1, 19):
        wanted = _newer_major(image.versions[0], host_driver)
    elif release < (1, 20):
        wanted = _rule_1_19(image.versions[0], note, host_driver, host_cuda)
    else:
        wanted = _rule_1_20(image.versions[0], note, host_driver, host_cuda)
    return image.directory if wanted else None


def _newer_major(compat: str, host: str) -> bool:
    majors = [version.split(".", 1)[0] for version in (compat, host)]
    if not all(re.fullmatch("[+-]?[0-9]+", major, re.ASCII) for major in majors):
        return False
    return int(majors[0]) > int(majors[1])


def _rule_1_19(compat: str, note: str | None, host_driver: str, host_cuda: str) -> bool:
    """With a host CUDA version (Tegra) the note's CUDA version decides, else the major versions."""
    if host_cuda:
        return _newer_cuda(_read_note(note), host_cuda)
    return _newer_major(compat, host_driver)


def _rule_1_20(compat: str, note: str | None, host_driver: str, host_cuda: str) -> bool:
    fields = _read_note(note)
    if not host_driver:
        return bool(host_cuda) and _newer_cuda(fields, host_cuda)
    have, offered = _loose(host_driver), _loose(compat)
    if have is None or offered is None:
        return False
    if fields is None:
        return not host_cuda and offered[0] > have[0]
    branches = fields.get("driver")
    return isinstance(branches, list) and have[0] in branches and offered > have


def _newer_cuda(fields: Mapping[str, object] | None, host_cuda: str) -> bool:
    offered = (fields or {}).get("cuda version")
    if not isinstance(offered, str):
        return False
    numbers = [_loose(offered), _loose(host_cuda)]
    return numbers[0] is not None and numbers[1] is not None and numbers[0] > numbers[1]


def _loose(text: str) -> tuple[int, int, int, bool] | None:
    """Numbers for comparing; a pre-release sorts below its release."""
    match = _LOOSE.fullmatch(text)
    if match is None:
        return None
    return int(match[1]), int(match[2] or 0), int(match[3] or 0), match[4] is None


def _read_note(note: str | None) -> dict[str, object] | None:
    """The note's keys in lower case; None where upstream cannot read it (its types must fit too)."""
    if note is None:
        return None
    try:
        parsed = json.loads(note)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    fields = {str(key).lower(): value for key, value in parsed.items()}
    for key in ("driver", "device"):
        value = fields.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
            return None
    return fields if isinstance(fields.get("cuda version", ""), str) else None
