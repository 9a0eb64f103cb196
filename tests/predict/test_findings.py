"""Findings and grounds that stand beside a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cudacompat.model import HostFacts, ImageFacts, Verdict
from cudacompat.model.prediction import Confidence, Outcome
from cudacompat.predict import predict
from cudacompat.predict.verdict import merge
from tests.support.facts import compat, cudart, host, image, torch

A100 = host("550.54.15", "A100")
LISTED = {"NVIDIA_REQUIRE_CUDA": "cuda>=12.8 brand=tesla,driver>=535,driver<536"}


def rules_of(facts: ImageFacts, machine: HostFacts) -> set[str]:
    return {finding.rule for finding in predict(facts, machine).findings}


ROWS = [
    ("the switched off check", image(cudart("12.8"), env={**LISTED, "NVIDIA_DISABLE_REQUIRE": "true"}), A100, "requirement-disabled"),
    ("a check that CDI leaves out", image(cudart("12.8"), env=LISTED), host("550.54.15", "RTX 3090", injection="cdi"), "requirement-not-evaluated"),
    ("a base of another major version than the wheel", image(cudart("11.8"), torch("2.5.1", "12.4")), A100, "versions-disagree"),
    ("an environment that lies", image(cudart("12.4"), env={"CUDA_VERSION": "12.8.0"}), A100, "versions-disagree"),
    ("a partial reading", image(cudart("12.4"), complete=False), A100, "incomplete-coverage"),
    ("a config alone", image(cudart("12.4"), depth="config"), A100, "config-only"),
    ("a list that stands in for the binary", image(torch("2.5.1", "12.4")), A100, "kernels-by-table"),
    ("a base runtime that nobody loads", image(cudart("13.0"), torch("2.7.0", "12.6")), A100, "base-runtime-too-new"),
    ("a driver beyond the table", image(cudart("12.4")), host("999.10", "A100"), "driver-outside-table"),
    ("a hook that may crash", image(cudart("13.2"), compat_package=compat("1.1", cuda="13.2", folder="compat_orin"), platform="linux/arm64"), host("540.4.0", "Jetson AGX Orin", injection="csv", toolkit="1.19.1", os="jetson", driver_cuda="12.6"), "orin-compat-hook-panics"),
    ("stubs on the path", image(cudart("12.4"), env={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64/stubs"}), A100, "stubs-on-path"),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "machine", "rule"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_finding(facts: ImageFacts, machine: HostFacts, rule: str) -> None:
    assert rule in rules_of(facts, machine)


HEALTHY = [
    image(cudart("12.4"), env={"CUDA_VERSION": "12.4.1", "NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"}),
    image(cudart("12.4"), torch("2.5.1", "12.4")),
    image(cudart("12.4"), torch("2.5.1", "12.1")),
    image(cudart("12.4"), compat_package=compat("550.54.15", cuda="12.4")),
]  # fmt: skip


@pytest.mark.parametrize("facts", HEALTHY)
@pytest.mark.parametrize("injection", ["legacy", "cdi"])
def test_no_warning_on_a_healthy_image(facts: ImageFacts, injection: str) -> None:
    machine = replace(A100, injection=injection, toolkit="1.18.1")
    prediction = predict(facts, machine)
    assert prediction.verdict.outcome == "runs"
    assert [finding for finding in prediction.findings if finding.level != "note"] == []


def verdict(outcome: Outcome, confidence: Confidence = "high") -> Verdict:
    return Verdict(outcome, None, None, None, confidence, "", outcome)


@pytest.mark.parametrize(
    ("outcomes", "merged"),
    [
        (["runs", "runs"], "runs"),
        (["runs", "runs-limited"], "runs-limited"),
        (["runs", "unknown"], "unknown"),
        (["runs", "fails"], "depends"),
        (["fails", "unknown"], "depends"),
        (["runs", "depends"], "depends"),
        (["fails", "fails"], "fails"),
    ],
)
def test_scenarios_merged(outcomes: list[Outcome], merged: Outcome) -> None:
    assert merge([verdict(outcome) for outcome in outcomes], ("injection",), "depends").outcome == merged


def test_the_same_answer_twice_is_as_sure_as_the_less_sure_one() -> None:
    assert merge([verdict("runs"), verdict("runs", "low")], (), "").confidence == "low"


def test_a_wheels_published_list_is_less_sure_than_its_binary() -> None:
    assert predict(image(torch("2.5.1", "12.4")), A100).verdict.confidence == "medium"


def test_a_partial_reading_is_less_sure() -> None:
    assert predict(image(cudart("12.4"), complete=False), A100).verdict.confidence == "medium"
    assert predict(image(cudart("12.4"), depth="config"), A100).verdict.confidence == "low"


def test_a_framework_containers_older_library_stays_unused() -> None:
    directory, library = compat("550.54.15", cuda="12.4", folder="compat/lib.real")
    facts = image(cudart("12.4"), compat_package=(directory, library))
    config = replace(facts.config, entrypoint=("/opt/nvidia/nvidia_entrypoint.sh",))
    facts = replace(facts, links={"/usr/local/cuda": "/usr/local/cuda-12.4"}, config=config)
    assert predict(facts, host("580.65.06", "A100", toolkit="1.18.1")).verdict.path == "native"
    assert predict(facts, host("550.54.14", "A100", toolkit="1.18.1")).verdict.path == "native"
