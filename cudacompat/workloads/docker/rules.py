"""Rules on `docker run` and podman lines: D01-D15, V01-V07, X03."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cudacompat.workloads.devices import read_value
from cudacompat.workloads.docker.command import DockerRun
from cudacompat.workloads.docker.lines import DockerLines, image_use
from cudacompat.workloads.image_rules import add_floating_rule
from cudacompat.workloads.interface import Hit, ImageUse, Inventory, RuleBook
from cudacompat.workloads.launchers import find_launcher
from cudacompat.workloads.visible_rules import add_visible_rules

BOOK: RuleBook[DockerLines] = RuleBook()
_RUN = "run with Docker CLI 28.2.2"
_MOBY = "moby daemon/nvidia_linux.go"
_OFF = ("", "void", "none")


def _uses(lines: DockerLines) -> Iterator[ImageUse]:
    return (image_use(run) for run in lines.runs if run.image)


def _values(lines: DockerLines) -> Iterator[tuple[int, str]]:
    return ((r.line, r.env["CUDA_VISIBLE_DEVICES"]) for r in lines.runs if "CUDA_VISIBLE_DEVICES" in r.env)


add_floating_rule(BOOK, _uses)
add_visible_rules(BOOK, _values)


def asks(run: DockerRun) -> bool:
    """Whether the line asks for GPUs in a way that brings the driver."""
    return bool(run.gpu_requests) or run.runtime == "nvidia" or any(d.startswith("nvidia.com/") for d in run.devices)


@BOOK.rule("D01", "error", "--gpus device=0,1 without inner quotes", fix="--gpus '\"device=0,1\"'", source=_RUN)
def unquoted_devices(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D01: the comma ends the field, the rest is a count."""
    for run in lines.runs:
        for flag in run.gpu_requests:
            if flag.refused_by_daemon:
                yield Hit(
                    run.line,
                    f"--gpus {flag.text}: read as device {','.join(flag.device_ids)} and count "
                    f'{flag.count}: the daemon answers "{flag.refused}"',
                )


