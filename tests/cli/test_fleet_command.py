"""``cudacompat fleet`` as a program; kubectl is real, its API server answers what is in the samples."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.schemas import validate
from tests.support.servers import unavailable

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "torch-cu130-on-cuda-12.8.tar"
DATA = Path(__file__).parent.parent / "data"
NODES, SLICES = DATA / "nodes_fleet.json", DATA / "inventory" / "resourceslices.json"
SITE = DATA / "inventory" / "scontrol-show-node.txt"


def fleet(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cudacompat", "fleet", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=120
    )


def told(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    document = json.loads(done.stdout)
    validate(document, "fleet-v1")
    return {row["node"]: row["verdict"]["outcome"] for row in document["nodes"]}


def test_which_nodes_run_it() -> None:
    done = fleet(EXAMPLE, "--nodes", NODES, "--nodes", SLICES, "--injection", "cdi", "--format", "json")
    assert done.returncode == 1, done.stderr
    outcomes = told(done)
    assert outcomes["gpu-a100-old"] == "fails" and outcomes["gpu-b200-cordoned"] == "runs"
    assert outcomes["gpu-gh200-arm"] == "fails" and outcomes["aks-gpunp-00000000-vmss000000"] in ("unknown", "depends")
    assert outcomes["gpu-a100-dra"] == "runs"


@pytest.mark.parametrize(
    ("nodes", "fail_on", "code"),
    [
        ("node,driver,gpu\na,580.65.06,A100\n", "limited", 0),
        ("node,driver,gpu\na,580.65.06,A100\nb,550.54.15,A100\n", "fails", 1),
        ("node,driver,gpu\na,580.65.06,A100\nb,,A100\n", "unknown", 3),
        ("node,driver,gpu\na,580.65.06,A100\nb,,A100\n", "fails", 0),
        # A machine without GPUs among machines with some is not what the fleet is asked for.
        ("node,driver,gpu\na,580.65.06,A100\nb,,none\n", "unknown", 0),
        ("node,driver,gpu\na,550.54.15,A100\nb,,A100\n", "unknown", 1),
    ],
)
def test_exit_codes(tmp_path: Path, nodes: str, fail_on: str, code: int) -> None:
    (tmp_path / "nodes.csv").write_text(nodes)
    done = fleet(EXAMPLE, "--nodes", tmp_path / "nodes.csv", "--fail-on", fail_on, "--injection", "cdi")
    assert done.returncode == code, done.stdout + done.stderr


def test_drivers_from_a_map(tmp_path: Path) -> None:
    (tmp_path / "drivers").write_text("gpu[01-04] = 580.65.06\n")
    done = fleet(EXAMPLE, "--nodes", SITE, "--driver-map", tmp_path / "drivers", "--injection", "cdi", "-q")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("~ 3 OF 4 GPU NODES RUN IT")


def test_a_workload_names_its_images(tmp_path: Path) -> None:
    script = "#!/bin/bash\n#SBATCH --gres=gpu:1\nsrun apptainer exec --nv docker-archive:{} true\n"
    (tmp_path / "job.sbatch").write_text(script.format(EXAMPLE))
    done = fleet(tmp_path / "job.sbatch", "--nodes", SITE, "--format", "json")
    assert done.returncode in (1, 3), done.stderr
    document = json.loads(done.stdout)
    assert {kind["host"]["injection"] for kind in document["kinds"]} == {"apptainer"}
    assert document["target"]["reference"].endswith(EXAMPLE.name)


def test_a_workload_without_an_image(tmp_path: Path) -> None:
    (tmp_path / "job.sbatch").write_text("#!/bin/bash\n#SBATCH --gres=gpu:1\nsrun python train.py\n")
    done = fleet(tmp_path / "job.sbatch", "--nodes", SITE)
    assert done.returncode == 4 and "starts no image that can be read from here" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([EXAMPLE], 2, "Which machines? Give --nodes FILE"),
        ([EXAMPLE, "--slurm-srun"], 2, "Which machines?"),
        ([EXAMPLE, "--nodes", SITE, "--slurm-srun"], 2, "--slurm-srun needs --slurm"),
        ([EXAMPLE, "--nodes", SITE, "--slurm"], 2, "without --nodes"),
        ([EXAMPLE, "--nodes", SITE, "--kube-context", "x"], 2, "without --nodes"),
        ([EXAMPLE, "--nodes", "/nowhere/nodes.json"], 4, "/nowhere/nodes.json cannot be read: No such file"),
        ([EXAMPLE, "--nodes", SITE, "--driver-map", "/nowhere/map"], 2, "--driver-map /nowhere/map cannot be read"),
        (["/nowhere/image.tar", "--nodes", SITE], 4, "/nowhere/image.tar"),
        ([EXAMPLE, "--nodes", SITE, "--toolkit-version", "banana"], 2, "banana"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[object], code: int, sentence: str) -> None:
    done = fleet(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr and len(done.stderr.splitlines()) == 1


class _Api(http.server.BaseHTTPRequestHandler):
    """As much of an API server as ``kubectl get`` asks for."""

    slices = True

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        answers: dict[str, object] = {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_GROUP] if self.slices else []},
            "/api/v1": _resources("v1", "nodes", "Node"),
            "/api/v1/nodes": {"apiVersion": "v1", "kind": "NodeList", **_items(NODES)},
        }
        if self.slices:
            answers["/apis/resource.k8s.io/v1"] = _resources("resource.k8s.io/v1", "resourceslices", "ResourceSlice")
            answers["/apis/resource.k8s.io/v1/resourceslices"] = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSliceList",
                **_items(SLICES),
            }
        found = answers.get(path)
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(found or {"kind": "Status", "status": "Failure", "code": 404}).encode())

    def log_message(self, *_: object) -> None:
        """Nothing: the tests' output is theirs."""


