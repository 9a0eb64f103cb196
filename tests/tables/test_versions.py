"""Versions are numbers: never text, never float."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat import tables
from cudacompat.errors import UsageError
from cudacompat.tables.versions import is_branch_only

numbers = st.lists(st.integers(0, 99999), min_size=1, max_size=4).map(tuple)


def dotted(parts: tuple[int, ...]) -> str:
    return ".".join(map(str, parts))


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("12.10", "12.9"),
        ("450.80.10", "450.80.02"),
        ("1000.1", "999.9"),
        ("12.3.2.001", "12.3.2"),
        ("570.26", "570.9"),
        ("13.0", "12.99"),
    ],
)
def test_newer(newer: str, older: str) -> None:
    assert tables.parse_version(newer) > tables.parse_version(older)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("450.80.02", "450.80.2"),
        ("12.4", "12.4.0"),
        ("1:12.4", "12.4"),
        ("12.4.127-1", "12.4.127"),
        ("12.4.127-1ubuntu1", "12.4.127"),
        ("550.54.15~rc1", "550.54.15"),
        ("v12.4", "12.4"),
        ("  12.4\n", "12.4"),
    ],
)
def test_same(left: str, right: str) -> None:
    assert tables.parse_version(left) == tables.parse_version(right)


@pytest.mark.parametrize(
    "text", ["", "garbage", "12.", ".4", "12,4", "1e5", "12.4.1.2.3.4.5", "9" * 40, "12 4", "١٢.٤", "-1", "v", "1:"]
)
def test_garbage_is_no_version(text: str) -> None:
    with pytest.raises(UsageError, match="is not a version: expected numbers with dots"):
        tables.parse_version(text)


@pytest.mark.parametrize(
    "text", ["535", "R535", "r535", "535.183.01", " 535.104.05\n", "450.80.02", "1000.1.2", "100.14"]
)
def test_driver(text: str) -> None:
    assert tables.driver_branch(text) == int(text.strip().lstrip("rR").split(".")[0])


@pytest.mark.parametrize(
    "text", ["banana", "12", "12.4", "535.", "R535.1", "535..1", "v535", "535.104.05-0ubuntu1", "", "53500.1", "٥٣٥.1"]
)
def test_garbage_is_no_driver(text: str) -> None:
    with pytest.raises(UsageError, match="is not an NVIDIA driver version"):
        tables.parse_driver(text)


def test_a_branch_alone_is_some_release_of_it() -> None:
    assert is_branch_only("R535") and is_branch_only("535")
    assert not is_branch_only("535.54")


@given(numbers, numbers)
def test_order_is_that_of_the_numbers(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    def padded(parts: tuple[int, ...]) -> tuple[int, ...]:
        return parts + (0,) * (4 - len(parts))

    ours = tables.parse_version(dotted(left)) < tables.parse_version(dotted(right))
    assert ours == (padded(left) < padded(right))


@given(st.text(max_size=300))
def test_any_text_is_a_version_or_a_clear_refusal(text: str) -> None:
    for read in (tables.parse_version, tables.parse_driver, tables.driver_branch, tables.cuda_pair):
        try:
            read(text)
        except UsageError as error:
            assert len(str(error)) < 400
