"""Asking nvidia-smi."""

from __future__ import annotations

from cudacompat.errors import HostError
from cudacompat.host import smi_list, smi_xml
from cudacompat.host.machine import Machine
from cudacompat.host.merge import filled
from cudacompat.host.mismatch import DriverMismatchError
from cudacompat.model import HostFacts

_MISMATCH = "Driver/library version mismatch"


def ask(machine: Machine) -> HostFacts | None:
    """A machine's facts by nvidia-smi, None where it is not installed.

    Raises HostError when it is there but fails or hangs: its own words say why.
    """
    answer = machine.ask("nvidia-smi", "-q", "-x")
    if answer is None:
        return None
    if _MISMATCH in answer.out + answer.err:
        raise DriverMismatchError(f"nvidia-smi: {_MISMATCH}")
    if answer.code != 0 and not smi_xml.matches(answer.out):
        raise HostError(f"nvidia-smi failed ({answer.code}): {answer.words}")
    return _with_instances(machine, smi_xml.parse(answer.out, "nvidia-smi"))


def _with_instances(machine: Machine, host: HostFacts) -> HostFacts:
    """The MIG instances, which only the list names."""
    if not any(gpu.mig_enabled for gpu in host.gpus or ()):
        return host
    answer = machine.ask("nvidia-smi", "-L")
    return host if answer is None or answer.code != 0 else filled(host, smi_list.parse(answer.out, "nvidia-smi"))
