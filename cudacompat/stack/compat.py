"""Which compat directory the container stack puts in front, by toolkit release and injection mode.

Source: NVIDIA/nvidia-container-toolkit cmd/nvidia-cdi-hook/cudacompat at 1.17.8, 1.19.1 and 1.20.0, and
libnvidia-container's compat_mode.c; the rule changed in 1.17.4, 1.17.5, 1.17.7, 1.18, 1.19 and 1.20.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cudacompat.stack import semver
from cudacompat.stack.note import CompatNote, read_note
from cudacompat.stack.paths import resolve
from cudacompat.stack.releases import release

COMPAT_ROOT = "/usr/local/cuda/compat"
# pkg/nvcdi/lib-csv.go; drafts of 1.19 spelled it "compat-orin", the packages install into compat_orin.
ORIN_COMPAT_ROOT = "/usr/local/cuda/compat_orin"
_CACHE = "/etc/ld.so.cache"
_LIBCUDA = "libcuda.so."
_NEWEST = (99,)
_OFF = ((1, 17, 4), (1, 17, 7))
# They call nvidia-container-cli themselves and without a compat flag, which means "mount" at every release.
_OWN_CALLERS = ("enroot", "apptainer-nvccli")


@dataclass(frozen=True, slots=True)
class _Image:
    """A compat directory as the stack sees it.

    ``directory`` is where it really lies, ``versions`` what stands behind "libcuda.so." in the names of its
    regular files, ``libraries`` the real paths of every libcuda that its files and symlinks lead to.
    """

    directory: str
    versions: tuple[str, ...]
    libraries: tuple[str, ...]
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
    ``note`` the JSON text of the library's forward compatibility note. Every mode passes ``host_driver``
    alone but csv (Tegra), which passes ``host_cuda`` and no driver version: give ``host_driver`` "" there.
    ``compat_mode`` is the config's cuda-compat-mode (ldconfig, mount, disabled, or hook, where the `nvidia`
    runtime adds the CDI hook), by default the release's own. ``compat_root`` is read from 1.18 on.

    Never raises: where upstream reports an error (a host driver such as "*.*" or "v535" before 1.20) nothing
    is put in front, and the answer is None. A ``toolkit`` that is no version counts as the newest release.
    """
    version = release(toolkit) or _NEWEST
    image = _look(files, links, compat_root if version >= (1, 18) else COMPAT_ROOT)
    if injection == "legacy" or injection in _OWN_CALLERS:
        mode = compat_mode if compat_mode is not None else _legacy_mode(injection, version)
        return _by_cli(image, host_driver, mode) if mode != "hook" else _by_hook(image, note, host_driver, "", version)
    if injection == "cdi" or (injection == "csv" and version >= (1, 19)):
        return _by_hook(image, note, host_driver, host_cuda, version)
    return None


def compat_root(*, injection: str, toolkit: str | None, orin: bool) -> str:
    """Where the stack looks for a compat libcuda: csv mode has a place of its own for Orin from 1.19 on."""
    own = orin and injection == "csv" and (release(toolkit) or _NEWEST) >= (1, 19)
    return ORIN_COMPAT_ROOT if own else COMPAT_ROOT


def is_reached(*, links: Mapping[str, str], injection: str, toolkit: str | None) -> bool:
    """Whether the stack follows the image's links to the compat directory.

    libnvidia-container before 1.3.1 looked an absolute link up on the host (its changelog: "absolute symlinks in
    find_library_paths()"), which left the compat libraries of images from CUDA 11.0 on unseen, whose
    /usr/local/cuda is such a link: NVIDIA/nvidia-docker#1515 ran with 1.3.0 and failed with 1.4.0. Images up to
    CUDA 10.2 link relatively.
    """
    version = release(toolkit)
    if injection != "legacy" or version is None or version >= (1, 3, 1):
        return True
    old = re.search(r"/cuda-(?:[89]|10)\.", resolve(COMPAT_ROOT, links)) is not None
    return old or not any(links.get(path, "").startswith("/") for path in ("/usr/local/cuda", COMPAT_ROOT))


