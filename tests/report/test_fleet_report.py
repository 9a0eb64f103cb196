"""A fleet's answer in its two forms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cudacompat.inventory.read import read_nodes
from cudacompat.model import HostFacts, Target, Tool
from cudacompat.model.inventory import Node, Nodes
from cudacompat.predict.fleet import predict_fleet
from cudacompat.report import Style
from cudacompat.report.fleet_document import fleet_document
from cudacompat.report.fleet_text import render_fleet
from cudacompat.report.json import text
from tests.report.test_golden import compare
from tests.support.facts import cudart, gpu, image
from tests.support.schemas import validate

DATA = Path(__file__).parent.parent / "data"
TOOL = Tool("cudacompat", "0.0.0", "2026-12")
TARGET = Target("image", "registry:repo/app:1.2", "registry", None, "linux/amd64")
GATED = image(cudart("12.6"), env={"NVIDIA_REQUIRE_CUDA": "cuda>=12.6", "NVIDIA_VISIBLE_DEVICES": "all"})
INVENTORIES = {
    "kubernetes": read_nodes([str(DATA / "nodes_fleet.json")]),
    "slurm": read_nodes([str(DATA / "inventory" / "sinfo-23.11.json")]),
    "plain": Nodes((Node("only", HostFacts("580.65.06", "13.0", gpus=(gpu("A100"),), injection="cdi")),)),
    "without GPUs": Nodes((Node("cpu01", HostFacts(gpus=()), 0),), "slurm"),
}


@pytest.mark.parametrize("name", INVENTORIES)
def test_text(name: str) -> None:
    nodes = INVENTORIES[name]
    written = render_fleet(TARGET, TOOL, nodes, predict_fleet(GATED, nodes), Style())
    assert max(map(len, written.splitlines())) <= 100
    compare(f"fleet-{name.replace(' ', '-')}.txt", written)


@pytest.mark.parametrize("name", INVENTORIES)
def test_document_follows_its_schema(name: str) -> None:
    nodes = INVENTORIES[name]
    document = fleet_document(TARGET, TOOL, nodes, predict_fleet(GATED, nodes))
    validate(document, "fleet-v1")
    assert [row["node"] for row in document["nodes"]] == [node.name for node in nodes.nodes]
    assert all(document["kinds"][row["kind"]]["verdict"] == row["verdict"] for row in document["nodes"])
    assert sum(kind["count"] for kind in document["kinds"]) == len(nodes.nodes)
    compare(f"fleet-{name.replace(' ', '-')}.json", text(document))


def test_quiet_is_one_line() -> None:
    nodes = INVENTORIES["kubernetes"]
    written = render_fleet(TARGET, TOOL, nodes, predict_fleet(GATED, nodes), Style(quiet=True))
    assert len(written.splitlines()) == 1 and " OF 18 GPU NODES RUN IT" in written


def test_names_and_labels_cannot_steer_a_terminal_or_break_the_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    nasty = 'x\x1b[31m"\n\u202e: {a: b}'
    good = HostFacts("580.65.06", "13.0", gpus=(gpu("A100"),), injection="legacy")
    bad = replace(good, driver="470.256.02", driver_cuda="11.4")
    labels = [{"nvidia.com/gpu.product": nasty}, {"nvidia.com/gpu.product": "y"}]
    nodes = Nodes((Node(nasty, good, 1, labels[0]), Node("b", bad, 1, labels[1])), "kubernetes", (nasty,))
    written = render_fleet(TARGET, TOOL, nodes, predict_fleet(GATED, nodes), Style(unicode=True))
    assert not any(sign in written for sign in ("\x1b", "\u202e"))
    lines = written.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("Keep it")) + 1
    stanza = "\n".join(lines[start : lines.index("", start)])
    assert list(yaml.safe_load(stanza)) == ["nodeSelector"]


def test_ten_thousand_kinds_of_machines_do_not_fill_the_screen() -> None:
    drivers = [f"5{minor // 100 + 50}.{minor % 100}.01" for minor in range(300)]
    hosts = [HostFacts(driver, "12.4", gpus=(gpu("A100"),), injection="cdi") for driver in drivers]
    nodes = Nodes(tuple(Node(f"n{number}", host) for number, host in enumerate(hosts)))
    written = render_fleet(TARGET, TOOL, nodes, predict_fleet(GATED, nodes), Style())
    assert len(written.splitlines()) < 200 and "more kinds of nodes; --format json has all" in written
