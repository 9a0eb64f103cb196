"""Our rows against an independent copy of NVIDIA's tables."""

from __future__ import annotations

import pytest

from cudacompat import tables
from tests.tables import nvidia_table as nvidia


@pytest.mark.parametrize(("toolkit", "linux", "windows"), nvidia.TOOLKITS, ids=[row[0] for row in nvidia.TOOLKITS])
def test_toolkit_and_its_drivers(toolkit: str, linux: str, windows: str) -> None:
    row = next(row for row in tables.releases() if row.toolkit == toolkit)
    assert row.linux_driver_min == linux
    assert (row.windows_driver_min or "") == windows
    assert tables.toolkit_driver_minimum(toolkit).value == linux
    assert row.branch == tables.driver_branch(linux)


def test_no_other_row_claims_a_driver_of_the_table() -> None:
    ours = {row.toolkit for row in tables.releases() if row.linux_driver_min is not None}
    assert ours == {row[0] for row in nvidia.TOOLKITS}


@pytest.mark.parametrize(
    ("toolkit", "linux"), [row[:2] for row in nvidia.TOOLKITS], ids=[r[0] for r in nvidia.TOOLKITS]
)
def test_the_driver_a_toolkit_shipped_with_offers_its_cuda(toolkit: str, linux: str) -> None:
    offered = tables.driver_cuda(linux).value
    assert offered is not None
    assert tables.cuda_pair(offered) == tables.cuda_pair(toolkit)


@pytest.mark.parametrize(("cuda", "branch"), nvidia.BRANCHES_BY_NOTES)
def test_branch_that_the_notes_name(cuda: str, branch: int) -> None:
    row = tables.branch(branch)
    assert row is not None
    assert row.cuda == cuda
    assert {release.branch for release in tables.releases() if release.cuda == cuda} == {branch}


@pytest.mark.parametrize(("cuda", "floor"), nvidia.FLOORS)
def test_minor_version_floor(cuda: str, floor: str) -> None:
    assert tables.minor_compat_floor(cuda).value == floor


@pytest.mark.parametrize(("cuda", "marks"), nvidia.GUIDE_615, ids=[row[0] for row in nvidia.GUIDE_615])
def test_compatibility_guide_615(cuda: str, marks: str) -> None:
    package = next(row for row in tables.branches() if row.cuda == cuda)
    assert package.first_release is not None
    for branch, mark in zip(nvidia.GUIDE_615_COLUMNS, marks, strict=True):
        known = tables.forward_compat(package.first_release, f"{branch}.99.99")
        assert (known.value, known.confidence) == ({"C": "yes", "X": "no", "-": "native"}[mark], "high"), branch


@pytest.mark.parametrize(("isa", "cuda"), nvidia.PTX_HISTORY, ids=[row[0] for row in nvidia.PTX_HISTORY])
def test_ptx_history(isa: str, cuda: str) -> None:
    assert tables.cuda_for_ptx_isa(isa).value == cuda
    assert tables.ptx_isa_for_cuda(cuda).value == isa
