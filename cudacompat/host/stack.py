"""How containers get GPUs on a machine: engine, toolkit and CDI together, and the injection mode that follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cudacompat.errors import HostError
from cudacompat.host import cdi, docker, toolkit
from cudacompat.host.docker import Docker
from cudacompat.host.machine import Machine
from cudacompat.host.toolkit import Toolkit
from cudacompat.model import HostFacts
from cudacompat.model.host import Injection
from cudacompat.stack import injections_of, runtime_injection, select_compat

# Engines besides Docker, by their programs.
OTHERS = ("podman", "enroot", "apptainer", "singularity", "containerd", "crio")
CDI_HOOK = "nvidia-cdi-hook"
PODMAN_HOOKS = "/usr/share/containers/oci/hooks.d"
GKE = "/home/kubernetes/bin/nvidia"
APPTAINER_CONFIGS = ("/etc/apptainer/apptainer.conf", "/etc/singularity/singularity.conf")
_RUNTIMES = ("nvidia", "runc", "crun", "io.containerd.runc.v2")
# L4T 38 and newer drive the GPU as desktops do; before, the mode auto means csv.
_NVML_JETSON = 38


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that was found, for the rules below."""

    machine: Machine
    host: HostFacts
    docker: Docker
    toolkit: Toolkit
    specs: cdi.Specs
    others: tuple[str, ...]


Choice = tuple[Injection | None, str]


def with_stack(host: HostFacts, machine: Machine) -> HostFacts:
    """The host with toolkit, Docker and injection mode, each as far as it could be learned."""
    engine, tools = docker.learn(machine), toolkit.learn(machine)
    specs = cdi.learn(machine, engine.cdi_folders or cdi.FOLDERS)
    others = tuple(name for name in OTHERS if machine.which(name))
    seen = Seen(machine, host, engine, tools, specs, others)
    mode, reason = injection(seen)
    notes = [*engine.notes, *tools.notes, *specs.notes]
    notes += cdi.without_hook(specs) if _has_hook(tools.version) else ()
    stale = cdi.of_another_driver(specs, host.driver)
    # A stale spec harms those alone that are given GPUs by it.
    notes += stale if mode != "cdi" else ()
    notes += (
        []
        if tools.installed or engine.own_vm
        else ["the NVIDIA container toolkit is not installed here, or not on the path"]
    )
    notes += [f"injection mode not known: {reason}; give --injection"] if mode is None else []
    return replace(
        host,
        injection=mode,
        toolkit=None if engine.own_vm else tools.version,
        docker=engine.version,
        notes=tuple(dict.fromkeys((*host.notes, *notes))),
        faults=(*host.faults, *(stale if mode == "cdi" else ()), *_without_toolkit(seen)),
        details=(*host.details, *((f"injection mode {mode}: {reason}",) if mode else ()), *_details(seen)),
    )


def _has_hook(version: str | None) -> bool:
    """Whether this toolkit release writes the hook that puts compat libraries in front: asked of the stack's model."""
    if version is None:
        return False
    files = ["/etc/ld.so.cache", "/usr/local/cuda/compat/libcuda.so.999.0.0"]
    chosen = select_compat(
        files=files, links={}, note=None, host_driver="1.0", host_cuda="", toolkit=version, injection="cdi"
    )
    return chosen is not None


def _without_toolkit(seen: Seen) -> tuple[str, ...]:
    """The fault of a Docker that has nothing to hand in GPUs with, and no other engine beside it that might."""
    local = seen.docker.runtime is not None and not seen.docker.own_vm
    others = [name for name in seen.others if name not in ("containerd", "crio")]
    if not local or others or seen.toolkit.installed or seen.specs.gpu or not seen.specs.complete:
        return ()
    return (
        "Docker has no NVIDIA container toolkit here (none on the path, no CDI spec): 'docker run --gpus' ends in "
        "'could not select device driver \"\" with capabilities: [[gpu]]'; install nvidia-container-toolkit",
    )


def _details(seen: Seen) -> list[str]:
    found = []
    if seen.docker.installed and seen.docker.runtime:
        kind = "rootless Docker" if seen.docker.rootless else "Docker"
        cdi_off = ", CDI off" if seen.docker.cdi_folders == () else ""
        found.append(f"{kind}'s default runtime is {seen.docker.runtime}{cdi_off}")
    if seen.toolkit.mode:
        found.append(f"the nvidia runtime's mode is {seen.toolkit.mode}")
    for spec in seen.specs.gpu:
        about = [f"driver {spec.driver}" if spec.driver else "", "" if spec.compat_hook else "no compat hook"]
        words = ", ".join(word for word in about if word)
        found.append(f"CDI spec {spec.path}" + (f" ({words})" if words else ""))
    if seen.others:
        found.append(f"also installed: {', '.join(seen.others)}")
    return found


def injection(seen: Seen) -> Choice:
    """The mode that follows from what was found, with the reason; None with what keeps it open."""
    if seen.docker.installed:
        why_not = _open_question(seen)
        return (None, why_not) if why_not else _of_docker(seen)
    if seen.machine.exists(GKE):
        return "gke", f"{GKE} is where GKE keeps its driver"
    return _of_other_engines(seen)


