"""A host in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cudacompat.model import Gpu, HostFacts
from cudacompat.report.style import Style

_SYSTEMS = {"linux": "Linux", "wsl2": "WSL 2", "jetson": "Jetson"}
_COLUMN = 19
_MODES = {
    "legacy": "the hook with nvidia-container-cli",
    "cdi": "Container Device Interface",
    "csv": "Tegra's csv mode",
    "enroot": "enroot's hook",
    "apptainer": "apptainer --nv",
    "apptainer-nvccli": "apptainer --nvccli",
    "gke": "GKE's driver folder",
    "none": "nobody hands them in",
}


def host_line(host: HostFacts) -> str:
    """The host in one sentence; what nobody said is said so."""
    return f"host: {host_facts_line(host)}; from {host.origin}"


def host_facts_line(host: HostFacts) -> str:
    """The facts that decide, without where they come from."""
    driver = f"driver {host.driver}" if host.driver else "driver unknown"
    cuda = f" (CUDA {host.driver_cuda})" if host.driver_cuda else ""
    parts = [f"{driver}{cuda}", _gpus(host)]
    if host.os != "linux":
        parts.append(_SYSTEMS[host.os])
    parts.append(f"injection {host.injection}" if host.injection else "injection mode not given")
    parts += [f"{name} {value}" for name, value in (("toolkit", host.toolkit), ("Docker", host.docker)) if value]
    return ", ".join(parts)


def _gpus(host: HostFacts) -> str:
    if host.gpus is None:
        return "GPU not given"
    if not host.gpus:
        return "no GPU"
    counted = Counter(_gpu(gpu) for gpu in host.gpus)
    return " and ".join(f"{count} x {name}" if count > 1 else name for name, count in counted.items())


def _gpu(gpu: Gpu) -> str:
    if gpu.name is None and gpu.compute_capability is None:
        return "a GPU of which nothing is known"
    if gpu.name is None:
        return f"a GPU of compute capability {gpu.compute_capability}"
    return f"{gpu.name} ({gpu.compute_capability})" if gpu.compute_capability else gpu.name


def render_host(host: HostFacts, style: Style) -> str:
    """The facts by subject: driver, GPUs, how containers get them; then what is broken, and what is not known."""
    system = _SYSTEMS[host.os] + (f", {host.machine}" if host.machine else "")
    lines = [
        *_row("driver", _driver(host), style),
        *_row("system", system, style),
        *_row("learned from", host.origin, style),
        *_gpu_rows(host, style),
        *style.title("How containers get GPUs"),
        *_row("injection mode", _mode(host), style),
        *_row("container toolkit", host.toolkit or "not known", style),
        *_row("Docker", host.docker or "not known", style),
    ]
    for detail in host.details:
        lines += style.wrap(detail, first=f"  {style.symbol('note')} ", rest="    ")
    lines += style.title("Broken there") if host.faults else []
    for fault in host.faults:
        lines += style.wrap(fault, first=f"  {style.symbol('error')} ", rest="    ")
    lines += style.title("Not known, or to keep in mind") if host.notes else []
    for note in host.notes:
        lines += style.wrap(note, first=f"  {style.symbol('warning')} ", rest="    ")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _row(name: str, value: str, style: Style) -> list[str]:
    return style.wrap(value, first=f"{name:<{_COLUMN}} ")


def _driver(host: HostFacts) -> str:
    if host.driver is None and host.driver_cuda is None:
        return "unknown"
    cuda = f"CUDA {host.driver_cuda}" if host.driver_cuda else "CUDA version unknown"
    return f"{host.driver or 'number unknown'} ({cuda})"


def _mode(host: HostFacts) -> str:
    if host.injection is None:
        return "not known: the container runtime decides"
    return f"{host.injection} ({_MODES[host.injection]})"


def _gpu_rows(host: HostFacts, style: Style) -> list[str]:
    if not host.gpus:
        return _row("GPU", "not known" if host.gpus is None else "none", style)
    lines: list[str] = []
    for number, gpu in enumerate(host.gpus):
        lines += _row(f"GPU {number}", ", ".join([_gpu(gpu), *_about(gpu)]), style)
        for profile, uuid in _instances(gpu):
            lines += style.wrap(f"MIG {profile} {uuid}", first=" " * (_COLUMN + 3))
    return lines


def _about(gpu: Gpu) -> Sequence[str]:
    words = [
        gpu.architecture,
        f"brand {' or '.join(gpu.brands)}" if gpu.brands else None,
        f"{gpu.memory_mib} MiB" if gpu.memory_mib is not None else None,
        "MIG enabled" if gpu.mig_enabled else None,
        gpu.uuid,
    ]
    return [word for word in words if word]


def _instances(gpu: Gpu) -> list[tuple[str, str]]:
    """The MIG instances; their profiles may be fewer when a file left them out."""
    profiles = [*gpu.mig_profiles, *("" for _ in gpu.mig[len(gpu.mig_profiles) :])]
    return list(zip(profiles, gpu.mig, strict=False))
