"""How much of a layer is read before it counts as hostile."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one layer. Real CUDA layers unpack to 10 GB and more, at ratios of 2 to 5.

    ``unpacked`` is in bytes. ``ratio`` (unpacked to packed) counts only beyond ``ratio_from`` bytes,
    because layers with one large sparse log are legal. ``holes`` are the bytes that sparse files may
    claim without storing them, ``entries`` the tar members, ``extended`` the bytes of extended headers.
    """

    unpacked: int = 200 * GIB
    ratio: int = 200
    ratio_from: int = 8 * GIB
    holes: int = 16 * GIB
    entries: int = 5_000_000
    extended: int = 512 << 20


LIMITS = Limits()
