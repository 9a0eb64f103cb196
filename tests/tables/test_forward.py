"""Forward compatibility: which source decides a pair, newest edition first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat import tables

PAIRS = [
    ("the newest edition lists it", "610.43.02", "535.183.01", "yes", "high", "edition 615"),
    ("two editions list it: the newer one is named", "575.57.08", "535.183.01", "yes", "high", "edition 615"),
    ("a branch that is no column there any more", "575.57.08", "550.90.07", "yes", "high", "edition 575"),
    ("a column that says no", "575.57.08", "580.65.06", "no", "high", "edition 615"),
    ("an older edition that says no", "545.23.08", "550.54.14", "no", "high", "edition 575"),
    ("the same branch", "550.54.15", "550.163.01", "native", "high", "550"),
    (
        "no column, but published images name the branch",
        "580.65.06",
        "550.144.03",
        "yes",
        "medium",
        "images of CUDA 13.0",
    ),
    ("no column, and images do not name it", "590.44.01", "560.35.05", "no", "medium", "560"),
    ("images of 10.0 name 384", "410.104", "384.81", "yes", "medium", "images of CUDA 10.0"),
    ("but not 396, which is newer", "410.104", "396.26", "no", "medium", "396"),
    ("11.8 on 470", "520.61.05", "470.57.02", "yes", "medium", "older editions"),
    ("11.8 on a 470 before its first data center release", "520.61.05", "470.42.01", "yes", "medium", "images"),
    ("11.1 on 440", "455.23.05", "440.33.01", "yes", "medium", "older editions"),
    ("a copy of the 11.7 edition", "515.65.01", "450.80.02", "yes", "medium", "copy of an older edition"),
    ("beyond what the base branch takes", "575.51.03", "525.60.13", "no", "medium", "525"),
    ("a package with a library of another branch", "430.14", "418.40.04", "yes", "medium", "older editions"),
    ("a host that is newer than the package", "590.44.01", "600.10", "no", "medium", "newer"),
    ("a host that is newer than the table", "620.70.06", "700.10", "no", "medium", "newer"),
    ("no edition lists 13.5 yet", "620.70.06", "580.65.06", None, "low", "13.5"),
    ("a compat library newer than the table", "700.10", "580.65.06", None, "low", "newer than the table"),
    ("two sources on 13.3 images disagree", "610.43.02", "565.57.01", "yes", "low", "disputed"),
]


@pytest.mark.parametrize(
    ("compat", "host", "value", "confidence", "words"), [row[1:] for row in PAIRS], ids=[row[0] for row in PAIRS]
)
def test_pair(compat: str, host: str, value: str | None, confidence: str, words: str) -> None:
    known = tables.forward_compat(compat, host)
    assert (known.value, known.confidence) == (value, confidence), known.basis
    assert words in known.basis


@given(st.integers(300, 700), st.integers(300, 700))
def test_an_older_library_never_works_on_a_newer_branch(compat: int, host: int) -> None:
    known = tables.forward_compat(f"{compat}.10", f"{host}.10")
    if host > compat:
        assert known.value in ("no", "native", None)
    if host == compat:
        assert known.value == "native"
