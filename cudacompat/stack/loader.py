"""Which libcuda.so.1 the dynamic loader takes, seen from inside the started container.

The order is glibc's: LD_LIBRARY_PATH, then the ld.so cache, in which the directories of ld.so.conf.d stand
before the default ones. What injection adds to that picture differs by mode; DT_RPATH does not play a role
for libcuda, because no library known to us points its RPATH at one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cudacompat.model import SharedLibrary
from cudacompat.stack.paths import resolve

LibcudaKind = Literal["host", "compat", "baked", "stub", "none"]
Via = Literal["LD_LIBRARY_PATH", "ld.so.conf", "default", "injection", "entrypoint", "nowhere"]

GKE_DIRECTORY = "/usr/local/nvidia/lib64"
APPTAINER_DIRECTORY = "/.singularity.d/libs"
DEFAULT_DIRECTORIES = (
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/lib/wsl/lib",
)
_SONAME = "libcuda.so.1"
_REAL_NAME = re.compile(r"libcuda\.so\.(\d+(?:\.\d+)+)")


@dataclass(frozen=True, slots=True)
class Libcuda:
    """The library that wins. ``version`` is a driver version, None for stubs and unnamed files."""

    kind: LibcudaKind
    via: Via
    version: str | None = None
    directory: str | None = None
    library: SharedLibrary | None = None


@dataclass(frozen=True, slots=True)
class Container:
    """What the loader sees: the image's libraries and settings, plus what was injected.

    ``host_driver`` is None when no driver library was handed in. ``compat_directory`` is the directory
    that the container stack put in front (see ``select_compat``); ``mounted`` says that its files were
    bind-mounted into the default directory instead (the old behaviour), where the highest version wins.
    """

    libraries: Sequence[SharedLibrary]
    links: Mapping[str, str]
    ld_library_path: Sequence[str]
    ld_so_conf: Sequence[str]
    injection: str
    host_driver: str | None
    compat_directory: str | None = None
    mounted: bool = False


def split_ld_library_path(value: str | None) -> tuple[str, ...]:
    """The absolute directories of an LD_LIBRARY_PATH; both ":" and ";" separate, as in glibc."""
    return tuple(part for part in re.split("[:;]", value or "") if part.startswith("/"))


def choose_libcuda(container: Container) -> Libcuda:
    """Follow the loader's search order to the first libcuda.so.1."""
    finders = (_from_ld_library_path, _from_cache)
    for find in finders:
        found = find(container)
        if found is not None:
            return found
    return Libcuda("none", "nowhere")


def _from_ld_library_path(container: Container) -> Libcuda | None:
    directories = list(container.ld_library_path)
    if container.injection == "apptainer":
        directories.append(APPTAINER_DIRECTORY)
    for directory in directories:
        real = resolve(directory, container.links)
        if _host_library_in(real, container):
            return Libcuda("host", "LD_LIBRARY_PATH", container.host_driver, directory)
        if real in DEFAULT_DIRECTORIES:
            found = _default_directory(container)
            if found is not None:
                return found
            continue
        library = _named(real, container.libraries, container.links)
        if library is not None:
            return _classify(library, "LD_LIBRARY_PATH", directory)
    return None


def _host_library_in(directory: str, container: Container) -> bool:
    if container.host_driver is None:
        return False
    return (container.injection == "gke" and directory == GKE_DIRECTORY) or (
        container.injection == "apptainer" and directory == APPTAINER_DIRECTORY
    )


def _from_cache(container: Container) -> Libcuda | None:
    if container.compat_directory and not container.mounted:
        library = _by_soname(container.compat_directory, container)
        if library is not None:
            return _classify(library, "injection", container.compat_directory)
    for directory in container.ld_so_conf:
        real = resolve(directory, container.links)
        if real in DEFAULT_DIRECTORIES:
            continue
        library = _by_soname(real, container)
        if library is not None:
            return _classify(library, "ld.so.conf", directory)
    return _default_directory(container)


