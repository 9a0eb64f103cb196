"""The answer of ``cudacompat devices``: asked for one setting, as plain data and in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cudacompat.errors import UsageError
from cudacompat.model import Gpu
from cudacompat.report.style import Style
from cudacompat.workloads.devices import Device, Visibility, injected, slurm_grant, visible

SCHEMA = "cudacompat/devices/v1"


@dataclass(frozen=True, slots=True)
class Setting:
    """What the program is started with. ``granted`` are the node's numbers that Slurm gave, as a list."""

    cuda_visible_devices: str | None = None
    cuda_device_order: str | None = None
    nvidia_visible_devices: str | None = None
    granted: str | None = None
    constrain: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """``value`` is the value that holds (Slurm's where the setting gives none); ``reachable`` can be opened."""

    place: str
    value: str | None
    host: tuple[Device, ...]
    reachable: tuple[Device, ...]
    visibility: Visibility


def answer(setting: Setting, count: int | None, gpus: Sequence[Gpu] | None) -> Answer:
    """What a program sees on a host with ``count`` GPUs, or with these. Raises UsageError."""
    if count is None and gpus is None:
        raise UsageError("nobody said which GPUs the host has: give --gpus N or --host FILE")
    host = (
        tuple(Device(number) for number in range(count))
        if count is not None
        else tuple(Device(number, gpu.name, gpu.uuid, gpu.mig) for number, gpu in enumerate(gpus or ()))
    )
    value, reachable, place = setting.cuda_visible_devices, host, "on the host"
    if setting.granted is not None:
        grant = slurm_grant(_numbers(setting.granted), host, constrain=setting.constrain)
        value = grant.value if value is None else value
        reachable = grant.reachable
        place = f"in a Slurm job, ConstrainDevices={'yes' if setting.constrain else 'no'}"
    elif setting.nvidia_visible_devices is not None:
        reachable = injected(setting.nvidia_visible_devices, host)
        place = f"in a container, NVIDIA_VISIBLE_DEVICES={setting.nvidia_visible_devices}"
    return Answer(place, value, host, reachable, visible(value, reachable, order=setting.cuda_device_order))


def _numbers(text: str) -> tuple[int, ...]:
    if text.strip() in ("", "none"):
        return ()
    if not re.fullmatch(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*", text):
        raise UsageError(f"--slurm-gpus {text[:40]!r}: expected numbers such as 1,2 or 0-3, or none")
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return tuple(found)


def document(found: Answer) -> dict[str, object]:
    """The answer as plain data, schema id ``cudacompat/devices/v1``."""
    return {
        "schema": SCHEMA,
        "place": found.place,
        "cuda_visible_devices": found.value,
        "host_gpus": len(found.host),
        "devices": [
            {
                "cuda_index": s.cuda_index,
                "host_index": s.device.index,
                "name": s.device.name,
                "uuid": s.device.uuid,
                "mig": s.mig,
            }
            for s in found.visibility.seen
        ],
        "problems": [{"kind": p.kind, "entry": p.entry, "text": p.text} for p in found.visibility.problems],
        "notes": list(found.visibility.notes),
    }


def render(found: Answer, style: Style) -> str:
    """The answer as a table, with what is wrong below."""
    value = "unset" if found.value is None else style.clean(f'"{found.value}"')
    seen = found.visibility.seen
    count = f"{len(seen)} of the host's {len(found.host)} GPUs"
    head = f"{style.clean(found.place)}, CUDA_VISIBLE_DEVICES {value}: the program sees {count}"
    lines = style.wrap(head)
    for one in seen:
        about = [
            style.clean(text)
            for text in (one.device.name, one.device.uuid, one.mig and f"MIG instance {one.mig}")
            if text
        ]
        lines.append(
            f"  cuda:{one.cuda_index} {style.symbol('arrow')} GPU {one.device.index}" + "".join(f"  {a}" for a in about)
        )
    for problem in found.visibility.problems:
        lines += style.wrap(style.clean(problem.text), first=f"{style.symbol('warning')} ")
    for note in found.visibility.notes:
        lines += style.wrap(note, first=f"{style.symbol('note')} ")
    return "\n".join(lines) + "\n"
