"""What the answers say: sentences that people act upon."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cudacompat.model import HostFacts, ImageFacts
from cudacompat.predict import predict
from tests.support.facts import compat, component, cudart, host, image, torch

OLD_HOST = host("440.33.01", "RTX 3090")


def fix_of(facts: ImageFacts, machine: HostFacts, rule: str) -> str:
    return next(finding.fix for finding in predict(facts, machine).findings if finding.rule == rule)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("cuda>=11.4 driver>=450", "a driver of CUDA 11.4 or newer or driver branches 450 or newer."),
        ("cuda>=11.4 brand=tesla,driver>=418,driver<419", "driver branches 418 with brand tesla."),
        ("cuda>=11.4 brand=tesla,driver>=418,driver<419 driver>=450", "driver branches 418, 450 or newer."),
        ("cuda>=11.4 driver>=450,driver<470", "driver branches 450 to 469."),
        ("brand=geforce,driver<385", "driver branches before 385 with brand geforce."),
        ("arch>=9.0", "It accepts other drivers."),
    ],
)
def test_what_a_formula_accepts(formula: str, words: str) -> None:
    facts = image(cudart("11.4"), env={"NVIDIA_REQUIRE_CUDA": formula})
    assert words in fix_of(facts, OLD_HOST, "requirement-refused")


def test_failing_everywhere_is_said_with_every_way_of_failing() -> None:
    facts = image(torch("2.9.1", "13.0"), env={"NVIDIA_REQUIRE_CUDA": "cuda>=12.8"})
    verdict = predict(facts, host("535.104.05", "RTX 3090", injection=None)).verdict
    assert (verdict.outcome, verdict.stage) == ("fails", "start")
    assert verdict.summary == "fails in every case: refused at start, or fails with 35 (init)"


def test_a_jetson_is_judged_by_its_cuda_version_alone() -> None:
    machine = host(None, "Jetson AGX Orin", injection="csv", os="jetson", driver_cuda="11.4")
    arm = image(cudart("11.8"), platform="linux/arm64")
    assert predict(arm, machine).verdict.path == "minor-version"
    assert predict(image(cudart("12.6"), platform="linux/arm64"), machine).verdict.summary.endswith(
        "the driver offers CUDA 11.4"
    )
    assert predict(arm, replace(machine, driver_cuda=None)).verdict.outcome == "unknown"


@pytest.mark.parametrize(("board", "word"), [("RTX 3090", "Nothing to do"), ("A100", "put the folder first")])
def test_an_unused_compat_library_is_offered_only_to_boards_that_may_use_it(board: str, word: str) -> None:
    facts = image(cudart("12.4"), compat_package=compat("550.54.15", cuda="12.4"))
    assert word in fix_of(facts, host("535.104.05", board, toolkit="1.17.4"), "compat-unused")


def test_the_entrypoint_of_a_framework_container_is_named() -> None:
    directory, library = compat("590.48.01", cuda="13.1", folder="compat/lib.real")
    facts = image(cudart("13.1"), compat_package=(directory, library))
    facts = replace(facts, links={"/usr/local/cuda": "/usr/local/cuda-13.1"})
    own = replace(facts, config=replace(facts.config, entrypoint=("/opt/nvidia/nvidia_entrypoint.sh",)))
    machine = host("535.183.01", "A100", injection="cdi", toolkit="1.18.1")
    assert predict(facts, machine).verdict.error is not None
    prediction = predict(own, machine)
    assert prediction.verdict.path == "forward-compat"
    assert "compat-by-entrypoint" in {finding.rule for finding in prediction.findings}
    assert "the image's own entrypoint" in prediction.stages[3].summary


def test_a_cpu_build_is_named_beside_what_it_replaces() -> None:
    facts = image(component("torch", "2.9.1+cpu", None, variant="cpu"), cudart("12.4"))
    assert "cpu-build" in {finding.rule for finding in predict(facts, host("550.54.15", "A100")).findings}
