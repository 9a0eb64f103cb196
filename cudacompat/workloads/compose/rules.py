"""Rules on Compose files: C01-C12, D15, V01-V07, X03."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cudacompat.workloads.compose.reader import ComposeFile, image_use
from cudacompat.workloads.devices import read_value
from cudacompat.workloads.image_rules import add_floating_rule
from cudacompat.workloads.interface import Hit, ImageUse, Inventory, RuleBook
from cudacompat.workloads.visible_rules import add_visible_rules

BOOK: RuleBook[ComposeFile] = RuleBook()
_SPEC = "compose specification, deploy.md"
_OFF = ("", "void", "none")
_SWARM_KEYS = ("placement", "endpoint_mode", "update_config", "rollback_config", "mode")


def _uses(file: ComposeFile) -> Iterator[ImageUse]:
    for service in file.services:
        use = image_use(service)
        if use is not None and service.asks:
            yield use


def _values(file: ComposeFile) -> Iterator[tuple[int, str]]:
    for service in file.services:
        found = service.environment().get("CUDA_VISIBLE_DEVICES")
        if found is not None:
            yield found[1], found[0]


add_floating_rule(BOOK, _uses)
add_visible_rules(BOOK, _values)


@BOOK.rule("C01", "error", "a device without capabilities", fix="add capabilities: [gpu]", source=_SPEC)
def no_capabilities(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """C01."""
    for service in file.services:
        for device in service.devices():
            if not device.get("capabilities").items():
                yield Hit(device.line, f"{service.name}: the device names no capabilities: Compose refuses the file")


@BOOK.rule("C02", "error", "count and device_ids together", fix="keep one of them", source=_SPEC)
def both(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """C02."""
    for service in file.services:
        for device in (*service.devices(), *service.get("gpus").items()):
            if device.get("count").exists and device.get("device_ids").exists:
                yield Hit(
                    device.line, f"{service.name}: count and device_ids exclude each other: Compose refuses the file"
                )


@BOOK.rule(
    "C03", "warning", "neither count nor device_ids", fix="add count: 1 (or all, if that is meant)", source=_SPEC
)
def neither(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """C03."""
    for service in file.services:
        for device in (*service.devices(), *service.get("gpus").items()):
            gpu = [c.string for c in device.get("capabilities").items()]
            if not device.get("count").exists and not device.get("device_ids").exists and (not gpu or "gpu" in gpu):
                yield Hit(device.line, f"{service.name}: without count or device_ids the service gets every GPU")


@BOOK.rule(
    "C04",
    "error",
    "NVIDIA_VISIBLE_DEVICES without a GPU request",
    fix="add gpus: all, or deploy.resources.reservations.devices",
    source="run with Docker 20.10",
)
def variable_alone(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """C04."""
    for service in file.services:
        value, line = service.environment().get("NVIDIA_VISIBLE_DEVICES", ("", 0))
        if value not in _OFF and not service.asks and not service.outside:
            yield Hit(
                line,
                f"{service.name}: NVIDIA_VISIBLE_DEVICES={value} alone brings no GPU: it runs on "
                "the CPU without a message",
            )


@BOOK.rule(
    "C05",
    "warning",
    "gpus: with a Compose before 2.30",
    fix="use deploy.resources.reservations.devices",
    source="compose specification",
    needs=("host",),
)
def old_compose(file: ComposeFile, inventory: Inventory) -> Iterator[Hit]:
    """C05."""
    version = inventory.compose_version
    for service in file.services:
        if version is not None and version < (2, 30) and service.get("gpus").exists:
            yield Hit(
                service.get("gpus").line, f"{service.name}: Compose {'.'.join(map(str, version))} does not know gpus:"
            )


@BOOK.rule(
    "C06",
    "error",
    "driver capabilities without compute",
    fix="NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    source="moby daemon/nvidia_linux.go",
)
def no_compute(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """C06."""
    for service in file.services:
        requests = (*service.devices(), *service.get("gpus").items())
        named = {c.string or "" for request in requests for c in request.get("capabilities").items()} - {"gpu"}
        if named:
            # Capabilities of the request replace the variable (moby daemon/nvidia_linux.go).
            if not {"compute", "all"} & named and all(re.fullmatch(r"[a-z0-9]+", name) for name in named):
                text = ", ".join(sorted(named))
                yield Hit(requests[0].line, f"{service.name}: the request names {text} only: libcuda is not mounted")
            continue
        value, line = service.environment().get("NVIDIA_DRIVER_CAPABILITIES", ("", 0))
        if value and "$" not in value and service.asks and not {"compute", "all"} & set(value.split(",")):
            yield Hit(line, f"{service.name}: NVIDIA_DRIVER_CAPABILITIES={value}: libcuda is not mounted")


@BOOK.rule(
    "C07", "error", "devices under limits", fix="move them to deploy.resources.reservations", source="compose schema"
)
def under_limits(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """C07."""
    for service in file.services:
        node = service.get("deploy", "resources", "limits", "devices")
        if node.exists:
            yield Hit(
                node.line, f"{service.name}: devices under limits are not in the schema: Compose refuses the file"
            )


@BOOK.rule(
    "C08",
    "warning",
    "runtime: nvidia on a host without it",
    fix="install the NVIDIA container toolkit and configure the engine",
    source="run with Docker 20.10",
    needs=("host",),
)
def no_runtime(file: ComposeFile, inventory: Inventory) -> Iterator[Hit]:
    """C08."""
    for service in file.services:
        node = service.get("runtime")
        if node.string == "nvidia" and inventory.runtimes is not None and "nvidia" not in inventory.runtimes:
            yield Hit(node.line, f'{service.name}: the engine answers "Unknown runtime specified nvidia"')


@BOOK.rule(
    "C09",
    "error",
    "CUDA_VISIBLE_DEVICES with the host's numbers",
    fix="count from 0 among the service's GPUs",
    source="CUDA programming guide",
)
def host_numbers(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """C09."""
    for service in file.services:
        found = service.environment().get("CUDA_VISIBLE_DEVICES")
        if found is None or not service.gpus or read_value(found[0]).kind != "index":
            continue
        beyond = [e for e in read_value(found[0]).entries if int(e) >= service.gpus]
        if beyond:
            yield Hit(
                found[1],
                f"{service.name}: CUDA_VISIBLE_DEVICES={found[0]}: the service has {service.gpus} "
                f"GPU(s), numbered from 0: there is no {beyond[0]}",
            )


@BOOK.rule(
    "C10",
    "note",
    "a service without an image",
    fix="give the files together, as docker compose -f a -f b config prints them",
    source="public Compose files",
)
def fragment(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """C10."""
    for service in file.services:
        if service.image is None and not service.get("build").exists:
            yield Hit(
                service.line,
                f"{service.name} names no image and no build: this is a fragment, its image cannot be judged",
            )


@BOOK.rule(
    "C11",
    "warning",
    "device reservations in a Swarm stack",
    fix="generic_resources, with the daemons' node-generic-resources",
    source="moby and Compose issue threads",
)
def swarm(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """C11: known by deploy keys that only a stack uses."""
    for service in file.services:
        key = next((k for k in _SWARM_KEYS if service.get("deploy", k).exists), None)
        if key is not None and service.devices():
            yield Hit(
                service.devices()[0].line,
                f"{service.name}: deploy.{key} is for Swarm, and docker stack deploy ignores devices",
            )


@BOOK.rule(
    "C12",
    "error",
    "the model is split over more GPUs than the service has",
    fix="raise count, or lower the parallel size",
    source="vLLM's documentation",
)
def split(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """C12."""
    for service in file.services:
        wanted, gpus = service.launcher.model_gpus, service.gpus
        if wanted is not None and gpus is not None and wanted > gpus:
            yield Hit(
                service.get("command").line,
                f"{service.name}: the model is split over {wanted} GPUs, the service has {gpus}",
            )


@BOOK.rule(
    "D15",
    "warning",
    "the requirement check turned off",
    fix="remove NVIDIA_DISABLE_REQUIRE",
    source="NVIDIA container toolkit",
)
def guard_off(file: ComposeFile, _inventory: Inventory) -> Iterator[Hit]:
    """D15."""
    for service in file.services:
        value, line = service.environment().get("NVIDIA_DISABLE_REQUIRE", ("", 0))
        if value.lower() in ("1", "t", "true", "yes"):
            yield Hit(
                line,
                f"{service.name}: NVIDIA_DISABLE_REQUIRE={value}: an image too new for the driver "
                "starts, and fails at its first CUDA call",
            )
