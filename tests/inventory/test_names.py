"""Slurm's short lists of names, and maps from machines to drivers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.errors import Error
from cudacompat.inventory import driver_map
from cudacompat.inventory.facts import with_drivers
from cudacompat.model import HostFacts
from cudacompat.model.inventory import Node, Nodes
from cudacompat.model.names import MOST_NAMES, compact_names, expand_names

NAMES = st.lists(
    st.builds(
        lambda prefix, number, width, tail: f"{prefix}{number:0{width}}{tail}",
        st.sampled_from(["gpu", "n", "node-a", "rack1-"]),
        st.integers(0, 1200),
        st.integers(1, 4),
        st.sampled_from(["", "", "", ".example"]),
    ),
    max_size=40,
    unique=True,
)


@given(NAMES)
def test_a_short_list_says_exactly_its_names(names: list[str]) -> None:
    assert sorted(expand_names(compact_names(names))) == sorted(names)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        ([], ""),
        (["gpu01"], "gpu01"),
        (["gpu01", "gpu02", "gpu03", "gpu07"], "gpu[01-03,07]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n09", "n10", "n11"], "n[09-11]"),
        (["n7", "n07"], "n07,n7"),
        (["b", "a"], "a,b"),
    ],
)
def test_short_lists(names: list[str], short: str) -> None:
    assert compact_names(names) == short


@pytest.mark.parametrize(
    "text", ["n[0-999999999]", "n[1-2", "n[]", "[", "]]", ",,,", "n[a-b]", "n[1-" + "9" * 400 + "]", "n[5-1]"]
)
def test_hostile_lists_stay_small(text: str) -> None:
    assert len(expand_names(text)) <= MOST_NAMES


HOST = HostFacts(None, None, gpus=None)
NODE = Node("gpu03", HOST, 4, labels={"pool": "a"}, features=("drv535", "a100"), gpu_types=("a100",))


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        ("gpu03 = 535.183.01", "535.183.01"),
        ("gpu* = 550.54.15", "550.54.15"),
        ("gpu[01-08] = 570.86.15", "570.86.15"),
        ("cpu1,gpu03 = 570.86.15", "570.86.15"),
        ("gpu[01-02] = 570.86.15", None),
        ("feature:a100 = 535", "535"),
        ("feature:h100 = 535", None),
        ("gpu:a100 = 535", "535"),
        ("label:pool=a = 535", "535"),
        ("label:pool=b = 535", None),
        ("# all\n\ngpu03 = 470.256.02  # old\n* = 580.65.06", "470.256.02"),
    ],
)
def test_driver_maps(text: str, driver: str | None) -> None:
    (node,) = with_drivers(Nodes((NODE,), "slurm"), driver_map.parse(text, "map")).nodes
    assert node.host.driver == driver


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "map: no line PATTERN = DRIVER"),
        ("# nothing", "map: no line PATTERN = DRIVER"),
        ("gpu01", "map:1: 'gpu01' is not PATTERN = DRIVER"),
        ("gpu01 = 535\n= 535", "map:2: "),
        ("gpu01 = banana", "map:1: "),
        ("pool:a = 535", "map:1: 'pool:a' begins with none of"),
        ("\n".join(["a = 535"] * 10_001), "more than 10000 lines"),
    ],
)
def test_bad_maps_name_their_line(text: str, sentence: str) -> None:
    with pytest.raises(Error) as caught:
        driver_map.parse(text, "map")
    assert sentence in str(caught.value)


def test_machines_without_gpus_get_no_driver() -> None:
    bare = Node("gpu03", HostFacts(gpus=()), 0)
    (node,) = with_drivers(Nodes((bare,), "slurm"), driver_map.parse("* = 535", "map")).nodes
    assert node.host.driver is None
