"""Inventories as people have them: which machine has which driver, boards and count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cudacompat.errors import Error
from cudacompat.inventory.facts import fleet_nodes
from cudacompat.inventory.kubernetes import read_fleet
from cudacompat.inventory.read import read_nodes
from cudacompat.inventory.slurm import read_site
from cudacompat.model.inventory import Node

DATA = Path(__file__).parent.parent / "data"
FLEET, SLICES = DATA / "nodes_fleet.json", DATA / "inventory" / "resourceslices.json"
A100, H100, L4 = "8.0", "9.0", "8.9"
# Node: driver, compute capabilities (None: not known), what is handed out, injection mode, takes jobs.
KUBERNETES = {
    "gpu-h100-a": ("570.172.08", (H100,), 8, None, True),
    "gpu-a100-old": ("470.256.02", (A100,), 8, None, True),
    "gpu-v100-a": ("535.247.01", ("7.0",), 4, None, True),
    "gpu-t4-ts": ("550.163.01", ("7.5",), 4, None, True),
    "gpu-t4-renamed": ("550.163.01", ("7.5",), 8, None, True),
    "gpu-a100-migmixed": ("580.126.20", (A100,), 15, None, True),
    "gpu-h100-migsingle": ("570.172.08", (H100,), 56, None, True),
    "gpu-a100-miginvalid": ("570.172.08", (A100,), 0, None, True),
    "gpu-a10-mps": ("580.126.20", ("8.6",), 4, None, True),
    "gke-l4-pool-1": (None, (L4,), 1, "gke", True),
    "gke-l4-pool-2": ("580.126.20", (L4,), 1, "gke", True),
    "ip-10-0-0-11.example.internal": ("570.172.08", (L4,), 1, None, True),
    "aks-gpunp-00000000-vmss000000": (None, None, 1, None, True),
    "gpu-gh200-arm": ("580.126.20", (H100,), 1, None, True),
    "gpu-b200-cordoned": ("580.126.20", ("10.0",), 8, None, False),
    "gpu-l40s-noplugin": ("570.172.08", (L4,), 0, None, True),
    "gpu-h100-degraded": ("550.163.01", (H100,), 7, None, True),
    "cpu-a": (None, (), 0, None, True),
    "cpu-b": (None, (), 0, None, False),
    "gpu-a100-dra": (None, None, None, None, True),
}
SLICED = {
    "gpu-a100-dra": ("580.126.20", (A100,), 2, None, True),
    "gpu-h100-dra": ("550.163.1", (H100,), 4, None, True),
    "gpu-a100-dramig": ("570.172.8", (A100,), 4, None, True),
}
SITE = {
    "gpu01": ("535", (A100,), 4, None, True),
    "gpu02": ("550", (H100, "7.0"), 4, None, True),
    "gpu03": (None, (A100,), 2, None, True),
    "gpu04": (None, (H100,), 5, None, True),
    "cpu01": (None, (), 0, None, True),
}
NEWER = {
    "gpu01": ("535", (A100,), 4, None, True),
    "gpu02": ("535", (A100,), 4, None, True),
    "gpu03": ("550.54.15", (H100, "7.0"), 4, None, False),
    "cpu01": (None, (), 0, None, True),
}
SINFO_N = """NODELIST|GRES|AVAIL_FEATURES|PARTITION|CPUS
cpu01|(null)|(null)|cpu|16
gpu01|gpu:a100:4|a100,drv535|gpu*|16
gpu02|gpu:h100:2,gpu:v100:2|h100,drv550|gpu*|16
gpu03|gpu:a100:2,shard:a100:8|a100,shard|gpu*|16
gpu04|gpu:5|h100|gpu*|16
"""
TABLE = """node,driver,gpu,gpu_count,injection
gpu01,535.183.01,A100,4,legacy
gpu02,550.54.15,H100|V100,4,cdi
gpu03,,A100,2,
gpu04,570.86.15,H100,5,cdi
cpu01,,none,,
"""
LISTED = {
    "gpu01": ("535.183.01", (A100,), 4, "legacy", True),
    "gpu02": ("550.54.15", (H100, "7.0"), 4, "cdi", True),
    "gpu03": (None, (A100,), 2, None, True),
    "gpu04": ("570.86.15", (H100,), 5, "cdi", True),
    "cpu01": (None, (), 0, None, True),
}
GPU = {"name": "NVIDIA A100-SXM4-40GB", "compute_capability": "8.0"}
LINES = [
    {"node": "gpu01", "driver": "535.183.01", "gpus": [GPU] * 4, "injection": "legacy"},
    {"hostname": "cpu01", "driver": None, "gpu_count": 0, "gpus": []},
    {"node": "gpu02", "host": {"schema": "cudacompat/host/v1", "driver": "570.86.15", "gpus": [GPU]}},
]
FROM_LINES = {
    "gpu01": ("535.183.01", (A100,) * 4, 4, "legacy", True),
    "cpu01": (None, (), 0, None, True),
    "gpu02": ("570.86.15", (A100,), 1, None, True),
}


def told(node: Node) -> tuple[object, ...]:
    gpus = node.host.gpus
    boards = None if gpus is None else tuple(gpu.compute_capability for gpu in gpus)
    return node.host.driver, boards, node.gpu_count, node.host.injection, node.schedulable


def written(folder: Path, text: str) -> str:
    path = folder / "inventory"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("files", "expected", "scheduler"),
    [
        ([FLEET], KUBERNETES, "kubernetes"),
        ([SLICES], SLICED, "kubernetes"),
        ([FLEET, SLICES], KUBERNETES | SLICED, "kubernetes"),
        ([SLICES, FLEET], KUBERNETES | SLICED, "kubernetes"),
        ([DATA / "inventory" / "scontrol-show-node.txt"], SITE, "slurm"),
        ([DATA / "inventory" / "sinfo-22.05.json"], SITE, "slurm"),
        ([DATA / "inventory" / "sinfo-23.11.json"], NEWER, "slurm"),
        ([FLEET, DATA / "inventory" / "sinfo-23.11.json"], KUBERNETES | NEWER, None),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_files(files: list[Path], expected: dict[str, object], scheduler: str | None) -> None:
    nodes = read_nodes(map(str, files))
    assert {node.name: told(node) for node in nodes.nodes} == expected
    assert nodes.scheduler == scheduler


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SINFO_N, SITE),
        (TABLE, LISTED),
        (TABLE.replace(",", ";"), LISTED),
        (TABLE.replace(",", "\t"), LISTED),
        ("\ufeff" + TABLE, LISTED),
        ("\n".join(map(json.dumps, LINES)), FROM_LINES),
        (json.dumps(LINES[0]), {"gpu01": FROM_LINES["gpu01"]}),
    ],
    ids=["sinfo", "commas", "semicolons", "tabs", "byte order mark", "JSON lines", "one line"],
)
def test_texts(tmp_path: Path, text: str, expected: dict[str, object]) -> None:
    nodes = read_nodes([written(tmp_path, text)])
    assert {node.name: told(node) for node in nodes.nodes} == expected


def test_yaml_of_kubectl_says_the_same_as_its_json(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    text = yaml.safe_dump(json.loads(FLEET.read_text()), sort_keys=True)
    assert read_nodes([written(tmp_path, text)]).nodes == read_nodes([str(FLEET)]).nodes


def test_a_folder_of_host_files_names_machines_by_file(tmp_path: Path) -> None:
    (tmp_path / "gpu01.json").write_text(json.dumps({"schema": "cudacompat/host/v1", "driver": "535.183.01"}))
    (tmp_path / "gpu02.xml").write_bytes((DATA / "hosts" / "a100.xml").read_bytes())
    (tmp_path / ".hidden").write_text("nothing")
    nodes = read_nodes([str(tmp_path)])
    assert [node.name for node in nodes.nodes] == ["gpu01", "gpu02"]
    assert nodes.nodes[0].host.driver == "535.183.01" and nodes.nodes[1].host.driver is not None


def test_what_could_not_be_learned_is_told_with_its_nodes() -> None:
    notes = read_nodes([str(FLEET)]).notes
    assert any(note.startswith("gke-l4-pool-1: the driver is not labelled; cloud.google.com") for note in notes)
    assert any(note.startswith("aks-gpunp-00000000-vmss000000,gpu-a100-dra: no label names the GPU") for note in notes)


def node(name: str, **status: object) -> dict[str, object]:
    return {"kind": "Node", "metadata": {"name": name, "labels": {}}, "status": status}


@pytest.mark.parametrize(
    ("labels", "driver"),
    [
        ({"nvidia.com/cuda.driver.major": "535", "nvidia.com/cuda.driver.minor": "183", "nvidia.com/cuda.driver.rev": "01"}, "535.183.01"),
        ({"nvidia.com/cuda.driver.major": "535", "nvidia.com/cuda.driver.minor": "54"}, "535.54"),
        ({"nvidia.com/cuda.driver-version.full": "570.86.15", "nvidia.com/cuda.driver.major": "535"}, "570.86.15"),
        ({"nvidia.com/cuda.driver-version.full": "latest"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_driver_by_labels(tmp_path: Path, labels: dict[str, str], driver: str | None) -> None:
    item = node("n", allocatable={"nvidia.com/gpu": "1"})
    item["metadata"] = {"name": "n", "labels": {"nvidia.com/gpu.product": "Tesla-T4", **labels}}
    (found,) = read_nodes([written(tmp_path, json.dumps({"kind": "List", "items": [item]}))]).nodes
    assert found.host.driver == driver


@pytest.mark.parametrize(
    ("image", "driver"),
    [
        ("Bottlerocket OS 1.48.0 (aws-k8s-1.33-nvidia)", "570.172.08"),
        ("Bottlerocket OS 1.48.0 (aws-k8s-1.34-nvidia)", "580.65.06"),
        ("Bottlerocket OS 1.68.0 (aws-k8s-1.37-nvidia)", None),
        ("Bottlerocket OS 9.99.9 (aws-k8s-1.34-nvidia)", None),
        ("Ubuntu 22.04.5 LTS", None),
    ],
)
def test_driver_by_the_system_image(tmp_path: Path, image: str, driver: str | None) -> None:
    item = node("n", allocatable={"nvidia.com/gpu": "1"}, nodeInfo={"osImage": image})
    (found,) = read_nodes([written(tmp_path, json.dumps({"items": [item]}))]).nodes
    assert found.host.driver == driver


HOSTILE = {
    "no JSON": ("{", "is no JSON"),
    "deep": ("[" * 100_000, "is no JSON"),
    "no node": ('{"kind": "List", "items": []}', "there is no node in it"),
    "another kind": ('{"kind": "Pod", "metadata": {"name": "p"}}', "there is no node in it"),
    "a number": ("[1, 2]", "there is no node in it"),
    "no Slurm node": ('{"nodes": []}', "no Slurm node in it"),
    "prose": ("hello world", "is no inventory: expected kubectl"),
    "binary": ("\0\1\2", "is no text"),
    "empty": ("", "is no inventory"),
    "names no machine": ('{"driver": "535.183.01"}\n{"driver": "535.183.01"}', ":1: the object does not name its machine"),
    "a bad line": ('{"node": "a", "driver": "535.183.01"}\n{"node": ', ":2: no JSON"),
    "a bad driver in a line": ('{"node": "a", "driver": "banana"}\n', ":1"),
    "a bad driver in a table": ("node,driver,gpu\na,banana,A100\n", "line 2"),
    "a bad GPU in a table": ("node,driver,gpu\na,535.183.01,Voodoo 2\n", "line 2"),
    "an anchor": ("kind: List\nitems:\n- &a {kind: Node}\n", "anchors"),
    "broken YAML": ("kind: List\nitems: [", "is no YAML"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), HOSTILE.values(), ids=HOSTILE)
def test_bad_inventories_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(Error) as caught:
        read_nodes([path])
    assert sentence in str(caught.value) and path in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Error, match="cannot be read: No such file"):
        read_nodes([str(tmp_path / "gone")])
    with pytest.raises(Error, match="there is no host file in it"):
        read_nodes([str(tmp_path)])


def test_values_of_another_shape_are_not_known() -> None:
    """Objects where texts belong, texts where objects belong: nothing is learned, nothing breaks."""
    shapes: list[object] = [None, 1, "x", [], {}, [1], {"a": 1}]
    keys = ("metadata", "spec", "status")
    for shape in shapes:
        items = [{"kind": "Node", **dict.fromkeys(keys, shape)}, {"kind": "ResourceSlice", "spec": shape}, node("n")]
        found = fleet_nodes(read_fleet({"items": items}, "here"))
        assert [one.name for one in found.nodes] == ["n"]


def test_a_site_from_scontrol() -> None:
    text = (
        "NodeName=g1 Arch=x86_64\n   CPUTot=16\n   AvailableFeatures=a100,drv535\n   Gres=gpu:a100:4,shard:a100:8\n"
        "   Version=23.11.4\n   Partitions=gpu,all\n\nNodeName=c1 Arch=x86_64\n   AvailableFeatures=(null)\n   Gres=(null)\n"
    )
    site = read_site(text, "nodes.txt")
    assert site.version == (23, 11)
    assert [(n.name, n.gpus(), n.gpus("a100"), n.features, n.partitions) for n in site.nodes] == [
        ("g1", 4, 4, ("a100", "drv535"), ("gpu", "all")),
        ("c1", 0, 0, (), ()),
    ]


def test_a_site_from_sinfo_with_node_lists() -> None:
    site = read_site(
        "PARTITION|NODELIST|GRES|AVAIL_FEATURES\ngpu*|g[01-03,07]|gpu:1g.10gb:4,gpu:3g.40gb:1|mig\n", "sinfo.txt"
    )
    assert [n.name for n in site.nodes] == ["g01", "g02", "g03", "g07"]
    assert site.nodes[0].gpus("1g.10gb") == 4
    assert site.default_partition == "gpu"
