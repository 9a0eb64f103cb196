"""The Kubernetes samples against the published schemas: what we pass is valid, what the schema refuses we name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cudacompat.workloads import check_text

kubernetes_validate = pytest.importorskip("kubernetes_validate")
DATA = Path(__file__).parent.parent / "data"
CASES = json.loads((DATA / "workload_cases.json").read_text())["vectors"]
CORE = ("v1", "apps/v1", "batch/v1", "resource.k8s.io/v1", "resource.k8s.io/v1beta1")


def _core_documents() -> Iterator[tuple[str, dict[str, object]]]:
    for case in CASES:
        if case["reduced"].startswith("apiVersion"):
            for number, document in enumerate(yaml.safe_load_all(case["reduced"])):
                if document["apiVersion"] in CORE:
                    yield f"{case['id']} document {number}", document


@pytest.mark.parametrize(("name", "document"), list(_core_documents()), ids=[name for name, _ in _core_documents()])
def test_the_public_samples_are_valid(name: str, document: dict[str, object]) -> None:
    kubernetes_validate.validate(document, "1.35", strict=True)


def test_the_fleet_of_the_tests_is_valid() -> None:
    for node in json.loads((DATA / "nodes_fleet.json").read_text())["items"]:
        kubernetes_validate.validate(node, "1.35", strict=True)


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: a/b:1\n"
CLAIM = "apiVersion: resource.k8s.io/%s\nkind: ResourceClaimTemplate\nmetadata: {name: t}\nspec: {spec: {devices: {requests: [%s]}}}\n"
FLAT = "{name: g, deviceClassName: gpu.nvidia.com}"
EXACTLY = "{name: g, exactly: {deviceClassName: gpu.nvidia.com}}"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (POD + "    resources: {limits: {nvidia.com/gpu: }}\n", "K03"),
        (POD + "    resources: {nvidia.com/gpu: 1}\n", "K03"),
        (POD + "    nvidia.com/gpu: 1\n", "K03"),
        (CLAIM % ("v1", FLAT), "K25"),
        (CLAIM % ("v1beta1", EXACTLY), "K25"),
    ],
    ids=["a null limit", "beside limits", "in the container", "flat in v1", "exactly in v1beta1"],
)
def test_what_the_schema_refuses_is_an_error_of_ours(text: str, rule: str) -> None:
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(yaml.safe_load(text), "1.35", strict=True)
    assert (rule, "error") in {(f.rule, f.level) for f in check_text(text, "p.yaml").findings}


@pytest.mark.parametrize(
    "text", [CLAIM % ("v1", EXACTLY), CLAIM % ("v1beta1", FLAT), POD], ids=["v1", "v1beta1", "a pod"]
)
def test_what_the_schema_takes_is_no_error_of_ours(text: str) -> None:
    kubernetes_validate.validate(yaml.safe_load(text), "1.35", strict=True)
    assert "error" not in {f.level for f in check_text(text, "p.yaml").findings}
