"""The environment of published CUDA images, read from the config alone and predicted on three hosts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cudacompat import predict
from cudacompat.model import HostFacts, ImageFacts
from cudacompat.predict import with_driver_cuda
from cudacompat.stack import container_request, evaluate_requirements
from tests.support.evidence import files
from tests.support.facts import gpu, host

IMAGES: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "data" / "real_image_env.json").read_text())[
    "images"
]
NAMES = [f"{number} {image['image'][:60]}" for number, image in enumerate(IMAGES)]
each_image = pytest.mark.parametrize("number", range(len(IMAGES)), ids=NAMES)


def on(driver: str, board: str, brand: str, injection: str) -> HostFacts:
    """A host of which every fact is known, so that there is one scenario."""
    boards = (replace(gpu(board), brands=(brand,)),)
    known = host(driver, board, injection=injection, toolkit="1.17.8", docker="27.5.1", machine="amd64")  # type: ignore[arg-type]
    return with_driver_cuda(replace(known, gpus=boards))


HOSTS = {
    "legacy A100 535": on("535.104.05", "A100", "tesla", "legacy"),
    "legacy RTX 3090 550": on("550.54.15", "GeForce RTX 3090", "geforce", "legacy"),
    "cdi A100 470": on("470.82.01", "A100", "tesla", "cdi"),
}


def environment(image: Mapping[str, Any]) -> dict[str, str]:
    env = {name: image[name] for name in ("NVIDIA_REQUIRE_CUDA", "CUDA_VERSION") if image[name] is not None}
    return {**image["env"], **env}


@cache
def facts(number: int) -> ImageFacts:
    image = IMAGES[number]
    return files({"/x": "y"}, depth="config", env=environment(image), labels=image["labels"])


def test_all_of_them_are_here() -> None:
    assert len(IMAGES) == 178
    assert sum(image["NVIDIA_REQUIRE_CUDA"] is not None for image in IMAGES) > 170
    assert sum(image["CUDA_VERSION"] is not None for image in IMAGES) > 130


@each_image
def test_the_requirements_reach_the_facts(number: int) -> None:
    env = environment(IMAGES[number])
    told = {one.where: one.value for one in facts(number).evidence if one.kind == "env"}
    wanted = {name: value for name, value in env.items() if name.startswith(("NVIDIA_", "CUDA_", "NV_", "LD_LIBRARY"))}
    assert wanted.items() <= told.items()
    assert set(facts(number).config.env) == {f"{name}={value}" for name, value in env.items()}


@each_image
def test_the_runtime_has_the_published_cuda_version(number: int) -> None:
    image = IMAGES[number]
    found = [part for part in facts(number).components if part.name == "cudart" and part.found_by == "env"]
    published = image["CUDA_VERSION"] or image["env"].get("NV_CUDA_CUDART_VERSION")
    if published is None or not published[0].isdigit():
        assert found == []
        return
    (part,) = found
    assert part.cuda == ".".join(published.split(".")[:2])
    runtime = image["env"].get("NV_CUDA_CUDART_VERSION")
    assert part.version == (runtime.partition("-")[0] if runtime else None)


@each_image
@pytest.mark.parametrize("name", HOSTS)
def test_start_fails_exactly_when_the_requirements_are_refused(number: int, name: str) -> None:
    machine = HOSTS[name]
    prediction = predict(facts(number), machine)
    start = next(stage for stage in prediction.stages if stage.stage == "start")
    assert len(prediction.scenarios) <= 1
    if name.startswith("cdi"):
        assert start.status == "ok"
        return
    request = container_request([*facts(number).config.env, "NVIDIA_VISIBLE_DEVICES=all"])
    (board,) = machine.gpus or ()
    refusal = request.error or evaluate_requirements(
        list(request.requirements),
        cuda=machine.driver_cuda,
        driver=machine.driver,
        arch=board.compute_capability,
        brand=board.brands[0],
        dialect="c",
    )
    if prediction.verdict.stage == "request":
        assert "compute" not in request.capabilities
        assert start.status == "skipped"
        return
    assert (start.status == "fails") is (refusal is not None)
    if refusal is not None:
        assert prediction.verdict.outcome == "fails"
        assert prediction.verdict.error is not None
        assert refusal in prediction.verdict.error.message


def test_both_answers_are_among_them() -> None:
    for name, machine in HOSTS.items():
        found = {predict(facts(number), machine).verdict.stage for number in range(len(IMAGES))}
        assert ("start" in found) is name.startswith("legacy"), name
        assert None in found, name
