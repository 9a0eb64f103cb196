"""Stage request: a GPU is asked for and handed in, with the driver capabilities that CUDA needs."""

from __future__ import annotations

from cudacompat.model import CudaError, Evidence, Finding, Stage
from cudacompat.predict.errors import cuda_error
from cudacompat.predict.launch import Judged, Launch

_NO_DEVICE_TEXT = 'could not select device driver "" with capabilities: [[gpu]]'


def judge(launch: Launch) -> Judged:
    """Follow the request to the moment where the runtime takes over."""
    if launch.host.gpus == ():
        return _no_gpu_on_host()
    if launch.injection == "none":
        return _nobody_asks()
    if launch.injection == "enroot" and not launch.request.is_gpu_container and not launch.request.error:
        return _enroot_sees_no_request(launch)
    if launch.injection == "enroot" and not launch.request.devices and not launch.request.error:
        return _no_device(launch)
    if launch.injection in ("legacy", "enroot") and not launch.request.error:
        capabilities = set(launch.request.capabilities)
        if capabilities.isdisjoint({"compute", "video"}):
            return _no_compute(launch)
    return Judged(Stage("request", "ok", _said(launch), _asked(launch)))


def _said(launch: Launch) -> str:
    if launch.injection in ("legacy", "enroot") and launch.request.capabilities:
        named = ",".join(launch.request.capabilities)
        return f"GPUs are handed in by the {launch.injection} path with capabilities {named}"
    return f"GPUs are handed in ({launch.injection})"


def _asked(launch: Launch) -> tuple[Evidence, ...]:
    names = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
    return tuple(Evidence("env", name, launch.env[name]) for name in names if name in launch.env)


def _no_gpu_on_host() -> Judged:
    summary = "the host has no NVIDIA GPU"
    fix = "Run the image on a host with an NVIDIA GPU and driver."
    finding = Finding("no-gpu-on-host", "error", "request", summary, fix)
    error = CudaError(None, None, _NO_DEVICE_TEXT)
    return Judged(Stage("request", "fails", summary, error=error), (finding,))


def _nobody_asks() -> Judged:
    summary = "no GPU is requested, so neither devices nor driver libraries reach the container"
    fix = "Start it with a GPU request: docker run --gpus all (or --device nvidia.com/gpu=all)."
    finding = Finding("no-gpu-requested", "error", "request", summary, fix)
    return Judged(Stage("request", "fails", summary, error=cuda_error(35)), (finding,))


def _enroot_sees_no_request(launch: Launch) -> Judged:
    value = launch.env.get("NVIDIA_VISIBLE_DEVICES")
    state = "does not set NVIDIA_VISIBLE_DEVICES" if value is None else f"sets NVIDIA_VISIBLE_DEVICES={value}"
    summary = f"the image {state}: enroot's hook hands in no GPU"
    fix = "Export NVIDIA_VISIBLE_DEVICES=all (or set it in the image)."
    finding = Finding("visible-devices-unset", "error", "request", summary, fix, _asked(launch))
    return Judged(Stage("request", "fails", summary, _asked(launch), cuda_error(35)), (finding,))


def _no_device(launch: Launch) -> Judged:
    """The value "none" hands in driver files and no GPU."""
    summary = "NVIDIA_VISIBLE_DEVICES=none hands in the driver's files, but no GPU"
    fix = "Export NVIDIA_VISIBLE_DEVICES=all (or the wanted indexes)."
    finding = Finding("no-device-visible", "error", "request", summary, fix, _asked(launch))
    return Judged(Stage("request", "fails", summary, _asked(launch), cuda_error(100)), (finding,))


def _no_compute(launch: Launch) -> Judged:
    named = ",".join(launch.request.capabilities) or "none"
    summary = f"the driver capabilities ({named}) lack compute: no libcuda is injected"
    fix = "Set NVIDIA_DRIVER_CAPABILITIES=compute,utility (docker run -e, or in the image)."
    finding = Finding("capabilities-without-compute", "error", "request", summary, fix, _asked(launch))
    return Judged(Stage("request", "fails", summary, _asked(launch), cuda_error(35)), (finding,))
