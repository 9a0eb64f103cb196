"""Every Kubernetes rule: a manifest that it names, and one that it leaves alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cudacompat.inventory.kubernetes import read_fleet
from cudacompat.model import Coverage, ImageConfig, ImageFacts, Target
from cudacompat.model.inventory import Fleet, FleetNode, Taint
from cudacompat.workloads import Inventory, check_text

FLEET = read_fleet(
    json.loads((Path(__file__).parent.parent / "data" / "nodes_fleet.json").read_text()), "nodes_fleet.json"
)
ALL = Inventory(fleet=FLEET)
NONE = Inventory()


def only(*names: str, **changes: object) -> Inventory:
    return Inventory(fleet=replace(FLEET, nodes=tuple(n for n in FLEET.nodes if n.name in names), **changes))  # type: ignore[arg-type]


def image(env: tuple[str, ...] = (), platforms: tuple[str, ...] = ("linux/amd64",)) -> ImageFacts:
    config = ImageConfig(platforms[0], env=env)
    return ImageFacts(
        Target("image", "a/b:1", "registry"), config, Coverage("config", True, 0, 1), available_platforms=platforms
    )


def pod(container: str = "", spec: str = "", image_name: str = "a/b:1") -> str:
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
        + (f"  {spec}\n" if spec else "")
        + f"  containers:\n  - name: c\n    image: {image_name}\n"
        + (f"    {container}\n" if container else "")
    )


def gpus(count: object, resource: str = "nvidia.com/gpu") -> str:
    return f"resources: {{limits: {{{resource}: {count}}}}}"


def env(name: str, value: str) -> str:
    return f"env: [{{name: {name}, value: {value!r}}}]"


ONE = gpus(1)
L4 = "nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}"


def claim(version: str, request: str) -> str:
    return (
        f"apiVersion: resource.k8s.io/{version}\nkind: ResourceClaimTemplate\nmetadata: {{name: t}}\n"
        f"spec: {{spec: {{devices: {{requests: [{request}]}}}}}}\n"
    )


def cel(expression: str) -> str:
    return claim(
        "v1",
        f'{{name: g, exactly: {{deviceClassName: gpu.nvidia.com, selectors: [{{cel: {{expression: "{expression}"}}}}]}}}}',
    )


ATTRIBUTES = "device.attributes['gpu.nvidia.com']"
DEPLOYMENT = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec:\n  replicas: {replicas}\n  {more}\n"
    "  selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n"
    "      containers: [{{name: c, image: 'a/b:1', resources: {{limits: {{nvidia.com/gpu: {count}}}}}}}]\n"
)
TOLERATE = "tolerations: [{key: nvidia.com/gpu, operator: Exists}]"
TWO_MIG = "resources: {limits: {nvidia.com/mig-1g.5gb: 1, nvidia.com/mig-3g.20gb: 1}}"
GKE_IMAGE = {"a/b:1": image(("LD_LIBRARY_PATH=/usr/local/cuda/lib64",))}
GKE_GOOD = {"a/b:1": image(("LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64",))}
TWO_NODES = Inventory(fleet=Fleet((FleetNode("n1", allocatable={"nvidia.com/gpu": 4}),)))
INIT = "initContainers: [{name: i, image: 'a/b:1', resources: {limits: {nvidia.com/gpu: 2}}}]"

BAD = [
    ("K01", "a request without a limit", pod("resources: {requests: {nvidia.com/gpu: 1}}"), NONE),
    ("K02", "request 1, limit 2", pod("resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}"), NONE),
    ("K03", "a null limit", pod("resources: {limits: {nvidia.com/gpu: }}"), NONE),
    ("K03", "a limit in the wrong place", pod("resources: {nvidia.com/gpu: 1}"), NONE),
    ("K04", "half a GPU", pod(gpus(0.5)), NONE),
    ("K04", "500m", pod(gpus("500m")), NONE),
    ("K04", "one and a half in quotes", pod(gpus("'1.5'")), NONE),
    ("K05", "a CUDA image that asks for nothing", pod(image_name="nvidia/cuda:12.4.1-base-ubuntu22.04"), NONE),
    ("K06", "64 GPUs in one pod", pod(gpus(64), TOLERATE), ALL),
    ("K07", "whole GPUs on MIG nodes", pod(ONE), Inventory(fleet=Fleet((FleetNode("m", allocatable={"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb": 7}),)))),
    ("K08", "a profile of another board", pod(gpus(1, "nvidia.com/mig-1g.10gb")), ALL),
    ("K09", "two instances for one process", pod(gpus(2, "nvidia.com/mig-1g.5gb")), NONE),
    ("K10", "two profiles", pod(TWO_MIG), NONE),
    ("K11", "two shares", pod(gpus(2)), only("gpu-t4-ts")),
    ("K12", "renamed shares", pod(ONE), only("gpu-t4-renamed")),
    ("K13", "a product without its suffix", pod(ONE, "nodeSelector: {nvidia.com/gpu.product: Tesla-T4}"), only("gpu-t4-ts")),
    ("K14", "a taint on every GPU node", pod(ONE), only("gpu-h100-a")),
    ("K15", "all devices by variable", pod(env("NVIDIA_VISIBLE_DEVICES", "all")), NONE),
    ("K15", "CUDA's own variable", pod(ONE + "\n    " + env("CUDA_VISIBLE_DEVICES", "1")), NONE),
    ("K16", "device nodes mounted", pod(ONE, "volumes: [{name: d, hostPath: {path: /dev/nvidia0}}]"), NONE),
    ("K16", "a privileged container", pod(ONE + "\n    securityContext: {privileged: true}"), NONE),
    ("K17", "an image without GKE's folder", pod(ONE, L4), replace(ALL, images=GKE_IMAGE)),
    ("K18", "a shell variable in a value", pod(ONE + "\n    " + env("LD_LIBRARY_PATH", "${LD_LIBRARY_PATH}:/x")), NONE),
    ("K18", "one folder alone", pod(ONE + "\n    " + env("LD_LIBRARY_PATH", "/x")), NONE),
    ("K19", "a plain system with a GPU", pod(ONE, image_name="ubuntu:22.04"), NONE),
    ("K19", "a CPU tag", pod(ONE, image_name="a/b:1-cpu"), NONE),
    ("K20", "a shell variable as image", pod(ONE, image_name="$IMAGE"), NONE),
    ("K20", "a Helm template", pod("{{- toYaml .Values.resources | nindent 4 }}", image_name="{{ .Values.image }}"), NONE),
    ("K21", "an L4 and CUDA 11.7", pod(ONE, L4, "nvidia/cuda:11.7.1-runtime-ubuntu22.04"), NONE),
    ("K22", "an unknown runtime class", pod(ONE, "runtimeClassName: nvidia"), Inventory(fleet=Fleet((), frozenset({"gvisor"})))),
    ("K23", "a larger init container", pod(ONE, INIT), NONE),
    ("K24", "8 by 2 over 8 GPUs", pod(gpus(8) + "\n    args: [--tensor-parallel-size=8, --pipeline-parallel-size=2]"), NONE),
    ("K25", "the flat form in v1", claim("v1", "{name: g, deviceClassName: gpu.nvidia.com}"), NONE),
    ("K25", "exactly in v1beta1", claim("v1beta1", "{name: g, exactly: {deviceClassName: gpu.nvidia.com}}"), NONE),
    ("K26", "an index attribute", cel(ATTRIBUTES + ".index == 0"), NONE),
    ("K27", "a claim nobody lists", pod(ONE, "resourceClaims: [{name: g, resourceClaimTemplateName: t}]"), NONE),
    ("K28", "a claim that leads nowhere", pod("resources: {claims: [{name: g}]}", "resourceClaims: [{name: g}]"), NONE),
    ("K29", "a driver compared as text", cel(ATTRIBUTES + ".driverVersion >= '570'"), NONE),
    ("K30", "amd64 only on arm64", pod(ONE, "nodeSelector: {kubernetes.io/arch: arm64}"), replace(ALL, images={"a/b:1": image()})),
    ("K31", "two pods fill the fleet", DEPLOYMENT.format(replicas=2, more="minReadySeconds: 1", count=2), TWO_NODES),
    ("K32", "a cordoned node", pod(ONE, "nodeSelector: {nvidia.com/gpu.product: NVIDIA-B200}"), ALL),
    ("K33", "zero GPUs", pod(gpus(0)), NONE),
    ("K34", "the old resource name", pod(gpus(1, "alpha.kubernetes.io/nvidia-gpu")), NONE),
    ("V01", "a device twice", pod(ONE + "\n    " + env("CUDA_VISIBLE_DEVICES", "0,0")), NONE),
    ("V06", "all", pod(ONE + "\n    " + env("CUDA_VISIBLE_DEVICES", "all")), NONE),
    ("X01", "CUDA 13 and no fleet", pod(ONE, image_name="a/b:1-cu130"), NONE),
    ("X01", "CUDA 13 on a mixed fleet", pod(ONE, image_name="a/b:1-cu130"), ALL),
    ("X02", "no selector in a mixed fleet", pod(ONE, TOLERATE), ALL),
    ("X03", "latest", pod(ONE, image_name="a/b:latest"), NONE),
    ("K18", "a reference to the image's own value", pod(env("LD_LIBRARY_PATH", "$(LD_LIBRARY_PATH):/opt/x")), NONE),
    ("K28", "a template that the file's others are not", claim("v1", "{name: g, exactly: {deviceClassName: gpu.nvidia.com}}") + "---\n" + pod("resources: {claims: [{name: g}]}", "resourceClaims: [{name: g, resourceClaimTemplateName: u}]"), NONE),
]  # fmt: skip
GOOD = [
    ("K01", "a limit", pod(ONE), NONE),
    ("K02", "equal numbers, one in quotes", pod("resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: '1'}}"), NONE),
    ("K03", "a number", pod(ONE), NONE),
    ("K04", "a whole number in quotes", pod(gpus("'2'")), NONE),
    ("K04", "2000m", pod(gpus("2000m")), NONE),
    ("K05", "GPUs hidden on purpose", pod(env("NVIDIA_VISIBLE_DEVICES", "void"), image_name="nvidia/cuda:12.4.1-base"), NONE),
    ("K05", "asked for", pod(ONE, image_name="nvidia/cuda:12.4.1-base"), NONE),
    ("K06", "8 GPUs", pod(gpus(8), TOLERATE), ALL),
    ("K07", "the profile", pod(gpus(1, "nvidia.com/mig-1g.5gb")), only("gpu-a100-migmixed")),
    ("K08", "a profile of the fleet", pod(gpus(1, "nvidia.com/mig-1g.5gb")), ALL),
    ("K09", "one instance", pod(gpus(1, "nvidia.com/mig-1g.5gb")), NONE),
    ("K10", "one profile", pod(gpus(1, "nvidia.com/mig-1g.5gb")), NONE),
    ("K11", "one share", pod(ONE), only("gpu-t4-ts")),
    ("K11", "two whole GPUs", pod(gpus(2)), only("gpu-h100-a")),
    ("K12", "the new name", pod(gpus(1, "nvidia.com/gpu.shared")), only("gpu-t4-renamed")),
    ("K13", "the full product name", pod(ONE, "nodeSelector: {nvidia.com/gpu.product: Tesla-T4-SHARED}"), ALL),
    ("K14", "tolerated", pod(ONE, TOLERATE), only("gpu-h100-a")),
    ("K15", "no variable", pod(ONE), NONE),
    ("K16", "a data volume", pod(ONE, "volumes: [{name: d, hostPath: {path: /data}}]"), NONE),
    ("K17", "an image with GKE's folder", pod(ONE, L4), replace(ALL, images=GKE_GOOD)),
    ("K17", "another cloud", pod(ONE, "nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}"), replace(ALL, images=GKE_IMAGE)),
    ("K18", "no value", pod(ONE), NONE),
    ("K19", "a GPU tag", pod(ONE, image_name="rayproject/ray-ml:2.46.0-gpu"), NONE),
    ("K19", "a plain system without a GPU", pod(image_name="ubuntu:22.04"), NONE),
    ("K20", "a full name", pod(ONE), NONE),
    ("K21", "an L4 and CUDA 12", pod(ONE, L4, "nvidia/cuda:12.4.1-runtime-ubuntu22.04"), NONE),
    ("K22", "a known runtime class", pod(ONE, "runtimeClassName: nvidia"), Inventory(fleet=Fleet((), frozenset({"nvidia"})))),
    ("K23", "an init container without GPUs", pod(ONE, "initContainers: [{name: i, image: 'a/b:1'}]"), NONE),
    ("K24", "8 by 1 over 8 GPUs", pod(gpus(8) + "\n    args: [--tensor-parallel-size=8]"), NONE),
    ("K25", "exactly in v1", claim("v1", "{name: g, exactly: {deviceClassName: gpu.nvidia.com}}"), NONE),
    ("K25", "firstAvailable in v1", claim("v1", "{name: g, firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com}]}"), NONE),
    ("K26", "a published attribute", cel(ATTRIBUTES + ".productName.contains('H100')"), NONE),
    ("K27", "a listed claim", pod("resources: {claims: [{name: g}]}", "resourceClaims: [{name: g, resourceClaimTemplateName: t}]"), NONE),
    ("K28", "a claim with a template", pod("resources: {claims: [{name: g}]}", "resourceClaims: [{name: g, resourceClaimTemplateName: t}]"), NONE),
    ("K29", "compared as a version", cel(ATTRIBUTES + ".driverVersion.compareTo(semver('570.0.0')) >= 0"), NONE),
    ("K30", "both architectures", pod(ONE, "nodeSelector: {kubernetes.io/arch: arm64}"), replace(ALL, images={"a/b:1": image(platforms=("linux/amd64", "linux/arm64"))})),
    ("K31", "recreated", DEPLOYMENT.format(replicas=2, more="strategy: {type: Recreate}", count=2), TWO_NODES),
    ("K31", "room for one more", DEPLOYMENT.format(replicas=1, more="minReadySeconds: 1", count=2), TWO_NODES),
    ("K32", "a node that takes pods", pod(ONE, "nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}"), ALL),
    ("K33", "one GPU", pod(ONE), NONE),
    ("K34", "the name of today", pod(ONE), NONE),
    ("X01", "CUDA 12 and no fleet", pod(ONE, image_name="a/b:1-cu124"), NONE),
    ("X01", "CUDA 13 on nodes with a new driver", pod(ONE, image_name="a/b:1-cu130"), only("gpu-a10-mps")),
    ("X02", "a selected GPU", pod(ONE, L4), ALL),
    ("X02", "a fleet of one kind", pod(ONE), only("gpu-h100-a", "gpu-h100-degraded")),
    ("X03", "a digest", pod(ONE, image_name="a/b@sha256:" + "0" * 64), NONE),
    ("K05", "another plugin's name for a share", pod("resources: {limits: {volcano.sh/vgpu-number: 1}}", image_name="nvidia/cuda:12.2.0-base-ubuntu22.04"), NONE),
    ("K05", "a runtime whose jobs bring the request", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: t}\nspec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: n, image: 'pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime'}]}}}}}]}}}\n", NONE),
    ("K28", "a template of the file", claim("v1", "{name: g, exactly: {deviceClassName: gpu.nvidia.com}}") + "---\n" + pod("resources: {claims: [{name: g}]}", "resourceClaims: [{name: g, resourceClaimTemplateName: t}]"), NONE),
    ("K28", "a template that only the cluster has", pod("resources: {claims: [{name: g}]}", "resourceClaims: [{name: g, resourceClaimTemplateName: u}]"), NONE),
]  # fmt: skip


def rules_of(text: str, inventory: Inventory) -> set[str]:
    return {finding.rule for finding in check_text(text, "job.yaml", inventory=inventory).findings}


@pytest.mark.parametrize(("rule", "name", "text", "inventory"), BAD, ids=[f"{r[0]} {r[1]}" for r in BAD])
def test_the_rule_names(rule: str, name: str, text: str, inventory: Inventory) -> None:
    assert rule in rules_of(text, inventory)


@pytest.mark.parametrize(("rule", "name", "text", "inventory"), GOOD, ids=[f"{r[0]} {r[1]}" for r in GOOD])
def test_the_rule_leaves_alone(rule: str, name: str, text: str, inventory: Inventory) -> None:
    assert rule not in rules_of(text, inventory)


def test_a_taint_counts_only_where_it_keeps_pods_away() -> None:
    node = FleetNode("n", taints=(Taint("nvidia.com/gpu", "", "PreferNoSchedule"),), allocatable={"nvidia.com/gpu": 1})
    assert "K14" not in rules_of(pod(ONE), Inventory(fleet=Fleet((node,))))


def test_the_driver_rule_counts_the_nodes() -> None:
    found = check_text(pod(ONE, image_name="a/b:1-cu130"), "j.yaml", inventory=ALL).findings
    message = next(f.message for f in found if f.rule == "X01")
    assert "gpu-a100-old (470.256.02)" in message


KINDS = {
    "Deployment": "spec: {template: {spec: POD}}",
    "StatefulSet": "spec: {template: {spec: POD}}",
    "DaemonSet": "spec: {template: {spec: POD}}",
    "ReplicaSet": "spec: {template: {spec: POD}}",
    "Job": "spec: {template: {spec: POD}}",
    "CronJob": "spec: {jobTemplate: {spec: {template: {spec: POD}}}}",
    "PyTorchJob": "spec: {pytorchReplicaSpecs: {Worker: {replicas: 2, template: {spec: POD}}}}",
    "MPIJob": "spec: {mpiReplicaSpecs: {Worker: {replicas: 2, template: {spec: POD}}}}",
    "TFJob": "spec: {tfReplicaSpecs: {Worker: {replicas: 2, template: {spec: POD}}}}",
    "JobSet": "spec: {replicatedJobs: [{name: w, template: {spec: {template: {spec: POD}}}}]}",
    "ClusterTrainingRuntime": "spec: {template: {spec: {replicatedJobs: [{name: n, template: {spec: {template: {spec: POD}}}}]}}}",
    "RayCluster": "spec: {workerGroupSpecs: [{replicas: 1, template: {spec: POD}}]}",
    "RayJob": "spec: {rayClusterSpec: {headGroupSpec: {template: {spec: POD}}}}",
    "RayService": "spec: {rayClusterConfig: {headGroupSpec: {template: {spec: POD}}}}",
    "LeaderWorkerSet": "spec: {leaderWorkerTemplate: {size: 2, workerTemplate: {spec: POD}}}",
    "Service": "spec: {template: {spec: POD}}",
    "SomethingNew": "spec: {predictor: {podSpec: POD}}",
    "Workflow": "spec: {templates: [{name: t, container: {image: 'a/b:9', resources: {limits: {nvidia.com/gpu: 0.5}}}}]}",
    "CronWorkflow": "spec: {workflowSpec: {templates: [{name: t, script: {image: 'a/b:9', source: x, resources: {limits: {nvidia.com/gpu: 0.5}}}}]}}",
    "InferenceService": "spec: {predictor: {model: {image: 'a/b:9', resources: {limits: {nvidia.com/gpu: 0.5}}}}}",
    "TrainJob": "spec: {trainer: {image: 'a/b:9', resourcesPerNode: {limits: {nvidia.com/gpu: 0.5}}}}",
}
POD = "{containers: [{name: c, image: 'a/b:9', resources: {limits: {nvidia.com/gpu: 0.5}}}]}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrapped", [False, True], ids=["alone", "in a List"])
def test_the_image_and_the_request_are_found_in(kind: str, wrapped: bool) -> None:
    body = f"apiVersion: x/v1\nkind: {kind}\nmetadata: {{name: n}}\n{KINDS[kind].replace('POD', POD)}\n"
    if wrapped:
        lines = "".join(f"  {line}\n" for line in body.splitlines())
        body = "apiVersion: v1\nkind: List\nitems:\n- " + lines[2:]
    report = check_text(body, "x.yaml")
    assert {use.reference for use in report.images} == {"a/b:9"}
    assert "K04" in {f.rule for f in report.findings}


def test_json_manifests_keep_their_lines() -> None:
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
                "spec": {"containers": [{"name": "c", "image": "a/b:1", "resources": {"limits": {"nvidia.com/gpu": 0.5}}}]}}  # fmt: skip
    for indent in (1, "\t"):
        text = json.dumps(document, indent=indent)
        (finding,) = check_text(text, "p.json").findings
        assert finding.location is not None
        assert '"nvidia.com/gpu"' in text.splitlines()[(finding.location.line or 0) - 1]
