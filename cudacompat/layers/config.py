"""The image config: environment, labels, entrypoint and history as the model wants them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cudacompat.layers.documents import items, members, parse_object, text, texts
from cudacompat.model import ImageConfig


def parse_config(raw: bytes, where: str) -> ImageConfig:
    """The config in ``raw``, an OCI or Docker image config (JSON).

    ``where`` names it in errors. Fields that are null or absent count as empty, because builders write
    both; a field of a wrong type raises TargetError, because whatever wrote it was no builder.
    """
    document = parse_object(raw, where)
    runtime = members(document.get("config"), f"{where}: config")
    rootfs = members(document.get("rootfs"), f"{where}: rootfs")
    return ImageConfig(
        platform=platform_of(document, where),
        env=texts(runtime.get("Env"), f"{where}: Env"),
        labels=_labels(runtime.get("Labels"), f"{where}: Labels"),
        entrypoint=texts(runtime.get("Entrypoint"), f"{where}: Entrypoint"),
        cmd=texts(runtime.get("Cmd"), f"{where}: Cmd"),
        history=_history(document.get("history"), f"{where}: history"),
        diff_ids=texts(rootfs.get("diff_ids"), f"{where}: diff_ids"),
    )


def platform_of(value: Mapping[str, object], where: str) -> str:
    """os/architecture[/variant] of a config or of an index entry's platform; "unknown" for what is unset."""
    system = text(value.get("os"), f"{where}: os") or "unknown"
    architecture = text(value.get("architecture"), f"{where}: architecture") or "unknown"
    variant = text(value.get("variant"), f"{where}: variant")
    return "/".join(part for part in (system, architecture, variant) if part)


def _labels(value: object, where: str) -> Mapping[str, str]:
    pairs = members(value, where)
    return MappingProxyType({text(name, where): text(item, where) for name, item in pairs.items()})


def _history(value: object, where: str) -> tuple[str, ...]:
    return tuple(text(members(item, where).get("created_by"), where) for item in items(value, where))
