"""What ``nvidia-smi -q -x`` prints."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

from cudacompat.errors import HostError, UsageError
from cudacompat.host.boards import brand_word, observed_gpu
from cudacompat.host.values import cuda_version, present, reported_driver
from cudacompat.model import Gpu, HostFacts
from cudacompat.model.host import HostOs

# Windows' driver models. Linux containers reach such a driver through WSL 2 only.
_WINDOWS_MODELS = frozenset({"WDDM", "TCC", "MCDM"})
_MIB = re.compile(r"(\d{1,9}) MiB", re.ASCII)
# Drivers from 2026 on tell the kernel mode driver from the user mode driver.
_DRIVER_TAGS = ("driver_version", "kmd_version")
_CUDA_TAGS = ("cuda_version", "cuda_umd_version")


def matches(text: str) -> bool:
    """Whether a text is that."""
    return "<nvidia_smi_log" in text[:4096]


def parse(text: str, origin: str) -> HostFacts:
    """Host facts from the XML text. Raises HostError."""
    root = _root(text, origin)
    driver = _first(root, _DRIVER_TAGS)
    if driver is None:
        raise HostError(f"{origin}: nvidia-smi's XML names no driver version")
    seen = [_gpu(element) for element in root.findall("gpu")]
    return HostFacts(
        driver=reported_driver(driver, origin),
        driver_cuda=_cuda(_first(root, _CUDA_TAGS)),
        os=_os(root),
        gpus=tuple(gpu for gpu, _ in seen),
        origin=origin,
        notes=tuple(dict.fromkeys(note for _, note in seen if note)),
    )


def _root(text: str, origin: str) -> ElementTree.Element:
    # Entities can blow a small text up to gigabytes; nvidia-smi never declares any.
    if "<!ENTITY" in text:
        raise HostError(f"{origin}: the XML declares entities, which nvidia-smi never does; it was not read")
    # nvidia-smi may print warnings before and after the document.
    start, closing = max(text.find("<nvidia_smi_log"), 0), "</nvidia_smi_log>"
    end = text.find(closing)
    try:
        return ElementTree.fromstring(text[start : end + len(closing)] if end >= 0 else text[start:])
    except (ElementTree.ParseError, ValueError) as error:
        raise HostError(f"{origin}: nvidia-smi's XML is broken ({error}); save the whole output again") from error


def _first(element: ElementTree.Element, tags: tuple[str, ...]) -> str | None:
    return next((value for tag in tags if (value := present(element.findtext(tag)))), None)


def _cuda(text: str | None) -> str | None:
    try:
        return cuda_version(text) if text is not None else None
    except UsageError:
        return None


def _os(root: ElementTree.Element) -> HostOs:
    models = {element.text for element in root.findall("gpu/driver_model/current_dm")}
    return "linux" if _WINDOWS_MODELS.isdisjoint(models) else "wsl2"


def _gpu(element: ElementTree.Element) -> tuple[Gpu, str | None]:
    gpu, note = observed_gpu(
        element.findtext("product_name"),
        brand=brand_word(element.findtext("product_brand")),
        capability=element.findtext("compute_cap"),
        uuid=element.findtext("uuid"),
        architecture=element.findtext("product_architecture"),
    )
    # nvidia-smi's XML lists MIG instances by their numbers, without UUID and profile.
    return replace(gpu, mig_enabled=_mig(element), memory_mib=_memory(element)), note


def _mig(element: ElementTree.Element) -> bool | None:
    return {"Enabled": True, "Disabled": False}.get(element.findtext("mig_mode/current_mig") or "")


def _memory(element: ElementTree.Element) -> int | None:
    found = _MIB.fullmatch((element.findtext("fb_memory_usage/total") or "").strip())
    return int(found[1]) if found else None
