"""CUDA_VISIBLE_DEVICES: which device each index is, for every kind of value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.errors import UsageError
from cudacompat.workloads.devices import Device, injected, read_value, slurm_grant, visible

HOST = tuple(Device(i, "A100", f"GPU-{i}932f937-d72c") for i in range(4))
MIG = (Device(0, "A100", "GPU-0", ("MIG-a", "MIG-b")), Device(1, "A100", "GPU-1", ("MIG-c",)))


@pytest.mark.parametrize(
    ("value", "indices", "kinds"),
    [
        pytest.param(None, [0, 1, 2, 3], [], id="unset: all"),
        pytest.param("", [], ["empty"], id="empty: none"),
        pytest.param("2,0", [2, 0], [], id="the order is the program's order"),
        pytest.param("0,2,-1,1", [0, 2], ["invalid"], id="a negative entry ends the list"),
        pytest.param("-1", [], ["empty"], id="minus one first: none"),
        pytest.param("1,1", [], ["duplicate"], id="an index twice: none"),
        pytest.param("GPU-1,GPU-1", [], ["duplicate"], id="a UUID twice: none"),
        pytest.param("1,GPU-2,0", [1], ["mixed"], id="a UUID ends a list of indices"),
        pytest.param("GPU-2,1", [2], ["mixed"], id="an index ends a list of UUIDs"),
        pytest.param("GPU-1932f937,GPU-3", [1, 3], [], id="unique prefixes are enough"),
        pytest.param("GPU-", [], ["ambiguous"], id="a prefix of several"),
        pytest.param("GPU-9", [], ["absent"], id="an unknown UUID"),
        pytest.param("0,7,1", [0], ["absent"], id="an index that is not there ends the list"),
        pytest.param("1gpu2,2", [1, 2], ["not-a-list"], id="digits count up to the first other sign"),
        pytest.param("0-3", [0], ["not-a-list"], id="a range is its first number"),
        pytest.param("all", [], ["not-a-list"], id="all is no device"),
        pytest.param("cuda:0", [], ["not-a-list"], id="cuda:0 is no device"),
        pytest.param('"0"', [], ["not-a-list"], id="quotes inside the value"),
        pytest.param("0, 1", [0, 1], [], id="blanks after commas"),
        pytest.param("0,x,1", [0], ["invalid"], id="text in the middle ends the list"),
    ],
)
def test_what_a_program_sees(value: str | None, indices: list[int], kinds: list[str]) -> None:
    answer = visible(value, HOST)
    assert [seen.device.index for seen in answer.seen] == indices
    assert [seen.cuda_index for seen in answer.seen] == list(range(len(indices)))
    assert [problem.kind for problem in answer.problems] == kinds


@pytest.mark.parametrize(
    ("value", "instances"),
    [("MIG-c", ["MIG-c"]), ("MIG-a,MIG-c", ["MIG-a"]), ("0", ["MIG-a"]), (None, ["MIG-a"]), ("GPU-1", ["MIG-c"])],
    ids=["one instance", "the first of two", "an index is the first instance", "unset", "a GPU's UUID"],
)
def test_a_process_uses_one_mig_instance(value: str | None, instances: list[str]) -> None:
    assert [seen.mig for seen in visible(value, MIG).seen] == instances


@pytest.mark.parametrize(
    ("nvidia", "cuda", "indices"),
    [
        ("2,3", "2,3", []),
        ("2,3", "0,1", [2, 3]),
        ("3,2", "0", [2]),
        ("all", "3", [3]),
        ("void", None, []),
        ("none", None, []),
        (None, None, []),
        ("GPU-1932f937-d72c", "0", [1]),
    ],
)
def test_in_a_container_indices_count_among_the_injected(
    nvidia: str | None, cuda: str | None, indices: list[int]
) -> None:
    assert [seen.device.index for seen in visible(cuda, injected(nvidia, HOST)).seen] == indices


def test_one_mig_instance_injected_by_number() -> None:
    assert [seen.mig for seen in visible(None, injected("0:1", MIG)).seen] == ["MIG-b"]


def test_a_device_that_does_not_exist_stops_the_container() -> None:
    with pytest.raises(UsageError, match="names none of the host's 4 GPUs"):
        injected("7", HOST)


@pytest.mark.parametrize(
    ("granted", "constrain", "value", "override", "indices"),
    [
        pytest.param([1, 2], True, "0,1", None, [1, 2], id="confined: numbered from 0"),
        pytest.param([1, 2], False, "1,2", None, [1, 2], id="free: the node's numbers"),
        pytest.param([1, 2], True, "0,1", "1,2", [2], id="confined: global ids are cut at the one not there"),
        pytest.param([], True, None, None, [], id="confined and no GPU: none"),
        pytest.param([], False, None, None, [0, 1, 2, 3], id="free and no GPU: all of them"),
    ],
)
def test_what_slurm_gives(
    granted: list[int], constrain: bool, value: str | None, override: str | None, indices: list[int]
) -> None:
    grant = slurm_grant(granted, HOST, constrain=constrain)
    assert grant.value == value
    assert [seen.device.index for seen in visible(override or grant.value, grant.reachable).seen] == indices


def test_different_gpus_without_pci_order_are_said() -> None:
    mixed = (Device(0, "V100"), Device(1, "H100"))
    assert visible("0", mixed).notes
    assert not visible("0", mixed, order="PCI_BUS_ID").notes


@given(st.text(alphabet="0123456789-+,GPUMIGall: \"'$", max_size=30))
def test_any_value_is_read_and_no_device_is_seen_twice(value: str) -> None:
    answer = visible(value, HOST)
    chosen = [seen.device.index for seen in answer.seen]
    assert len(chosen) == len(set(chosen)) <= len(HOST)
    listed = read_value(value)
    assert len(listed.entries) == len(set(listed.entries))