def _default_directory(container: Container) -> Libcuda | None:
    """ldconfig links libcuda.so.1 to the highest version among what lies in the default directories."""
    candidates: list[Libcuda] = []
    for directory in DEFAULT_DIRECTORIES:
        real = resolve(directory, container.links)
        library = _by_soname(real, container)
        if library is not None:
            candidates.append(_classify(library, "default", real))
    if container.mounted and container.compat_directory:
        library = _by_soname(container.compat_directory, container)
        if library is not None:
            candidates.append(_classify(library, "injection", container.compat_directory))
    if container.host_driver is not None and container.injection not in ("gke", "apptainer"):
        candidates.append(Libcuda("host", "injection", container.host_driver))
    if not candidates:
        return None
    # On equal versions the file that injection bind-mounts lies over the image's own.
    return max(candidates, key=lambda found: (version_key(found.version), found.kind == "host"))


def _named(directory: str, libraries: Iterable[SharedLibrary], links: Mapping[str, str]) -> SharedLibrary | None:
    """The library that the path DIRECTORY/libcuda.so.1 leads to: LD_LIBRARY_PATH needs this very name."""
    target = resolve(posixpath.join(directory, _SONAME), links)
    wanted = {target, posixpath.join(directory, _SONAME)}
    for library in libraries:
        if library.path in wanted or not wanted.isdisjoint(library.names):
            return library
    return None


def _by_soname(directory: str, container: Container) -> SharedLibrary | None:
    """The library that ldconfig would link as libcuda.so.1 in a directory: by soname, highest version.

    ldconfig skips empty files, which an image committed from a GPU container leaves behind.
    """
    here = [
        library
        for library in container.libraries
        if library.size > 0 and _is_libcuda(library) and posixpath.dirname(library.path) == directory
    ]
    if here:
        return max(here, key=lambda library: version_key(library.version))
    named = _named(directory, container.libraries, container.links)
    return named if named is not None and named.size > 0 else None


def _is_libcuda(library: SharedLibrary) -> bool:
    name = posixpath.basename(library.path)
    if library.soname is not None:
        return library.soname == _SONAME
    return name in (_SONAME, "libcuda.so") or _REAL_NAME.fullmatch(name) is not None


def _classify(library: SharedLibrary, via: Via, directory: str) -> Libcuda:
    parts = library.path.split("/")
    if "stubs" in parts:
        return Libcuda("stub", via, None, directory, library)
    kind: LibcudaKind = "compat" if any(part.startswith("compat") for part in parts) else "baked"
    return Libcuda(kind, via, library.version, directory, library)


@dataclass(frozen=True, slots=True)
class Search:
    """Where the loader looks for what a library needs: the image's libraries, links and settings."""

    libraries: Sequence[SharedLibrary]
    links: Mapping[str, str]
    ld_library_path: Sequence[str]
    ld_so_conf: Sequence[str]


def find_needed(soname: str, consumer: SharedLibrary, search: Search) -> SharedLibrary | None:
    """The image's library that the loader takes for a soname that ``consumer`` needs, None when there is none.

    DT_RPATH counts before LD_LIBRARY_PATH and only without a DT_RUNPATH, DT_RUNPATH after it, then come
    ld.so.conf and the default directories (ld.so(8)).
    """
    rpath = () if consumer.runpath else consumer.rpath
    order = (
        *_expanded(rpath, consumer),
        *search.ld_library_path,
        *_expanded(consumer.runpath, consumer),
        *search.ld_so_conf,
        *DEFAULT_DIRECTORIES,
    )
    for directory in order:
        wanted = {resolve(posixpath.join(directory, soname), search.links), posixpath.join(directory, soname)}
        for library in search.libraries:
            if library.path in wanted or not wanted.isdisjoint(library.names):
                return library
    return None


def _expanded(paths: Sequence[str], consumer: SharedLibrary) -> tuple[str, ...]:
    origin = posixpath.dirname(consumer.path)
    return tuple(
        posixpath.normpath(path.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)) for path in paths if path
    )


def version_key(version: str | None) -> tuple[int, ...]:
    """A driver version as numbers, for comparing; an unknown version sorts below every known one."""
    return tuple(int(number) for number in re.findall(r"\d+", version or ""))
