"""NVIDIA's framework containers bring a compat library that their own entrypoint puts in front.

Source: /opt/nvidia/nvidia_entrypoint.sh and its scripts in nvcr.io/nvidia images, by their output in public
logs: where the kernel driver is of an older branch and a trial of cuInit succeeds, compat/lib.real is put
before LD_LIBRARY_PATH ("CUDA Forward Compatibility mode ENABLED"), else the host's library stays.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace

from cudacompat.model import Finding, SharedLibrary
from cudacompat.predict import forward
from cudacompat.predict.launch import Launch
from cudacompat.stack.loader import Libcuda, version_key
from cudacompat.stack.paths import resolve

_DIRECTORY = "/usr/local/cuda/compat/lib.real"
_ENTRYPOINT = "nvidia_entrypoint.sh"
# Apptainer, enroot and the csv mode's images start programs without it, or are built for the host.
_RUNS_ENTRYPOINT = ("legacy", "cdi", "gke")


def arranged(launch: Launch) -> tuple[Launch, tuple[Finding, ...]]:
    """The launch with the libcuda that the image's entrypoint chooses, and a note where it does so."""
    library = _offered(launch)
    if library is None:
        return launch, ()
    folder = posixpath.dirname(library.path)
    chosen = replace(launch, libcuda=Libcuda("compat", "entrypoint", library.version, folder, library))
    if forward.judge(chosen) is not None:
        return launch, ()
    message = (
        f"the image's own entrypoint puts its compat libcuda {library.version} in front on this host; "
        "started with another entrypoint, the host's library is used"
    )
    fix = "Keep the entrypoint: in Kubernetes set args instead of command, with docker leave out --entrypoint."
    return chosen, (Finding("compat-by-entrypoint", "note", "driver-library", message, fix),)


def _offered(launch: Launch) -> SharedLibrary | None:
    """The library that the entrypoint would try on this driver."""
    scripts = [posixpath.basename(word) for word in launch.image.config.entrypoint]
    if launch.libcuda.kind != "host" or launch.injection not in _RUNS_ENTRYPOINT or _ENTRYPOINT not in scripts:
        return None
    folder = resolve(_DIRECTORY, launch.image.links)
    for library in launch.image.libraries:
        place, _, name = library.path.rpartition("/")
        if place == folder and name.startswith("libcuda.so.") and library.version is not None:
            newer = version_key(library.version)[:1] > version_key(launch.host.driver)[:1]
            return library if newer else None
    return None
