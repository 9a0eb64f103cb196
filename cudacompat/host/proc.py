"""The kernel driver's own word: /proc/driver/nvidia/version. It names the driver and no GPU."""

from __future__ import annotations

import re

from cudacompat.errors import HostError
from cudacompat.host.machine import Machine
from cudacompat.model import HostFacts

WHERE = "/proc/driver/nvidia/version"
# "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ..." and
# "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build  ..."
_VERSION = re.compile(r"NVRM version:.*?Kernel Module[^\d\n]*(?:x86_64|aarch64)?\s+(\d{3,4}(?:\.\d+){1,3})\s")


def matches(text: str) -> bool:
    """Whether a text is that file's content."""
    return "NVRM version:" in text[:4096]


def parse(text: str, origin: str) -> HostFacts:
    """Host facts from the file's content. Raises HostError."""
    found = _VERSION.search(text)
    if found is None:
        raise HostError(f"{origin}: the line 'NVRM version' names no driver version")
    return HostFacts(driver=found[1], origin=origin)


def ask(machine: Machine) -> HostFacts | None:
    """A machine's facts by this file, None where there is none. Raises HostError when it cannot be used."""
    text = machine.text(WHERE)
    return None if text is None else parse(text, WHERE)
