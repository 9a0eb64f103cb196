"""Laws that hold for every image and host, not only for the rows somebody thought of."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from cudacompat import tables
from cudacompat.model import Component, HostFacts, ImageFacts
from cudacompat.model.host import Injection
from cudacompat.predict import predict, with_driver_cuda
from cudacompat.predict.scenarios import judge
from cudacompat.predict.verdict import GREEN, rank
from tests.support.facts import compat, component, cudart, gpu, host, image, kernels, torch

CUDA = ("8.0", "9.2", "10.2", "11.0", "11.4", "11.8", "12.1", "12.4", "12.8", "13.0", "13.2")
DRIVERS = ("384.81", "418.39", "450.80.02", "470.57.02", "525.60.13", "535.104.05", "550.54.15", "570.26", "580.65.06", "595.45.04", "620.70.06")  # fmt: skip
BOARDS = ("A100", "H100", "Tesla T4", "RTX 3090", "RTX 4090", "RTX 5090", "GTX 1080 Ti", "V100", "RTX A6000")
REQUIRE = (
    "",
    "cuda>=12.4",
    "cuda>=12.8 brand=tesla,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536",
    "cuda>=11.6 brand=geforce,driver>=470,driver<471",
)
INJECTIONS: tuple[Injection, ...] = ("legacy", "cdi", "enroot", "apptainer", "gke")

runtimes = st.sampled_from(CUDA).map(cudart)
wheels = st.sampled_from(
    [torch("2.5.1", "12.4"), torch("2.7.0", "12.6"), torch("2.9.0", "12.8"), torch("2.9.1", "13.0")]
)


@st.composite
def images(draw: st.DrawFn) -> ImageFacts:
    parts: list[Component] = [draw(runtimes)]
    if draw(st.booleans()):
        parts.append(draw(wheels))
    env = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    requirement = draw(st.sampled_from(REQUIRE))
    if requirement:
        env["NVIDIA_REQUIRE_CUDA"] = requirement
    package = draw(st.sampled_from([None, ("470.82.01", "11.4"), ("550.54.15", "12.4"), ("580.65.06", "13.0")]))
    if draw(st.booleans()):
        env["LD_LIBRARY_PATH"] = "/usr/local/cuda/compat"
    return image(*parts, env=env, compat_package=compat(package[0], cuda=package[1]) if package else None)


@st.composite
def hosts(draw: st.DrawFn) -> HostFacts:
    boards = draw(st.lists(st.sampled_from(BOARDS), max_size=2, unique=True))
    return host(
        draw(st.sampled_from(DRIVERS)),
        *boards,
        injection=draw(st.sampled_from((None, *INJECTIONS))),
        toolkit=draw(st.sampled_from((None, "1.14.3", "1.17.4", "1.18.1", "1.20.0"))),
    )


@settings(max_examples=60, deadline=None)
@given(images(), hosts())
def test_the_merged_verdict_is_never_greener_than_its_worst_scenario(facts: ImageFacts, machine: HostFacts) -> None:
    prediction = predict(facts, machine)
    worst = min((rank(scenario.verdict) for scenario in prediction.scenarios), default=rank(prediction.verdict))
    if prediction.verdict.outcome in GREEN:
        assert rank(prediction.verdict) <= worst


@settings(max_examples=60, deadline=None)
@given(images(), st.sampled_from(DRIVERS), st.sampled_from(BOARDS), st.sampled_from((None, "1.18.1", "1.20.0")))
def test_naming_the_injection_mode_lands_on_its_scenario(
    facts: ImageFacts, driver: str, board: str, toolkit: str | None
) -> None:
    open_host = host(driver, board, injection=None, toolkit=toolkit)
    told = predict(facts, open_host)
    for mode in ("legacy", "cdi"):
        named = predict(facts, replace(open_host, injection=mode)).verdict
        possible = [
            scenario.verdict.outcome
            for scenario in told.scenarios
            if mode in scenario.given.get("injection", mode).split(", ")
        ] or [told.verdict.outcome]
        assert named.outcome in possible or named.outcome == "depends"


@settings(max_examples=40, deadline=None)
@given(images(), hosts(), st.sampled_from(BOARDS), st.sampled_from(("1.14.3", "1.17.4", "1.17.8", "1.18.1", "1.20.0")))
def test_a_fact_more_never_contradicts_every_scenario(
    facts: ImageFacts, machine: HostFacts, board: str, toolkit: str
) -> None:
    """Told the board or the toolkit, the answer is one that the open question held out."""
    nobody = with_driver_cuda(replace(machine, gpus=None, toolkit=None))
    possible = endings(facts, nobody)
    driven = judge(image(cudart("8.0")), host(machine.driver, board, injection="cdi", driver_cuda="99.0"))
    assert endings(facts, replace(nobody, toolkit=toolkit)) <= possible
    if driven.verdict.outcome != "fails":
        assert endings(facts, replace(nobody, gpus=(gpu(board),))) <= possible


def endings(facts: ImageFacts, machine: HostFacts) -> set[str]:
    """Every outcome that is still possible."""
    answer = judge(facts, machine)
    return {scenario.verdict.outcome for scenario in answer.scenarios} or {answer.verdict.outcome}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CUDA), st.sampled_from(DRIVERS), st.sampled_from(DRIVERS), st.sampled_from(INJECTIONS))
def test_a_newer_driver_never_turns_a_native_run_into_35(cuda: str, one: str, other: str, mode: Injection) -> None:
    older, newer = sorted((one, other), key=tables.parse_version)
    facts = image(cudart(cuda), env={"NVIDIA_VISIBLE_DEVICES": "all", "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64", "NVIDIA_DRIVER_CAPABILITIES": "compute"})  # fmt: skip
    before = predict(facts, host(older, injection=mode)).verdict
    after = predict(facts, host(newer, injection=mode)).verdict
    if before.outcome == "runs" and before.path == "native":
        assert after.error is None or after.error.code != 35


@settings(max_examples=40, deadline=None)
@given(images(), hosts())
def test_every_remedy_ends_better_than_the_verdict(facts: ImageFacts, machine: HostFacts) -> None:
    prediction = predict(facts, machine)
    assert all(rank(remedy.verdict) > rank(prediction.verdict) for remedy in prediction.remedies)
    assert all(remedy.verdict.outcome in GREEN for remedy in prediction.remedies)


@settings(max_examples=40, deadline=None)
@given(images(), hosts())
def test_green_rests_on_a_driver_and_failing_on_an_error(facts: ImageFacts, machine: HostFacts) -> None:
    prediction = predict(facts, machine)
    verdict = prediction.verdict
    if verdict.outcome in ("runs", "runs-limited") and verdict.path is None:
        assert len({scenario.verdict.path for scenario in prediction.scenarios}) > 1, "green by no way at all"
    if verdict.outcome == "fails":
        assert verdict.stage is not None


def test_the_boards_of_these_tests_are_known() -> None:
    assert all(gpu(name).compute_capability for name in BOARDS)


ODD = st.one_of(
    st.none(),
    st.sampled_from(
        [
            "",
            "12",
            "12.4",
            "9" * 40 + ".1",
            "12.4.5.6.7.8.9",
            "2.6.0a0+ecf3bae.nv25.01",
            "x",
            "-1",
            "1e9",
            "\uff11\uff12.4",
        ]
    ),
    st.text(max_size=12),
)


@st.composite
def odd_images(draw: st.DrawFn) -> ImageFacts:
    names = ("cudart", "torch", "tensorflow", "cudnn", "nvrtc", "cupy", "libcuda-compat", "x")
    parts = [
        component(
            draw(st.sampled_from(names)),
            draw(ODD),
            draw(ODD),
            found_by=draw(st.sampled_from(("dpkg", "env", "machine-code", "pip", "?"))),
            path=draw(st.one_of(st.none(), st.sampled_from(("/usr/local/cuda/lib64/libcudart.so.12", "/x", "")))),
            variant=draw(st.sampled_from((None, "cpu", "cu124", "rocm6"))),
            linkage=draw(st.sampled_from((None, "static", "dynamic"))),
        )
        for _ in range(draw(st.integers(0, 4)))
    ]
    env = draw(st.dictionaries(st.sampled_from(("CUDA_VERSION", "NVIDIA_REQUIRE_CUDA", "LD_LIBRARY_PATH", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_VISIBLE_DEVICES")), st.text(max_size=30)))  # fmt: skip
    package = draw(st.one_of(st.none(), st.text(alphabet="0123456789.", min_size=1, max_size=14)))
    found = [kernels("/app/x", draw(st.sampled_from(("", "80", "90a 100f", "7", "abc"))), draw(st.sampled_from(("", "90:8.4", "100a:99.9"))))]  # fmt: skip
    return image(*parts, env=env, compat_package=compat(package) if package else None, kernels=found)


@settings(max_examples=150, deadline=None)
@given(odd_images(), hosts())
def test_an_image_may_claim_anything(facts: ImageFacts, machine: HostFacts) -> None:
    verdict = predict(facts, machine).verdict
    assert verdict.summary