_VERSION = {"groupVersion": "resource.k8s.io/v1", "version": "v1"}
_GROUP = {"name": "resource.k8s.io", "versions": [_VERSION], "preferredVersion": _VERSION}


def _resources(group: str, name: str, kind: str) -> object:
    row = {"name": name, "singularName": "", "namespaced": False, "kind": kind, "verbs": ["get", "list"]}
    return {"kind": "APIResourceList", "groupVersion": group, "resources": [row]}


def _items(path: Path) -> dict[str, object]:
    return {"metadata": {"resourceVersion": "1"}, "items": json.loads(path.read_text())["items"]}


@contextmanager
def cluster(folder: Path, *, slices: bool) -> Iterator[dict[str, str]]:
    """The environment in which kubectl reaches the API server as the context "lab"."""
    if shutil.which("kubectl") is None:
        unavailable("kubectl is not installed (kubernetes-client)")
    handler = type("Api", (_Api,), {"slices": slices})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u"}}],
    }
    (folder / "config").write_text(json.dumps(config))
    try:
        yield {"KUBECONFIG": str(folder / "config"), "HOME": str(folder)}
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("slices", [True, False], ids=["with resource slices", "without"])
def test_the_cluster_itself_says_what_its_files_say(tmp_path: Path, slices: bool) -> None:
    with cluster(tmp_path, slices=slices) as environment:
        live = fleet(EXAMPLE, "--kube-context", "lab", "--format", "json", **environment)
    files = [word for path in ([NODES, SLICES] if slices else [NODES]) for word in ("--nodes", path)]
    saved = fleet(EXAMPLE, *files, "--format", "json")
    assert live.returncode == saved.returncode == 1, live.stderr
    assert told(live) == told(saved)


def test_a_context_that_is_not_there(tmp_path: Path) -> None:
    with cluster(tmp_path, slices=True) as environment:
        done = fleet(EXAMPLE, "--kube-context", "prod", **environment)
    assert done.returncode == 4 and len(done.stderr.splitlines()) == 1
    assert "kubectl get nodes failed for context prod: " in done.stderr and "context" in done.stderr.split("prod: ")[1]


def test_without_kubectl(tmp_path: Path) -> None:
    done = fleet(EXAMPLE, "--kube-context", "lab", PATH=str(tmp_path))
    assert done.returncode == 4 and "kubectl is not installed here; save" in done.stderr


def test_without_slurm(tmp_path: Path) -> None:
    done = fleet(EXAMPLE, "--slurm", PATH=str(tmp_path))
    assert done.returncode == 4 and "scontrol is not installed here; save" in done.stderr
