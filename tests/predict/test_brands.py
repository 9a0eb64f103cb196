"""Brands narrowed by driver, board and container library."""

from __future__ import annotations

import pytest

from cudacompat.predict.brands import reported_brands
from tests.support.facts import gpu, host


@pytest.mark.parametrize(
    ("board", "driver", "toolkit", "brands"),
    [
        ("V100", "570.124.06", None, ("tesla",)),
        ("Tesla P40", "535.129.03", None, ("tesla",)),
        ("Tesla K80", "375.66", None, ("tesla",)),
        ("Tesla T4", "530.30.02", None, ("nvidia",)),
        ("Tesla T4", "450.80.02", None, ("tesla",)),
        ("Tesla T4", "470.57.02", None, ("tesla", "nvidia")),
        ("H100", "560.35.03", None, ("nvidia",)),
        ("RTX 3090", "535.154.05", None, ("geforce",)),
        ("TITAN RTX", "470.57.02", None, ("titan",)),
        ("NVIDIA RTX A2000", "535.183.01", None, ("nvidiartx",)),
        ("NVIDIA RTX A6000", "455.23.04", None, ("nvidiartx", "quadro")),
        ("H100", "560.35.03", "1.8.1", ("unknown",)),
        ("V100", "470.57.02", "1.8.1", ("tesla",)),
        ("Tesla T4", "470.57.02", "1.8.1", ("tesla", "unknown")),
        ("H100", "560.35.03", "1.9.0", ("nvidia",)),
    ],
)
def test_brands(board: str, driver: str, toolkit: str | None, brands: tuple[str, ...]) -> None:
    assert sorted(reported_brands(gpu(board), host(driver, board, toolkit=toolkit))) == sorted(brands)


def test_a_windows_driver_number_narrows_nothing() -> None:
    assert len(reported_brands(gpu("Tesla T4"), host("560.94", "Tesla T4", os="wsl2"))) == 2