@BOOK.rule("D02", "error", "--gpus with a list of numbers", fix="--gpus '\"device=0,1\"'", source=_RUN)
def list_of_numbers(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D02: each number is a count, the last one holds."""
    for run in lines.runs:
        for flag in run.gpu_requests:
            if re.fullmatch(r"\d+(,\d+)+", flag.text):
                yield Hit(
                    run.line,
                    f"--gpus {flag.text} is no list of devices: the container gets the first "
                    f"{flag.count} GPU(s), silently",
                )


@BOOK.rule("D03", "warning", "--gpus 0", fix="--gpus all, or --gpus device=0 for the first GPU", source=_MOBY)
def zero(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D03."""
    for run in lines.runs:
        for flag in run.gpu_requests:
            if flag.count == 0 and not flag.device_ids and "," not in flag.text:
                yield Hit(
                    run.line,
                    f"--gpus {flag.text} is a count of none: the container starts without a GPU and without an error",
                )


@BOOK.rule("D04", "note", "--gpus N takes the first N GPUs", fix="name devices: --gpus device=1", source=_MOBY)
def first_ones(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D04."""
    for run in lines.runs:
        for flag in run.gpu_requests:
            if re.fullmatch(r"(?:count=)?[1-9]\d*", flag.text):
                yield Hit(run.line, f"--gpus {flag.text} always takes the first GPUs of the host, busy or not")


@BOOK.rule(
    "D05",
    "error",
    "several capabilities without inner quotes",
    fix="--gpus 'all,\"capabilities=compute,utility\"'",
    source=_RUN,
)
def unquoted_capabilities(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D05."""
    for run in lines.runs:
        for flag in run.gpu_requests:
            if flag.refused and not flag.refused_by_daemon and "capabilities=" in flag.text:
                yield Hit(run.line, f"--gpus {flag.text}: the CLI refuses it: {flag.refused}")


@BOOK.rule("D06", "error", "driver capabilities without compute", fix="add compute: compute,utility", source=_MOBY)
def no_compute(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D06: in --gpus, or in NVIDIA_DRIVER_CAPABILITIES."""
    for run in lines.runs:
        for flag in run.gpu_requests:
            named = [c for c in flag.capabilities if c != "gpu"]
            if named and not {"compute", "all"} & set(named):
                yield Hit(run.line, f"--gpus {flag.text} brings {', '.join(named)} only: libcuda is not mounted")
        value = run.env.get("NVIDIA_DRIVER_CAPABILITIES", "all")
        if asks(run) and "$" not in value and value and not {"compute", "all"} & set(value.split(",")):
            yield Hit(run.line, f"NVIDIA_DRIVER_CAPABILITIES={value}: libcuda is not mounted")


@BOOK.rule(
    "D07", "error", "NVIDIA_VISIBLE_DEVICES without --gpus", fix="add --gpus all (or --runtime nvidia)", source=_RUN
)
def variable_alone(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D07: only NVIDIA's runtime reads it."""
    for run in lines.runs:
        value = run.env.get("NVIDIA_VISIBLE_DEVICES")
        if value is not None and value not in _OFF and not asks(run):
            yield Hit(
                run.line,
                f"NVIDIA_VISIBLE_DEVICES={value} alone brings no GPU: unless NVIDIA's runtime is "
                "the default, the container runs on the CPU without a message",
            )


@BOOK.rule("D08", "error", "a device node without the driver", fix="use --gpus instead of --device", source=_RUN)
def device_alone(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D08."""
    for run in lines.runs:
        nodes = [d for d in run.devices if d.startswith("/dev/nvidia")]
        if nodes and not asks(run):
            yield Hit(
                run.line,
                f"--device {nodes[0]} brings the device, not the driver's libraries: no libcuda in the container",
            )


@BOOK.rule("D09", "note", "--runtime nvidia and --gpus together", fix="keep --gpus", source="public scripts")
def twice(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D09."""
    for run in lines.runs:
        if run.runtime == "nvidia" and run.gpu_requests:
            yield Hit(run.line, "--runtime nvidia and --gpus both ask for GPUs: one is enough")


@BOOK.rule("D10", "error", "--gpus after the image's name", fix="move --gpus before the image", source="docker-run(1)")
def after_image(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D10: what follows the image is the container's command."""
    for run in lines.runs:
        if not run.gpu_requests and _late_request(run.command):
            yield Hit(run.line, f"--gpus stands after {run.image}: it goes to the program, not to {run.engine}")


def _late_request(command: Sequence[str]) -> bool:
    """Whether a --gpus behind the image was meant for the engine: a number behind a program may be its own."""
    for at, word in enumerate(command):
        if word == "--gpus" or word.startswith("--gpus="):
            value = word.partition("=")[2] or " ".join(command[at + 1 : at + 2])
            if at == 0 or value.strip("\"'") == "all" or "device=" in value or "capabilities=" in value:
                return True
    return False


@BOOK.rule(
    "D11",
    "error",
    "CUDA_VISIBLE_DEVICES with the host's numbers",
    fix="count from 0 among the container's GPUs",
    source="CUDA programming guide",
)
def host_numbers(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D11: inside the container the devices it was given are numbered from 0."""
    for run in lines.runs:
        value, given = run.env.get("CUDA_VISIBLE_DEVICES"), given_devices(run)
        if value is None or given is None:
            continue
        beyond = [e for e in read_value(value).entries if read_value(value).kind == "index" and int(e) >= given]
        if beyond:
            yield Hit(
                run.line,
                f"CUDA_VISIBLE_DEVICES={value}: the container has {given} GPU(s), numbered from "
                f"0: there is no {beyond[0]}",
            )


def given_devices(run: DockerRun) -> int | None:
    """How many GPUs the container gets, None when all or not certain."""
    if len(run.gpu_requests) == 1 and not run.gpu_requests[0].refused:
        flag = run.gpu_requests[0]
        return len(flag.device_ids) or (None if flag.count is None or flag.count < 0 else flag.count)
    visible = run.env.get("NVIDIA_VISIBLE_DEVICES", "")
    if run.runtime == "nvidia" and not run.gpu_requests and re.fullmatch(r"[\w:-]+(,[\w:-]+)*", visible):
        return None if visible == "all" else 0 if visible in _OFF else len(visible.split(","))
    named = [d.partition("=")[2] for d in run.devices if d.startswith("nvidia.com/gpu=")]
    only_named = len(named) == len(run.devices) and not run.gpu_requests and run.runtime != "nvidia"
    return len(named) if named and only_named and "all" not in named else None


@BOOK.rule("D12", "error", "a --gpus value that the CLI refuses", fix="all, a number, or '\"device=0,1\"'", source=_RUN)
def refused(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D12."""
    for run in lines.runs:
        for flag in run.gpu_requests:
            if (
                flag.refused
                and not flag.refused_by_daemon
                and "capabilities=" not in flag.text
                and "$" not in flag.text
            ):
                yield Hit(run.line, f"--gpus {flag.text}: the CLI refuses it: {flag.refused}")


@BOOK.rule("D13", "note", "all GPUs for a program that uses one", fix="--gpus device=0", source="public scripts")
def idle(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D13: said only where the command line says one."""
    for run in lines.runs:
        launcher = find_launcher(
            run.command if run.command[:1] and not run.command[0].startswith("-") else ("server", *run.command)
        )
        single = 1 in (launcher.model_gpus, launcher.total) or (
            launcher.processes == 1 and any("nproc" in w for w in run.command)
        )
        if single and any(flag.count == -1 for flag in run.gpu_requests):
            yield Hit(
                run.line,
                "--gpus all, and the program is told to use one GPU: on a host with several the "
                "others are held for nothing",
            )


@BOOK.rule(
    "D14",
    "warning",
    "podman with Docker's GPU options",
    fix="--device nvidia.com/gpu=all",
    source="NVIDIA container toolkit, CDI documentation",
)
def podman(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D14."""
    for run in lines.runs:
        if run.engine == "podman" and (run.gpu_requests or run.runtime == "nvidia"):
            used = "--gpus" if run.gpu_requests else "--runtime nvidia"
            yield Hit(
                run.line,
                f"podman {used} depends on podman's version and set-up: CDI's device name is the documented way",
            )


@BOOK.rule(
    "D15",
    "warning",
    "the requirement check turned off",
    fix="remove NVIDIA_DISABLE_REQUIRE",
    source="NVIDIA container toolkit",
)
def guard_off(lines: DockerLines, _inventory: Inventory) -> Iterator[Hit]:
    """D15."""
    for run in lines.runs:
        value = run.env.get("NVIDIA_DISABLE_REQUIRE", "")
        if value.lower() in ("1", "t", "true", "yes"):
            yield Hit(
                run.line,
                f"NVIDIA_DISABLE_REQUIRE={value}: an image too new for the driver starts, and "
                "fails at its first CUDA call",
            )
