"""Jetson: the L4T release file says what the driver is, the device tree which module it is."""

from __future__ import annotations

import re
from dataclasses import replace

from cudacompat import tables
from cudacompat.errors import HostError, UsageError
from cudacompat.host.boards import named_gpu
from cudacompat.host.machine import Machine
from cudacompat.model import Gpu, HostFacts

RELEASE = "/etc/nv_tegra_release"
MODEL = "/proc/device-tree/model"
# "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: ..."
_RELEASE = re.compile(r"#\s*R(\d{1,3})\b[^\n]{0,40}?REVISION:\s*(\d{1,3}(?:\.\d{1,3})?)", re.ASCII)


def ask(machine: Machine) -> HostFacts | None:
    """A Jetson's facts, None on other machines. Raises HostError when the release file makes no sense."""
    text = machine.text(RELEASE)
    return None if text is None else parse(text, machine.text(MODEL))


def matches(text: str) -> bool:
    """Whether a text is the release file's content."""
    return _RELEASE.match(text.lstrip()) is not None


def parse_release(text: str, origin: str) -> HostFacts:
    """Host facts from a saved release file."""
    return replace(parse(text, None), origin=origin)


def parse(text: str, model: str | None) -> HostFacts:
    """Host facts from the release file and the device tree's model text. Raises HostError."""
    found = _RELEASE.search(text)
    if found is None:
        raise HostError(f"{RELEASE} names no L4T release")
    l4t = f"{found[1]}.{found[2]}"
    known = tables.jetson_release(l4t)
    gpus, note = _module(model)
    notes = [note] if note else []
    if known is None:
        notes.append(f"L4T {l4t} is not in the table, so its driver and CUDA version are not known: give --driver-cuda")
    return HostFacts(
        driver=known.driver if known else None,
        driver_cuda=known.cuda if known else None,
        os="jetson",
        machine="arm64",
        gpus=gpus,
        origin=f"L4T {l4t}",
        notes=tuple(notes),
        details=(f"Jetson with L4T {l4t}" + (f" (JetPack {known.jetpack}, CUDA {known.cuda})" if known else ""),),
    )


def _module(model: str | None) -> tuple[tuple[Gpu, ...] | None, str | None]:
    """The board by the device tree: "NVIDIA Jetson AGX Orin Developer Kit"."""
    name = " ".join((model or "").replace("\0", " ").split())[:100]
    words = name.removesuffix(" Developer Kit")
    while words:
        try:
            return (named_gpu(words),), None
        except UsageError:
            # "NVIDIA Jetson Orin NX Engineering Reference ... Super": what follows the module's name varies.
            words = words.rpartition(" ")[0]
            if words.casefold() in ("", "nvidia", "nvidia jetson"):
                break
    return None, f"which Jetson module this is was not understood ({name!r}): give --gpu" if name else None