def _of_other_engines(seen: Seen) -> Choice:
    engines = [name for name in seen.others if name not in ("containerd", "crio")]
    kinds = sorted({"apptainer" if name == "singularity" else name for name in engines})
    if len(kinds) > 1:
        return None, f"several engines are installed ({', '.join(kinds)})"
    if kinds:
        return _ALONE[kinds[0]](seen)
    if seen.others:
        return None, f"{seen.others[0]} alone is here, and its caller decides (a device plugin, CDI or a RuntimeClass)"
    return None, "no container engine was found"


def _open_question(seen: Seen) -> str | None:
    """What of Docker is not known, or stands in the way of any answer."""
    engine = seen.docker
    if engine.own_vm:
        return "Docker Desktop brings its own toolkit in a virtual machine"
    if not seen.toolkit.installed and not _usable_cdi(seen):
        return "without the container toolkit 'docker run --gpus' ends in 'could not select device driver'"
    if engine.version is None:
        return "Docker's release is not known"
    if engine.runtime is None:
        return "Docker's default runtime is not known"
    return None if engine.runtime in _RUNTIMES else f"Docker's default runtime is {engine.runtime[:40]}"


def _of_docker(seen: Seen) -> Choice:
    """What `docker run --gpus` does here, with an engine and a default runtime that are known."""
    if seen.docker.runtime == "nvidia":
        return _of_runtime(seen)
    choices = injections_of(seen.docker.version, seen.toolkit.version, cdi_spec=_usable_cdi(seen))
    if len(choices) > 1:
        return None, f"Docker {seen.docker.version} may take either of " + " and ".join(c.injection for c in choices)
    if choices[0].injection == "legacy" and seen.toolkit.mode in ("cdi", "csv", "jit-cdi"):
        return None, f"the toolkit's mode {seen.toolkit.mode} makes the legacy hook refuse docker run --gpus"
    return choices[0].injection, choices[0].reason


def _of_runtime(seen: Seen) -> Choice:
    if seen.toolkit.mode is None or not seen.toolkit.installed:
        return None, "Docker's default runtime is nvidia, whose mode is not known"
    tegra = seen.host.os == "jetson"
    if tegra and seen.toolkit.mode == "auto" and _l4t(seen.host) >= _NVML_JETSON:
        return None, "what the mode auto means on this Jetson is not known"
    own = runtime_injection(seen.toolkit.mode, seen.toolkit.version, tegra=tegra)
    if own is None:
        return None, "Docker's default runtime is nvidia, and the toolkit's release is not known"
    if own.injection == "legacy":
        others = {choice.injection for choice in injections_of(seen.docker.version, None, cdi_spec=_usable_cdi(seen))}
        if others != {"legacy"}:
            return None, "Docker tries CDI first, the default runtime nvidia uses the legacy hook"
    return own.injection, f"Docker's default runtime is nvidia, and {own.reason}"


def _l4t(host: HostFacts) -> int:
    """The L4T release's first number, by the detail that ``jetson`` leaves."""
    words = next((text for text in host.details if text.startswith("Jetson with L4T ")), "")
    number = words.removeprefix("Jetson with L4T ").partition(".")[0]
    return int(number) if number.isdigit() else 0


def _usable_cdi(seen: Seen) -> bool | None:
    """Whether Docker could inject by CDI; None where something could not be read."""
    if seen.docker.cdi_folders == ():
        return False
    if not seen.specs.gpu:
        return False if seen.specs.complete else None
    return seen.machine.which(CDI_HOOK) is not None


def _of_podman(seen: Seen) -> Choice:
    if seen.specs.gpu:
        return "cdi", f"podman is the only engine here, and {seen.specs.gpu[0].path} is a CDI spec"
    try:
        hooks = seen.machine.names(PODMAN_HOOKS) or ()
    except HostError as error:
        return None, str(error)
    hook = next((name for name in hooks if "nvidia" in name), None)
    if hook is not None:
        return "legacy", f"podman is the only engine here, and {PODMAN_HOOKS}/{hook} calls the legacy hook"
    return None, "podman is here with neither a CDI spec nor an OCI hook for NVIDIA GPUs"


def _of_apptainer(seen: Seen) -> Choice:
    for path in APPTAINER_CONFIGS:
        try:
            text = seen.machine.text(path) or ""
        except HostError as error:
            return None, str(error)
        for line in text.splitlines():
            name, _, value = line.partition("=")
            if name.strip() == "use nvidia-container-cli" and value.strip() == "yes":
                return "apptainer-nvccli", f"{path} says 'use nvidia-container-cli = yes'"
    return "apptainer", "apptainer is the only engine here, with --nv"


def _of_enroot(seen: Seen) -> Choice:
    del seen
    return "enroot", "enroot is the only engine here"


_ALONE: dict[str, Callable[[Seen], Choice]] = {
    "podman": _of_podman,
    "enroot": _of_enroot,
    "apptainer": _of_apptainer,
}
