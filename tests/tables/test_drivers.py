"""Drivers: what each reports, and bounds where the table has no row."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat import tables
from cudacompat.errors import UsageError

LINUX = [
    ("a long-term branch", "535.183.01", "12.2", "high"),
    ("a branch alone", "R535", "12.2", "high"),
    ("the newest branch", "620.70.06", "13.5", "high"),
    ("a CUDA version that no toolkit has", "565.57.01", "12.7", "high"),
    ("a patch level before the branch's CUDA", "367.35", "7.5", "medium"),
    ("the first patch level with it", "367.48", "8.0", "high"),
    ("a branch alone before CUDA 11", "367", "8.0", "medium"),
    ("375 before GA2 still has what 367 had", "375.10", "8.0", "medium"),
    ("the toolkit's own minimum, shorter than the release number", "440.33", "10.2", "high"),
    ("390 before the table's minimum has what 387 had", "390.12", "9.1", "medium"),
    ("from CUDA 11 on a branch has its CUDA from the start", "450.36.06", "11.0", "high"),
    ("430 went up", "430.14", "10.2", "medium"),
    ("430 came down again", "430.40", "10.1", "medium"),
    ("430 between the two: the lower one", "430.34", "10.1", "low"),
    ("430 as it began", "430.09", "10.1", "medium"),
    ("a newer 430", "430.64", "10.1", "medium"),
    ("between two branches of one CUDA", "432.1", "10.1", "medium"),
    ("between two branches", "556.10", "12.5", "low"),
    ("newer than the table", "700.10", "13.5", "low"),
    ("older than the branch table", "352.93", "7.5", "low"),
    ("NVIDIA's PTX history names 361 for 8.0, its minimum is 367.48", "361.45", "7.5", "low"),
    ("older than everything", "180.22", None, "low"),
    ("a Jetson number that got here", "540.4.0", "12.6", "medium"),
    ("an unknown Jetson number", "540.9.0", None, "low"),
]
WINDOWS = [
    ("seen", "581.29", "13.0", "high"),
    ("one source", "591.59", "13.1", "medium"),
    ("between two ranges", "570.10", "12.7", "low"),
    ("only the toolkit's installer tells", "461.09", "11.2", "low"),
    ("older than everything", "300.10", None, "low"),
    ("newer than the table", "900.10", "13.4", "low"),
]


@pytest.mark.parametrize(("driver", "cuda", "confidence"), [r[1:] for r in LINUX], ids=[r[0] for r in LINUX])
def test_linux(driver: str, cuda: str | None, confidence: str) -> None:
    known = tables.driver_cuda(driver)
    assert (known.value, known.confidence) == (cuda, confidence), known.basis


@pytest.mark.parametrize(("driver", "cuda", "confidence"), [r[1:] for r in WINDOWS], ids=[r[0] for r in WINDOWS])
def test_windows_numbers_are_not_linux_branches(driver: str, cuda: str | None, confidence: str) -> None:
    known = tables.driver_cuda(driver, os="wsl2")
    assert (known.value, known.confidence) == (cuda, confidence), known.basis


@pytest.mark.parametrize(
    ("driver", "cuda"), [("540.3.0", "12.2"), ("540.4.0", "12.6"), ("540.5.0", None), ("535.1", None)]
)
def test_jetson_numbers_are_no_branches(driver: str, cuda: str | None) -> None:
    assert tables.driver_cuda(driver, os="jetson").value == cuda


@pytest.mark.parametrize(("l4t", "jetpack"), [("36.4.3", "6.1/6.2"), ("36.3", "6.0"), ("32.7.1", "4"), ("36.9", None)])
def test_jetson_release(l4t: str, jetpack: str | None) -> None:
    found = tables.jetson_release(l4t)
    assert (found.jetpack if found else None) == jetpack


def test_every_answer_says_what_it_rests_on() -> None:
    for row in LINUX:
        known = tables.driver_cuda(row[1])
        assert known.basis
        assert known.source or known.value is None


@given(st.integers(100, 2000), st.integers(100, 2000))
def test_a_newer_branch_never_reports_an_older_cuda(left: int, right: int) -> None:
    older, newer = sorted((left, right))
    values = [tables.driver_cuda(f"{number}.99.99").value for number in (older, newer)]
    if None not in values and 540 not in (older, newer):
        assert tables.cuda_pair(values[0] or "") <= tables.cuda_pair(values[1] or "")


@given(st.integers(100, 700), st.integers(0, 200), st.integers(0, 200))
def test_inside_a_branch_a_newer_driver_never_reports_less(branch: int, left: int, right: int) -> None:
    if branch in (430, 540):  # 430 did go down; 540 is Jetson
        return
    older, newer = sorted((left, right))
    first, second = (tables.driver_cuda(f"{branch}.{minor}").value for minor in (older, newer))
    assert first is None or second is None or tables.cuda_pair(first) <= tables.cuda_pair(second)


@given(st.text(max_size=50))
def test_garbage_never_crashes_a_look_up(text: str) -> None:
    looks = (
        tables.driver_cuda,
        lambda value: tables.driver_cuda(value, os="wsl2"),
        lambda value: tables.driver_cuda(value, os="jetson"),
        tables.newest_ptx_isa_for_driver,
        lambda value: tables.forward_compat(value, value),
        tables.toolkit_driver_minimum,
        tables.minor_compat_floor,
        tables.ptx_isa_for_cuda,
        tables.cuda_for_ptx_isa,
        tables.toolkit_targets,
        tables.release,
        tables.jetson_release,
        tables.find_gpu,
        lambda value: tables.wheel_kernels("torch", value, value),
        lambda value: tables.default_cuda("torch", value),
        tables.architecture,
        tables.error,
    )
    for look in looks:
        try:
            look(text)
        except UsageError:
            continue


@pytest.mark.parametrize(
    ("version", "driver", "confidence"),
    [
        ("12.4", "550.54.14", "high"),
        ("12.4.1", "550.54.15", "high"),
        ("12.4.127", "550.54.14", "medium"),
        ("8.0", "367.48", "high"),
        ("8.0.61", "375.26", "high"),
        ("10.1.243", "418.39", "high"),
        ("11.0", "450.51.05", "high"),
        ("11.0.1", "450.36.06", "high"),
        ("13.3", "610.43.02", "medium"),
        ("13.4", "615.31", "medium"),
        ("12.7", "565.57.01", "medium"),
        ("13.9", "620.70.06", "low"),
        ("14.0", None, "low"),
        ("7.0", None, "low"),
    ],
)
def test_toolkit_driver_minimum(version: str, driver: str | None, confidence: str) -> None:
    known = tables.toolkit_driver_minimum(version)
    assert (known.value, known.confidence) == (driver, confidence)


def test_a_preview_is_not_the_release() -> None:
    for cuda, toolkit in (("11.0", "11.0.2"), ("13.4", "13.4.1")):
        found = tables.release(cuda)
        assert found is not None
        assert found.toolkit == toolkit


@pytest.mark.parametrize(
    ("cuda", "floor", "confidence"),
    [
        ("13.9", "580.65.06", "medium"),
        ("13.5", "580.65.06", "high"),
        ("12.4.127", "525.60.13", "high"),
        ("11.0", "450.36.06", "high"),
        ("10.2", None, "high"),
        ("14.1", None, "low"),
    ],
)
def test_minor_version_floor(cuda: str, floor: str | None, confidence: str) -> None:
    known = tables.minor_compat_floor(cuda)
    assert (known.value, known.confidence) == (floor, confidence)


def test_age_of_the_edition() -> None:
    assert tables.edition() == "2026-12"
    assert tables.edition_age_note(date(2027, 8, 28)) is None
    note = tables.edition_age_note(date(2027, 9, 1))
    assert note is not None
    assert "2026-12" in note
    assert "274 days" in note
