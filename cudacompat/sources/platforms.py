"""Choosing one image of an index by platform, the way container engines do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cudacompat.errors import TargetError, UsageError
from cudacompat.layers.config import platform_of
from cudacompat.layers.documents import members
from cudacompat.model import ImageConfig

DEFAULT_PLATFORM = "linux/amd64"

_ARCHITECTURES = {"x86_64": "amd64", "x86-64": "amd64", "aarch64": "arm64", "armhf": "arm", "armel": "arm/v6"}
_DEFAULT_VARIANTS = {"arm64": "v8", "arm": "v7", "amd64": "v1"}
_NO_PLATFORM = "unknown/unknown"
_PART = re.compile(r"[A-Za-z0-9_.-]+")
_NO_MATCH = 1_000_000


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen descriptor of an index.

    ``platform`` is the descriptor's own, None when it states none. ``available`` is every platform the
    index offers, in its order. ``note`` is a sentence when nobody named a platform and there were several.
    """

    descriptor: Mapping[str, object]
    platform: str | None
    available: tuple[str, ...]
    note: str | None = None


def normalise(platform: str) -> str:
    """os/architecture[/variant] in the spelling of indexes: "x86_64" becomes "linux/amd64".

    Raises UsageError when it is no platform.
    """
    parts = platform.strip().lower().split("/")
    if len(parts) > 3 or not all(_PART.fullmatch(part) for part in parts):
        raise UsageError(f"{platform!r} is not a platform; write it like linux/amd64 or linux/arm64.")
    if len(parts) == 1:
        parts.insert(0, "linux")
    architecture = _ARCHITECTURES.get(parts[1], parts[1])
    return "/".join([parts[0], architecture, *parts[2:]])


def choose(manifests: Sequence[object], wanted: str | None, where: str) -> Choice:
    """The entry of an index's ``manifests`` for the platform ``wanted``.

    Nobody's wish (None) means linux/amd64 where the index has it, else its first Linux image, else its
    first. Attestations (platform unknown/unknown) are never images. Raises TargetError naming what the
    index offers when nothing fits, UsageError when ``wanted`` is no platform; ``where`` names the index.
    """
    offers = _offers(manifests, where)
    if not offers:
        raise TargetError(f"{where} lists no image.")
    available = tuple(dict.fromkeys(platform for _, platform in offers if platform))
    descriptor, platform = _best(offers, None if wanted is None else normalise(wanted), where)
    note = None
    if wanted is None and len(available) > 1:
        note = f"No platform was named: {platform or 'an image without one'} was read of {', '.join(available)}."
    return Choice(descriptor, platform, available, note)


def fits(offered: str, wanted: str) -> bool:
    """Whether an image for platform ``offered`` runs on ``wanted``, variants compared as engines do."""
    return _distance(offered, normalise(wanted)) < _NO_MATCH


def check_platform(config: ImageConfig, wanted: str | None, where: str) -> None:
    """Raises TargetError when the only image there is for another platform than the wanted one."""
    if wanted is None or config.platform.startswith("unknown/"):
        return
    if not fits(config.platform, wanted):
        raise TargetError(f"{where} is for {config.platform}, not for {normalise(wanted)}.")


def is_attestation(descriptor: Mapping[str, object], where: str) -> bool:
    """Whether an entry of an index describes another entry instead of being an image."""
    annotations = members(descriptor.get("annotations"), f"{where}: annotations")
    if "vnd.docker.reference.type" in annotations:
        return True
    stated = descriptor.get("platform")
    return bool(stated) and platform_of(members(stated, f"{where}: platform"), where).startswith(_NO_PLATFORM)


def _offers(manifests: Sequence[object], where: str) -> list[tuple[Mapping[str, object], str | None]]:
    found: list[tuple[Mapping[str, object], str | None]] = []
    for item in manifests:
        descriptor = members(item, f"{where}: an entry")
        stated = descriptor.get("platform")
        platform = platform_of(members(stated, f"{where}: platform"), where) if stated else None
        if not is_attestation(descriptor, where):
            found.append((descriptor, platform))
    return found


def _best(
    offers: list[tuple[Mapping[str, object], str | None]], wanted: str | None, where: str
) -> tuple[Mapping[str, object], str | None]:
    distances = [_NO_MATCH if p is None else _distance(p, wanted or DEFAULT_PLATFORM) for _, p in offers]
    nearest = min(range(len(offers)), key=distances.__getitem__)
    if distances[nearest] < _NO_MATCH:
        return offers[nearest]
    without = [offer for offer in offers if offer[1] is None]
    if wanted is None:
        linux = [offer for offer in offers if offer[1] and offer[1].startswith("linux/")]
        return [*linux, *without, *offers][0]
    if len(without) == 1:
        return without[0]  # its config will say which platform it is for
    listed = ", ".join(dict.fromkeys(p for _, p in offers if p)) or "images without a platform"
    raise TargetError(f"{where} has no image for {wanted}; it offers {listed}.")


def _distance(offered: str, wanted: str) -> int:
    """0 for the same platform, more for a variant further below it, _NO_MATCH for another platform."""
    offered_parts = offered.lower().split("/")
    wanted_parts = wanted.split("/")
    if offered_parts[:2] != wanted_parts[:2]:
        return _NO_MATCH
    default = _DEFAULT_VARIANTS.get(wanted_parts[1], "")
    have, want = (parts[2] if len(parts) > 2 else default for parts in (offered_parts, wanted_parts))
    if have == want:
        return 0
    below = _variant_number(want) - _variant_number(have)
    # Every machine runs older variants. Newer ones only where nobody asked for a certain variant.
    if below > 0:
        return below
    return 100 - below if len(wanted_parts) == 2 else _NO_MATCH


def _variant_number(variant: str) -> int:
    digits = re.match(r"v?(\d{1,3})", variant)
    return int(digits.group(1)) if digits else 0
