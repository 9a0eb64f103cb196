"""A host in words."""

from __future__ import annotations

from collections import Counter

from cudacompat.model import Gpu, HostFacts
from cudacompat.report.style import Style

_SYSTEMS = {"linux": "Linux", "wsl2": "WSL 2", "jetson": "Jetson"}


def host_line(host: HostFacts) -> str:
    """The host in one sentence; what nobody said is said so."""
    driver = f"driver {host.driver}" if host.driver else "driver unknown"
    cuda = f" (CUDA {host.driver_cuda})" if host.driver_cuda else ""
    parts = [f"{driver}{cuda}", _gpus(host)]
    if host.os != "linux":
        parts.append(_SYSTEMS[host.os])
    parts.append(f"injection {host.injection}" if host.injection else "injection mode not given")
    parts += [f"{name} {value}" for name, value in (("toolkit", host.toolkit), ("Docker", host.docker)) if value]
    return f"host: {', '.join(parts)}; from {host.origin}"


def _gpus(host: HostFacts) -> str:
    if host.gpus is None:
        return "GPU not given"
    if not host.gpus:
        return "no GPU"
    counted = Counter(_gpu(gpu) for gpu in host.gpus)
    return " and ".join(f"{count} x {name}" if count > 1 else name for name, count in counted.items())


def _gpu(gpu: Gpu) -> str:
    if gpu.name is None:
        return f"a GPU of compute capability {gpu.compute_capability or 'unknown'}"
    return f"{gpu.name} ({gpu.compute_capability})" if gpu.compute_capability else gpu.name


def render_host(host: HostFacts, style: Style) -> str:
    """The facts as a table, one a line, with what could not be learned below."""
    rows = [
        ("driver", host.driver or "unknown"),
        ("CUDA of the driver", host.driver_cuda or "unknown"),
        ("system", _SYSTEMS[host.os] + (f", {host.machine}" if host.machine else "")),
        ("injection mode", host.injection or "not known: the container runtime decides"),
        ("container toolkit", host.toolkit or "not known"),
        ("Docker", host.docker or "not known"),
        ("learned from", host.origin),
    ]
    lines = [line for name, value in rows for line in style.wrap(value, first=f"{name:<20}")]
    for gpu in host.gpus or ():
        about = [gpu.architecture or "", f"brand {' or '.join(gpu.brands)}" if gpu.brands else "", gpu.uuid or ""]
        text = ", ".join([_gpu(gpu), *(word for word in about if word)])
        lines += style.wrap(text, first=f"{'GPU':<20}")
    if not host.gpus:
        lines += style.wrap("not known" if host.gpus is None else "none", first=f"{'GPU':<20}")
    for note in host.notes:
        lines += style.wrap(note, first=f"{style.symbol('warning')} ")
    return "\n".join(line.rstrip() for line in lines) + "\n"
