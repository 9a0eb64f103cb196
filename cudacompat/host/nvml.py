"""What the driver itself says, through NVIDIA's nvidia-ml-py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from cudacompat.errors import HostError, UsageError
from cudacompat.host.boards import observed_gpu
from cudacompat.host.machine import Machine
from cudacompat.host.mismatch import DriverMismatchError
from cudacompat.host.values import cuda_version, reported_driver
from cudacompat.model import Gpu, HostFacts

# nvml.h's numbers in libnvidia-container's words; every other number is "unknown" there.
_BRANDS = (
    "unknown",
    "quadro",
    "tesla",
    "nvs",
    "grid",
    "geforce",
    "titan",
    "vapps",
    "vpc",
    "vcs",
    "vws",
    "cloudgaming",
    "quadrortx",
    "nvidiartx",
    "nvidia",
    "geforcertx",
    "titanrtx",
)
_NO_LIBRARY, _MISMATCH, _NOT_SUPPORTED = 12, 18, 3
_FAILURES = {
    4: "the user may not open /dev/nvidiactl",
    9: "the kernel module is not loaded: 'modprobe nvidia' says why",
    10: "the driver did not answer in time",
    15: "the GPU is lost: it fell off the bus, and a reboot brings it back",
    16: "the GPU must be reset",
}
_MIB = 1 << 20


def ask(machine: Machine) -> HostFacts | None:
    """A machine's facts by NVML, None where there is no such library.

    Raises HostError when NVML is there but does not answer, DriverMismatchError when library and module differ.
    """
    answer = machine.nvml()
    return None if answer is None else parse(answer.out, answer.code)


def parse(text: str, code: int = 0) -> HostFacts | None:
    """Host facts from what ``nvml_query`` printed. Raises HostError."""
    found = _answers(text, code)
    if "binding" in found:
        raise HostError(f"NVML was not asked: nvidia-ml-py cannot be imported ({str(found['binding'])[:200]})")
    if "init" in found:
        _refuse_to_start(found["init"])
        return None
    notes: list[str] = []
    driver = _value(found.get("driver"), str, "the driver version", notes)
    return HostFacts(
        driver=reported_driver(driver, "NVML") if driver else None,
        driver_cuda=_cuda(found.get("cuda"), notes),
        gpus=_gpus(found, notes),
        origin="NVML",
        notes=tuple(dict.fromkeys(notes)),
        faults=_lost(found.get("gpus")),
    )


def _answers(text: str, code: int) -> Mapping[str, object]:
    """The query's one line. The driver's library may have printed lines of its own before it."""
    try:
        found = json.loads(text.strip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        ending = f"ended by signal {-code}" if code < 0 else f"code {code}"
        raise HostError(f"NVML's query gave no answer ({ending}): the driver's library may be broken")
    return found


def _refuse_to_start(answer: object) -> None:
    """Raise what stopped NVML; a library that is not there is no error."""
    error = answer if isinstance(answer, dict) else {}
    code = error.get("error")
    if code == _NO_LIBRARY:
        return
    if code == _MISMATCH:
        raise DriverMismatchError("NVML: driver/library version mismatch")
    raise HostError(f"NVML does not start: {_reason(error)}")


def _reason(error: Mapping[str, object]) -> str:
    code, text = error.get("error"), " ".join(str(error.get("text") or "").split())
    known = _FAILURES.get(code) if isinstance(code, int) else None
    return known or (f"{text} (NVML error {code})" if code is not None else text)


def _value(answer: object, kind: type, name: str, notes: list[str]) -> str | None:
    """A text answer. An error becomes a note, unless NVML says that this board has no such thing."""
    if isinstance(answer, kind):
        return str(answer).strip() or None
    if isinstance(answer, dict) and answer.get("error") != _NOT_SUPPORTED:
        notes.append(f"NVML does not tell {name}: {_reason(answer)}")
    return None


def _cuda(answer: object, notes: list[str]) -> str | None:
    """12020 is CUDA 12.2."""
    if not isinstance(answer, int):
        _value(answer, str, "the driver's CUDA version", notes)
        return None
    try:
        return cuda_version(f"{answer // 1000}.{answer % 1000 // 10}") if answer >= 1000 else None
    except UsageError:
        return None


def _gpus(found: Mapping[str, object], notes: list[str]) -> tuple[Gpu, ...] | None:
    listed = found.get("gpus")
    if not isinstance(found.get("count"), int) or not isinstance(listed, list):
        _value(found.get("count"), str, "the GPUs", notes)
        return None
    return tuple(_gpu(index, item, notes) for index, item in enumerate(listed) if isinstance(item, dict))


def _gpu(index: int, item: Mapping[str, object], notes: list[str]) -> Gpu:
    handle = item.get("handle")
    if isinstance(handle, dict):
        return Gpu()
    brand = item.get("brand")
    gpu, note = observed_gpu(
        _value(item.get("name"), str, f"the name of GPU {index}", notes),
        brand=_brand(brand) if isinstance(brand, int) else None,
        capability=_capability(item.get("compute_capability")),
        uuid=_value(item.get("uuid"), str, f"the UUID of GPU {index}", notes),
    )
    notes += [note] if note else []
    return _with_instances(replace(gpu, memory_mib=_memory(item.get("memory"))), item, notes)


def _lost(listed: object) -> tuple[str, ...]:
    """The GPUs that do not answer."""
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    handles = [(index, item.get("handle")) for index, item in enumerate(items)]
    return tuple(
        f"GPU {index} does not answer: {_reason(handle)}" for index, handle in handles if isinstance(handle, dict)
    )


def _brand(number: int) -> str:
    return _BRANDS[number] if 0 <= number < len(_BRANDS) else "unknown"


def _capability(answer: object) -> str | None:
    return ".".join(map(str, answer)) if isinstance(answer, list) and len(answer) == 2 else None


def _memory(answer: object) -> int | None:
    return answer // _MIB if isinstance(answer, int) and answer > 0 else None


def _with_instances(gpu: Gpu, item: Mapping[str, object], notes: list[str]) -> Gpu:
    mode, listed = item.get("mig_mode"), item.get("mig")
    if not isinstance(mode, list) or not isinstance(listed, list):
        return gpu
    found = [one for one in listed if isinstance(one, dict)]
    pairs = [(_value(one.get("uuid"), str, "a MIG UUID", notes), one.get("name")) for one in found]
    known = [(uuid, _profile(name)) for uuid, name in pairs if uuid]
    return replace(
        gpu,
        mig_enabled=mode[:1] == [1],
        mig=tuple(uuid for uuid, _ in known),
        mig_profiles=tuple(profile for _, profile in known),
    )


def _profile(name: object) -> str:
    """ "NVIDIA A100-SXM4-40GB MIG 1g.5gb" ends in the profile."""
    return name.rpartition("MIG ")[2].strip() if isinstance(name, str) and "MIG " in name else "unknown"