def compat_is_mounted(*, injection: str, toolkit: str | None) -> bool:
    """Whether the files are bind-mounted among the driver's own, where the highest version wins."""
    if injection in _OWN_CALLERS:
        return True
    return injection == "legacy" and (release(toolkit) or _NEWEST) < _OFF[0]


def _legacy_mode(injection: str, version: tuple[int, ...]) -> str:
    if injection in _OWN_CALLERS or version < _OFF[0]:
        return "mount"
    return "disabled" if version < _OFF[1] else "ldconfig"


def _look(files: Sequence[str], links: Mapping[str, str], compat_root: str) -> _Image:
    directory = resolve(compat_root, links)
    regular = set(files)
    own = [path for path in sorted({*files, *links}) if path.startswith(f"{directory}/{_LIBCUDA}")]
    here = [path for path in own if posixpath.dirname(path) == directory]
    names = [posixpath.basename(path).removeprefix(_LIBCUDA) for path in here if path in regular]
    libraries = dict.fromkeys(real for path in here if (real := resolve(path, links)) in regular)
    return _Image(
        directory=directory,
        versions=tuple(name for name in names if "." in name),
        libraries=tuple(libraries),
        has_cache=resolve(_CACHE, links) in regular,
    )


def _by_cli(image: _Image, host_driver: str, mode: str) -> str | None:
    """nvidia-container-cli follows symlinks to its libraries and takes their directory."""
    for path in image.libraries:
        if _cli_keeps(posixpath.basename(path), host_driver, mode):
            return posixpath.dirname(path)
    return None


def _cli_keeps(name: str, host_driver: str, mode: str) -> bool:
    """The C filter: as many characters as the file's major version has are compared, and as text."""
    _, marked, version = name.partition(".so.")
    major = re.match("[0-9]*", version)
    if mode not in ("mount", "ldconfig") or not marked or major is None:
        return mode in ("mount", "ldconfig")
    host = host_driver[: len(major[0])]
    return host != major[0] if mode == "mount" else host < major[0]


def _by_hook(image: _Image, note: str | None, host_driver: str, host_cuda: str, version: tuple[int, ...]) -> str | None:
    """The hook enable-cuda-compat: exactly one regular libcuda.so.*.* counts."""
    if version < (1, 17, 5) or len(image.versions) != 1:
        return None
    if version < (1, 18) and not image.has_cache:
        return None
    if version < (1, 19):
        wanted = _newer_major(image.versions[0], host_driver)
    elif version < (1, 20):
        wanted = _rule_1_19(image.versions[0], read_note(note), host_driver, host_cuda)
    else:
        wanted = _rule_1_20(image.versions[0], read_note(note), host_driver, host_cuda)
    return image.directory if wanted else None


def _newer_major(compat: str, host: str) -> bool:
    """Majors as strconv.Atoi reads them; one it cannot read is an error, and nothing is put in front."""
    offered, have = (_atoi(version.split(".", 1)[0]) for version in (compat, host))
    return offered is not None and have is not None and offered > have


def _atoi(text: str) -> int | None:
    if not re.fullmatch("[+-]?[0-9]+", text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if not semver.fits(digits, 63):
        return None
    return -int(digits) if text.startswith("-") else int(digits)


def _rule_1_19(compat: str, note: CompatNote | None, host_driver: str, host_cuda: str) -> bool:
    """With a host CUDA version (Tegra) the note's CUDA version decides, else the major versions."""
    if not host_cuda:
        return _newer_major(compat, host_driver)
    return note is not None and bool(note.cuda) and semver.compare(note.cuda, host_cuda) > 0


def _rule_1_20(compat: str, note: CompatNote | None, host_driver: str, host_cuda: str) -> bool:
    """The note's branch list and the full version; CUDA versions where a driver version cannot be read."""
    offered, have = semver.parse_loose(compat), semver.parse_loose(host_driver)
    if offered is None or have is None:
        return note is not None and _newer_cuda(note.cuda, host_cuda)
    if note is None:
        return not host_cuda and int(offered.major) > int(have.major)
    return int(have.major) in note.driver and semver.order(offered, have) > 0


def _newer_cuda(offered: str, host_cuda: str) -> bool:
    one, other = semver.parse_loose(offered), semver.parse_loose(host_cuda)
    return one is not None and other is not None and semver.order(one, other) > 0
