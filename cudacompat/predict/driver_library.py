"""Stage driver-library: which libcuda.so.1 a program in the container gets."""

from __future__ import annotations

from cudacompat.model import Evidence, Finding, Stage
from cudacompat.predict.errors import cuda_error
from cudacompat.predict.launch import Judged, Launch, stack_compat
from cudacompat.stack.loader import Libcuda, version_key
from cudacompat.stack.releases import release


def judge(launch: Launch) -> Judged:
    """Say whose library wins and where it stands; what follows from it is the init stage's matter."""
    found = launch.libcuda
    extra = _stubs_on_path(launch) + _unused_compat(launch) + _hook_panics(launch)
    if found.kind == "none":
        return _missing(launch, extra)
    if found.kind == "stub":
        return _stub(found, extra)
    if found.kind == "baked":
        return _baked(found, extra)
    if found.kind == "compat":
        return _compat(found, extra)
    return Judged(
        Stage("driver-library", "ok", f"the host's libcuda ({launch.host.driver or 'version not known'})"), extra
    )


def _where(found: Libcuda) -> str:
    path = found.library.path if found.library else found.directory
    by = {
        "LD_LIBRARY_PATH": "LD_LIBRARY_PATH",
        "ld.so.conf": "ld.so.conf",
        "injection": "the container stack",
        "entrypoint": "the image's own entrypoint",
    }
    return f"{path} (put first by {by[found.via]})" if found.via in by else f"{path}"


def _seen(found: Libcuda) -> tuple[Evidence, ...]:
    library = found.library
    if library is None:
        return ()
    return (Evidence("file", library.path, f"libcuda {library.version or 'without version'}", library.layer),)


def _missing(launch: Launch, extra: tuple[Finding, ...]) -> Judged:
    if launch.injection == "gke":
        summary = "GKE mounts the driver at /usr/local/nvidia, which the image's library path does not name"
        fix = "Set LD_LIBRARY_PATH=/usr/local/nvidia/lib64 in the image or the pod."
        value = launch.env.get("LD_LIBRARY_PATH", "(unset)")
        seen: tuple[Evidence, ...] = (Evidence("env", "LD_LIBRARY_PATH", value),)
        finding = Finding("gke-library-path", "error", "driver-library", summary, fix, seen)
    else:
        summary, seen = "no libcuda.so.1 is found in the container", ()
        fix = "Hand in a GPU with the compute capability (docker run --gpus all)."
        finding = Finding("libcuda-missing", "error", "driver-library", summary, fix)
    return Judged(Stage("driver-library", "fails", summary, seen, cuda_error(35)), (finding, *extra))


def _stub(found: Libcuda, extra: tuple[Finding, ...]) -> Judged:
    summary = f"the toolkit's stub is loaded in the driver's place: {_where(found)}"
    fix = "Remove the stubs folder from LD_LIBRARY_PATH and ld.so.conf.d; it is for linking only."
    finding = Finding("stub-libcuda", "error", "driver-library", summary, fix, _seen(found))
    stage = Stage("driver-library", "fails", summary, _seen(found), cuda_error(34))
    return Judged(stage, (finding, *extra))


def _baked(found: Libcuda, extra: tuple[Finding, ...]) -> Judged:
    summary = f"a driver library of the image wins: {_where(found)}"
    fix = "Remove the driver packages (libcuda, nvidia-utils, cuda-drivers) from the image."
    finding = Finding("driver-libraries-in-image", "warning", "driver-library", summary, fix, _seen(found))
    return Judged(Stage("driver-library", "ok", summary, _seen(found)), (finding, *extra))


def _compat(found: Libcuda, extra: tuple[Finding, ...]) -> Judged:
    version = found.version or "of unknown version"
    summary = f"the image's compat libcuda {version}: {_where(found)}"
    return Judged(Stage("driver-library", "ok", summary, _seen(found)), extra)


def _stubs_on_path(launch: Launch) -> tuple[Finding, ...]:
    value = launch.env.get("LD_LIBRARY_PATH", "")
    if "/stubs" not in value or launch.libcuda.kind == "stub":
        return ()
    message = "LD_LIBRARY_PATH names a stubs folder: a program that opens libcuda.so gets the stub (error 34)"
    fix = "Remove the stubs folder from LD_LIBRARY_PATH."
    seen = (Evidence("env", "LD_LIBRARY_PATH", value),)
    return (Finding("stubs-on-path", "warning", "driver-library", message, fix, seen),)


def _unused_compat(launch: Launch) -> tuple[Finding, ...]:
    """A compat library newer than the host's driver that nothing puts in front has no effect."""
    if launch.libcuda.kind != "host" or launch.host.driver is None:
        return ()
    newer = [
        directory
        for directory in launch.image.compat
        if version_key(directory.libcuda) > version_key(launch.host.driver)
    ]
    if not newer:
        return ()
    message = f"the compat libcuda {newer[0].libcuda} in {newer[0].directory} is not used on this host"
    fix = "Where forward compatibility is wanted, put the folder first in LD_LIBRARY_PATH."
    if launch.gpu.forward_compat is False:
        fix = "Nothing to do: this board may not use forward compatibility."
    seen = (Evidence("file", newer[0].directory, newer[0].libcuda or "", newer[0].layer),)
    return (Finding("compat-unused", "note", "driver-library", message, fix, seen),)


def _hook_panics(launch: Launch) -> tuple[Finding, ...]:
    """NVIDIA/nvidia-container-toolkit#1804: the hook reads beyond the end of Orin's note."""
    toolkit = release(launch.host.toolkit)
    looked_at = stack_compat(launch.image, launch.host)
    if launch.injection != "csv" or toolkit is None or looked_at is None or not (1, 19) <= toolkit < (1, 20):
        return ()
    if looked_at.directory.rpartition("/")[2] != "compat_orin":
        return ()
    message = f"the compat hook of toolkit {launch.host.toolkit} may panic on {looked_at.directory}, before the start"
    fix = "Use toolkit 1.20 or newer, or remove cuda-compat-orin from the image."
    seen = (Evidence("file", looked_at.directory, looked_at.libcuda or "", looked_at.layer),)
    return (Finding("orin-compat-hook-panics", "warning", "start", message, fix, seen),)
