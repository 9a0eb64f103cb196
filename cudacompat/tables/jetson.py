"""Jetson: L4T releases. Their driver numbers are no desktop branches."""

from __future__ import annotations

from dataclasses import dataclass

from cudacompat.tables.store import rows, sources
from cudacompat.tables.versions import parse_version


@dataclass(frozen=True, slots=True)
class JetsonRelease:
    """An L4T release ("36.4"), its JetPack and the CUDA version it brings."""

    l4t: str
    jetpack: str
    cuda: str
    driver: str | None
    source: str


def jetson_release(l4t: str) -> JetsonRelease | None:
    """The row of an L4T version ("36.4.3"): the longest one that it starts with, None without one."""
    wanted = parse_version(l4t).release
    found = None
    for row in rows("jetson", "release"):
        have = parse_version(row["l4t"]).release
        if wanted[: len(have)] == have and (found is None or len(row["l4t"]) > len(found["l4t"])):
            found = row
    if found is None:
        return None
    return JetsonRelease(found["l4t"], found["jetpack"], found["cuda"], found.get("driver"), sources("jetson", found))
