"""A fleet's answer is the answers for its machines; what it advises was predicted on all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudacompat.inventory.read import read_nodes
from cudacompat.model import HostFacts, ImageFacts
from cudacompat.model.inventory import Node, Nodes
from cudacompat.predict import fleet as room
from cudacompat.predict import predict
from cudacompat.predict.fleet import FleetPrediction, predict_fleet
from cudacompat.predict.placement import placement
from tests.support.facts import cudart, gpu, image, kernels

DATA = Path(__file__).parent.parent / "data"
KUBERNETES = read_nodes([str(DATA / "nodes_fleet.json")])
SLURM = read_nodes([str(DATA / "inventory" / "scontrol-show-node.txt")])
GATED = image(cudart("12.6"), env={"NVIDIA_REQUIRE_CUDA": "cuda>=12.6", "NVIDIA_VISIBLE_DEVICES": "all"})
IMAGES = {
    "old runtime": image(cudart("11.4")),
    "gated": GATED,
    "newest": image(cudart("13.0")),
    "no CUDA": image(),
    "kernels": image(cudart("12.6"), kernels=(kernels("/app/lib.so", "80 90", component="app"),)),
}


def by_name(answer: FleetPrediction) -> dict[str, object]:
    return {node.name: kind.verdict for kind in answer.kinds for node in kind.nodes}


@pytest.mark.parametrize("inventory", [KUBERNETES, SLURM], ids=["kubernetes", "slurm"])
@pytest.mark.parametrize("name", IMAGES)
def test_every_machine_once_and_as_if_it_were_alone(inventory: Nodes, name: str) -> None:
    answer = predict_fleet(IMAGES[name], inventory)
    listed = [node.name for kind in answer.kinds for node in kind.nodes]
    assert sorted(listed) == sorted(node.name for node in inventory.nodes)
    told = by_name(answer)
    assert all(told[node.name] == predict(IMAGES[name], node.host).verdict for node in inventory.nodes)


def test_the_same_facts_are_predicted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[HostFacts] = []
    judge = room.judge
    monkeypatch.setattr(room, "judge", lambda facts, host: asked.append(host) or judge(facts, host))
    host = HostFacts("550.54.15", "12.4", gpus=(gpu("A100"),))
    # Equal facts in objects of their own, with other notes and another origin.
    nodes = tuple(Node(f"n{number}", replace(host, origin=f"n{number}", notes=(f"{number}",))) for number in range(500))
    answer = predict_fleet(GATED, Nodes(nodes))
    assert len(asked) == len(answer.kinds) == 1
    assert len(answer.kinds[0].nodes) == 500


def test_a_broken_machine_is_not_taken_for_a_sound_one() -> None:
    host = HostFacts("550.54.15", "12.4", gpus=(gpu("A100"),))
    broken = replace(host, faults=("the driver does not answer",))
    answer = predict_fleet(GATED, Nodes((Node("a", host), Node("b", broken))))
    assert len(answer.kinds) == 2


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("inventory", [KUBERNETES, SLURM], ids=["kubernetes", "slurm"])
def test_what_is_advised_helps_as_many_machines_as_it_says(inventory: Nodes, name: str) -> None:
    answer = predict_fleet(IMAGES[name], inventory)
    today = sum(len(kind.nodes) for kind in answer.gpu_kinds if kind.runs)
    for remedy in answer.remedies:
        assert today < remedy.runs_on <= remedy.machines == sum(len(kind.nodes) for kind in answer.gpu_kinds)
    assert today < sum(len(kind.nodes) for kind in answer.gpu_kinds) or not answer.remedies


def test_the_smallest_driver_for_the_fleet() -> None:
    hosts = {"a": "470.256.02", "b": "525.147.05", "c": "550.54.15"}
    nodes = tuple(Node(n, HostFacts(d, None, "linux", "amd64", (gpu("A100"),), "cdi")) for n, d in hosts.items())
    answer = predict_fleet(image(cudart("12.6"), env={"NVIDIA_DRIVER_CAPABILITIES": "all"}), Nodes(nodes))
    (driver,) = [remedy for remedy in answer.remedies if remedy.change.kind == "driver"]
    assert (driver.runs_on, driver.machines, driver.hosts) == (3, 3, 1)
    assert "535" in driver.change.text or "525" in driver.change.text


LABELS = ("nvidia.com/cuda.driver-version.full", "nvidia.com/gpu.product", "kubernetes.io/arch")


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Node], list[Node]]:
    def one(number: int) -> Node:
        labels = {key: draw(st.sampled_from("abc")) for key in LABELS if draw(st.booleans())}
        if draw(st.booleans()):
            labels["kubernetes.io/hostname"] = f"n{number}"
        words = tuple(draw(st.lists(st.sampled_from("pqrs"), unique=True, max_size=3)))
        types = tuple(draw(st.lists(st.sampled_from("xyz"), unique=True, max_size=2)))
        return Node(f"n{number}", HostFacts(), draw(st.sampled_from([None, 0, 4])), labels, words, types)

    nodes = [one(number) for number in range(draw(st.integers(1, 12)))]
    cut = draw(st.integers(1, len(nodes)))
    return nodes[:cut], nodes[cut:]


@settings(max_examples=300, deadline=None)
@given(clusters(), st.sampled_from(["kubernetes", "slurm"]))
def test_no_machine_that_fails_fits_a_placement(cluster: tuple[list[Node], list[Node]], scheduler: str) -> None:
    good, bad = cluster
    found = placement(scheduler, good, bad)
    if found is None:
        return

    def fits(node: Node) -> bool:
        if found.terms:
            return any(term.fits(node) for term in found.terms)
        if found.constraint is not None:
            return bool(set(node.features) & set(found.constraint.split("|")))
        if found.gpu_type is not None:
            return found.gpu_type in node.gpu_types
        # A job that asks for GPUs never lands on a node that hands out none.
        return node.name not in found.exclude and node.gpu_count != 0

    assert not any(fits(node) for node in bad)
    if found.terms or found.constraint or found.gpu_type:
        assert found.chosen == sum(map(fits, good)) and found.good == len(good)


def test_labels_that_say_why_come_before_names() -> None:
    answer = predict_fleet(GATED, KUBERNETES)
    assert answer.placement is not None and answer.placement.chosen == answer.placement.good
    keys = [key for term in answer.placement.terms for key, _ in term.values]
    assert keys[0] == "nvidia.com/cuda.driver-version.full"
    assert keys.count("kubernetes.io/hostname") <= 1 and keys[0] != "kubernetes.io/hostname"


def test_a_fleet_of_one_kind_needs_no_placement() -> None:
    host = HostFacts("580.65.06", "13.0", gpus=(gpu("A100"),), injection="cdi")
    nodes = Nodes(tuple(Node(f"n{number}", host) for number in range(3)), "kubernetes")
    answer = predict_fleet(GATED, nodes)
    assert answer.placement is None and answer.remedies == ()


def test_images_are_only_facts() -> None:
    """Nothing of the image's own objects is changed by trying changes on it."""
    before = repr(GATED)
    predict_fleet(GATED, KUBERNETES)
    assert isinstance(GATED, ImageFacts) and repr(GATED) == before
