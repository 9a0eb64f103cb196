"""What holds for any text: nothing raises, and better hosts are never refused what lesser ones start."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudacompat.stack import (
    compat_generations,
    container_request,
    evaluate_requirements,
    explain_requirement,
    injections_of,
    select_compat,
)

Dialect = Literal["c", "go"]
DIALECTS: list[Dialect] = ["c", "go"]
ANY = st.text(st.characters(exclude_categories=()), max_size=40)
NAMES = st.sampled_from(["cuda", "driver", "arch", "brand", "CUDA", "x", ""])
SIGNS = st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "!", "==", ""])
VALUES = st.one_of(st.sampled_from(["12.4", "535", "tesla", "12.04", "v1", "9" * 25, "0", ".5"]), ANY)
FACTORS = st.tuples(NAMES, SIGNS, VALUES).map("".join)
GROUPS = st.lists(FACTORS, max_size=3).map(",".join)
FORMULAS = st.one_of(st.lists(GROUPS, max_size=4).map(" ".join), ANY)
FACTS = st.one_of(st.none(), VALUES)
ENTRIES = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(
                [
                    "NVIDIA_VISIBLE_DEVICES",
                    "NVIDIA_DRIVER_CAPABILITIES",
                    "NVIDIA_REQUIRE_CUDA",
                    "NVIDIA_REQUIRE_X",
                    "CUDA_VERSION",
                    "NVIDIA_IMEX_CHANNELS",
                    "NVIDIA_MIG_CONFIG_DEVICES",
                    "NVIDIA_DISABLE_REQUIRE",
                ]
            ),
            st.one_of(st.sampled_from(["all", "none", "void", "0,1", "compute", "12.4", "12.4.1.1", ""]), ANY),
        ).map("=".join),
        ANY,
    ),
    max_size=6,
)
PARTS = st.integers(0, 700)
quiet = settings(deadline=None)


@pytest.mark.parametrize("dialect", DIALECTS)
@quiet
@given(
    formulas=st.lists(FORMULAS, max_size=3), cuda=FACTS, driver=FACTS, arch=FACTS, brand=FACTS, visible=st.booleans()
)
def test_evaluation_never_raises(dialect: Dialect, formulas: list[str], visible: bool, **facts: str | None) -> None:
    answer = evaluate_requirements(
        formulas,
        cuda=facts["cuda"],
        driver=facts["driver"],
        arch=facts["arch"],
        brand=facts["brand"],
        dialect=dialect,
        device_visible=visible,
    )
    assert answer is None or answer
    assert all(way.branch is None or way.branch >= 0 for formula in formulas for way in explain_requirement(formula))


@pytest.mark.parametrize("runtime", ["toolkit", "enroot"])
@quiet
@given(env=ENTRIES, privileged=st.booleans(), config=st.dictionaries(st.sampled_from(["mode", "swarm-resource"]), ANY))
def test_reading_an_environment_never_raises(
    runtime: Literal["toolkit", "enroot"], env: list[str], privileged: bool, config: dict[str, str]
) -> None:
    request = container_request(env, privileged=privileged, config=config, runtime=runtime)
    assert request.is_gpu_container or request.devices == request.requirements == request.capabilities == ()
    assert not request.error or request.is_gpu_container
    assert request.capabilities == tuple(sorted(set(request.capabilities)))
    assert container_request([*env, *env], privileged=privileged, config=config, runtime=runtime) == request


@pytest.mark.parametrize("injection", ["legacy", "cdi", "csv", "enroot", "apptainer-nvccli"])
@quiet
@given(
    name=ANY, note=st.one_of(st.none(), ANY), host=ANY, cuda=ANY, toolkit=ANY, root=ANY, links=st.dictionaries(ANY, ANY)
)
def test_the_compat_choice_never_raises(injection: str, name: str, links: dict[str, str], **given_: Any) -> None:
    chosen = select_compat(
        files=["/etc/ld.so.cache", f"/usr/local/cuda/compat/libcuda.so.{name}", name],
        links=links,
        note=given_["note"],
        host_driver=given_["host"],
        host_cuda=given_["cuda"],
        toolkit=given_["toolkit"],
        injection=injection,
        compat_root=given_["root"],
    )
    assert chosen is None or chosen.startswith("/")


@quiet
@given(docker=st.one_of(st.none(), ANY), toolkit=st.one_of(st.none(), ANY), injection=ANY)
def test_modes_and_generations_exist_for_any_text(docker: str | None, toolkit: str | None, injection: str) -> None:
    assert injections_of(docker, toolkit)
    assert compat_generations(injection, toolkit)


@pytest.mark.parametrize("dialect", DIALECTS)
@quiet
@given(needed=st.tuples(PARTS, PARTS), host=st.tuples(PARTS, PARTS), more=st.tuples(PARTS, PARTS))
def test_a_newer_cuda_is_never_refused_what_an_older_one_starts(
    dialect: Dialect, needed: tuple[int, int], host: tuple[int, int], more: tuple[int, int]
) -> None:
    older, newer = sorted([host, more])
    formula = f"cuda>={needed[0]}.{needed[1]}"

    def refused(cuda: tuple[int, int]) -> bool:
        facts: dict[str, Any] = {"cuda": f"{cuda[0]}.{cuda[1]}", "driver": None, "arch": None, "brand": None}
        return evaluate_requirements([formula], dialect=dialect, **facts) is not None

    assert refused(older) or not refused(newer)
    assert refused(older) == (older < needed)


@quiet
@given(formula=GROUPS, other=GROUPS, cuda=st.sampled_from(["12.2", "13.0"]))
def test_another_variable_only_ever_adds_a_condition(formula: str, other: str, cuda: str) -> None:
    def accepted(*formulas: str) -> bool:
        facts: dict[str, Any] = {"cuda": cuda, "driver": "535.104.05", "arch": "8.0", "brand": "Tesla"}
        return evaluate_requirements(formulas, dialect="c", **facts) is None

    assert accepted(formula, other) == (accepted(formula) and accepted(other))


@quiet
@given(formula=FORMULAS)
def test_no_visible_device_never_adds_a_refusal_by_brand(formula: str) -> None:
    facts: dict[str, Any] = {"cuda": None, "driver": None, "arch": "8.0", "brand": "Tesla", "dialect": "c"}
    answer = evaluate_requirements([formula], **facts, device_visible=False)
    assert answer in (None, "requirement error: invalid expression")


@pytest.mark.parametrize("toolkit", ["1.17.8", "1.19.1", "1.20.0"])
@quiet
@given(compat=st.tuples(st.integers(400, 700), PARTS), host=st.tuples(st.integers(400, 700), PARTS))
def test_an_older_library_is_never_put_in_front_of_a_newer_driver(
    toolkit: str, compat: tuple[int, int], host: tuple[int, int]
) -> None:
    chosen = select_compat(
        files=["/etc/ld.so.cache", f"/usr/local/cuda/compat/libcuda.so.{compat[0]}.{compat[1]}"],
        links={},
        note=None,
        host_driver=f"{host[0]}.{host[1]}",
        toolkit=toolkit,
        injection="cdi",
    )
    assert (chosen is not None) == (compat[0] > host[0])
