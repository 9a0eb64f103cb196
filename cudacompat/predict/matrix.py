"""One image over many hosts: driver branches against boards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cudacompat import tables
from cudacompat.model import Gpu, HostFacts, ImageFacts, Verdict
from cudacompat.predict.scenarios import judge

# Names alone: everything that is judged about them comes from the table.
_BOARDS = (
    "P100",
    "Tesla P4",
    "V100",
    "Tesla T4",
    "A100",
    "A10",
    "L40S",
    "H100",
    "B200",
    "B300",
    "GTX 1080 Ti",
    "RTX 2080 Ti",
    "RTX 3090",
    "RTX 4090",
    "RTX 5090",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """The verdict for one driver and one board."""

    driver: str
    gpu: Gpu
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """One driver: its version, the CUDA version it offers, and a cell for each board."""

    driver: str
    driver_cuda: str | None
    cells: tuple[Cell, ...]


def matrix(image: ImageFacts, host: HostFacts, drivers: Sequence[str], gpus: Sequence[Gpu]) -> tuple[Row, ...]:
    """Predict every driver with every board; all other facts are ``host``'s. Pure, no remedies."""
    return tuple(_row(image, host, driver, gpus) for driver in drivers)


def _row(image: ImageFacts, host: HostFacts, driver: str, gpus: Iterable[Gpu]) -> Row:
    cuda = tables.driver_cuda(driver, os=host.os).value
    base = replace(host, driver=driver, driver_cuda=cuda)
    cells = tuple(Cell(driver, gpu, judge(image, replace(base, gpus=(gpu,))).verdict) for gpu in gpus)
    return Row(driver, cuda, cells)


def known_drivers() -> tuple[str, ...]:
    """The newest known release of every driver branch of the table, newest branch first."""
    found = []
    for branch in tables.branches():
        version = (branch.newest_seen or branch.first_release or str(branch.branch)).split()[0].rstrip("+")
        found.append(version)
    return tuple(found)


def known_gpus() -> tuple[Gpu, ...]:
    """One well-known board for each generation of data center and GeForce boards, as the table has them."""
    return tuple(_board(name) for name in _BOARDS)


def _board(name: str) -> Gpu:
    model = tables.find_gpu(name)
    return Gpu(name, model.compute_capability, model.brands, None, model.forward_compat, model.architecture)
