"""GPU products by the names that drivers, labels and people use."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import replace

from cudacompat.errors import UsageError
from cudacompat.tables.store import Row, remembered, rows, sources
from cudacompat.tables.types import GpuModel

# Words that drivers put in front in some releases and leave out in others; "mega" is GKE's word for a node type.
_FREE = frozenset({"nvidia", "geforce", "tesla", "gpu", "graphics", "device", "generation", "with", "design", "mega"})
# Words that make another product: a name without them does not mean one with them.
_TELLING = frozenset({"laptop", "max", "mobile", "embedded", "drive", "grid", "cmp", "dgx", "d"})
_MEMORY = re.compile(r"\d+(?:gb|mb|g)")
_SUFFIX = re.compile(r"[-\s]+(?:SHARED|MIG[-\s].*|MIG-INVALID)$", re.IGNORECASE)
_PROFILE = re.compile(r"\d+(?:-\d+)?[abcq](?:me)?", re.IGNORECASE)
_MOST_CHOICES = 8
_LONGEST = 120


@remembered
def gpus() -> tuple[GpuModel, ...]:
    """Every product by its name; one entry for each compute capability that a name was sold with."""
    return tuple(model for row in rows("gpus") for model in _models(row))


def _models(row: Row) -> Iterable[GpuModel]:
    capabilities = [row["compute_capability"]] if "compute_capability" in row else row["candidates"]
    for capability in capabilities:
        yield GpuModel(
            name=row["name"],
            compute_capability=capability,
            architecture=row["architecture"],
            gpu_class=row["class"],
            brands=tuple(row["brands"]),
            forward_compat=row["forward_compat"],
            source=sources("gpus", row),
        )


@remembered
def _index() -> tuple[tuple[frozenset[str], GpuModel], ...]:
    """Each name and alias as its words; vGPU profile families have no name of their own."""
    entries = []
    for row in rows("gpus"):
        names = [] if "prefix" in row else [row["name"], *row.get("aliases", [])]
        for model in _models(row):
            entries += [(frozenset(_words(name)), model) for name in names]
    return tuple(entries)


@remembered
def _spellings() -> dict[str, list[GpuModel]]:
    """Products by their names as printed, without the vendor's prefix and in lower case."""
    found: dict[str, list[GpuModel]] = {}
    for row in rows("gpus"):
        for name in [] if "prefix" in row else [row["name"], *row.get("aliases", [])]:
            found.setdefault(_plain(name), []).extend(_models(row))
    return found


def _plain(name: str) -> str:
    return " ".join(name.lower().split()).removeprefix("nvidia ")


def _words(name: str) -> list[str]:
    """Lower-case words, with series and suffixes apart however they are written: RTX3060Ti, 1080ti."""
    spaced = re.sub(r"\b(rtx|gtx|gt|titan|tesla|quadro)(?=[a-z]?\d)", r"\1 ", name.lower())
    spaced = re.sub(r"\b(\d{3,4})(ti|super|d)\b", r"\1 \2", spaced)
    return re.findall(r"[a-z0-9.]+", spaced)


@remembered
def find_gpu(name: str) -> GpuModel:
    """The product that a name stands for.

    Vendor words, MIG and sharing suffixes, dashes and case do not matter; a memory size only where it
    tells products apart. Several products that agree in everything a prediction uses are one. Raises
    UsageError with the choices when they do not agree, and with near names when nothing fits.
    """
    if len(name) > _LONGEST:
        raise UsageError(f"{name[:60]!r}... is no GPU name: it is longer than {_LONGEST} characters")
    text = _SUFFIX.sub("", name.strip())
    profile = _vgpu(text)
    if profile is not None:
        return profile
    words = frozenset(_words(text))
    sizeless = frozenset(word for word in words if not _MEMORY.fullmatch(word))
    found = _spellings().get(_plain(text)) or _matching(words) or _matching(sizeless)
    if not found:
        raise UsageError(_unknown(name))
    kinds = {(m.compute_capability, m.gpu_class, frozenset(m.brands), m.forward_compat) for m in found}
    if len(kinds) > 1:
        raise UsageError(_ambiguous(name, found))
    names = {model.name for model in found}
    return found[0] if len(names) == 1 else replace(found[0], name=text)


def _vgpu(text: str) -> GpuModel | None:
    """A vGPU guest's name: the board's name, a dash and a profile ("NVIDIA A40-8Q", "GRID A100-1-5C")."""
    bare = text.lower().removeprefix("nvidia ")
    for row in rows("gpus"):
        prefix = row.get("prefix", "").lower().removeprefix("nvidia ")
        if prefix and bare.startswith(prefix) and _PROFILE.fullmatch(bare[len(prefix) :]):
            return replace(next(iter(_models(row))), name=text)
    return None


def _matching(words: frozenset[str]) -> list[GpuModel]:
    """Products whose names hold all the words: those that add nothing first, else those that add detail."""
    telling = words - _FREE
    if not telling:
        return []
    within = [(have, model) for have, model in _index() if telling <= have]
    exact = [model for have, model in within if not have - words - _FREE]
    if not exact and max(map(len, telling)) == 1:
        return []  # one letter alone ("A") names no product
    plain = [model for have, model in within if not (have - words) & _TELLING]
    chosen = exact or plain or [model for _, model in within]
    return list(dict.fromkeys(chosen))


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(_plain(name), _spellings(), n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(_spellings()[plain][0].name for plain in near)}?" if near else "."
    return f"the GPU {name[:60]!r} is not in the table{hint} Or give --compute-capability."


def _ambiguous(name: str, found: list[GpuModel]) -> str:
    names = list(dict.fromkeys(f"{m.name} ({m.compute_capability})" for m in found))
    shown = ", ".join(names[:_MOST_CHOICES])
    more = f" and {len(names) - _MOST_CHOICES} more" if len(names) > _MOST_CHOICES else ""
    return (
        f"the GPU name {name[:60]!r} fits several products: {shown}{more}. Give the full name, or --compute-capability."
    )
