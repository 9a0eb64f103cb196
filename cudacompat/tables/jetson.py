"""Jetson: L4T releases. Their driver numbers are no desktop branches."""

from __future__ import annotations

from cudacompat.tables.store import remembered, rows, sources
from cudacompat.tables.types import JetsonRelease, Known
from cudacompat.tables.versions import driver_branch, parse_driver, parse_version


@remembered
def jetson_releases() -> tuple[JetsonRelease, ...]:
    """Every known L4T release, oldest first."""
    return tuple(
        JetsonRelease(
            l4t=row["l4t"],
            jetpack=row["jetpack"],
            cuda=row["cuda"],
            driver=row.get("driver"),
            source=sources("jetson", row),
        )
        for row in rows("jetson", "release")
    )


@remembered
def jetson_release(l4t: str) -> JetsonRelease | None:
    """The row of an L4T version ("36.4.3"): the longest one that it starts with, None without one."""
    wanted = parse_version(l4t).release
    fitting = [known for known in jetson_releases() if wanted[: len(_numbers(known))] == _numbers(known)]
    return max(fitting, key=lambda known: len(_numbers(known)), default=None)


def _numbers(known: JetsonRelease) -> tuple[int, ...]:
    return parse_version(known.l4t).release


@remembered
def jetson_branches() -> frozenset[int]:
    """The first numbers of Jetson drivers: no desktop driver has them."""
    return frozenset(driver_branch(known.driver) for known in jetson_releases() if known.driver is not None)


def jetson_driver_cuda(driver: str) -> Known:
    """The CUDA version of a Jetson driver number: exact rows only, since these numbers are no branches."""
    wanted = parse_driver(driver)
    for known in jetson_releases():
        if known.driver is not None and parse_version(known.driver) == wanted:
            return Known(known.cuda, "medium", f"Jetson driver {driver} of JetPack {known.jetpack}", known.source)
    return Known(None, "low", f"Jetson driver {driver} has no row: its number is no desktop branch")
