"""What --gpus means by Docker and toolkit release, and which releases choose compat libraries alike."""

from __future__ import annotations

import pytest

from cudacompat.model.host import INJECTIONS
from cudacompat.stack import compat_generations, injections_of, requirement_dialect, runtime_injection, select_compat


@pytest.mark.parametrize(
    ("docker", "toolkit", "modes"),
    [
        (None, None, ["legacy", "cdi"]),
        (None, "1.18.1", ["legacy", "cdi"]),
        ("28.5.1", None, ["legacy"]),
        ("29.1.5", "1.20.0", ["legacy"]),
        ("29.2.0", None, ["cdi", "legacy"]),
        ("29.2.0", "1.17.8", ["cdi", "legacy"]),
        ("29.2.0", "1.18.0", ["cdi"]),
        ("30.0", "1.18.0-1", ["cdi", "legacy"]),
        ("5:29.2.1-1~debian.12~bookworm", "1.18.1-1.el9", ["cdi"]),
        ("20.10.24+dfsg1", None, ["legacy"]),
        ("podman", "nonsense", ["legacy", "cdi"]),
    ],
)
def test_modes_of_docker_run_gpus(docker: str | None, toolkit: str | None, modes: list[str]) -> None:
    choices = injections_of(docker, toolkit)
    assert [choice.injection for choice in choices] == modes
    assert all("Docker" in choice.reason for choice in choices)
    assert len({choice.reason for choice in choices}) == len(choices)


@pytest.mark.parametrize(
    ("docker", "spec", "modes"),
    [
        ("29.2.0", True, ["cdi"]),
        ("29.2.0", False, ["legacy"]),
        ("29.1.5", True, ["legacy"]),
        ("30.0", True, ["cdi", "legacy"]),
        ("30.0", False, ["legacy"]),
        (None, True, ["legacy", "cdi"]),
        (None, False, ["legacy"]),
    ],
)
def test_a_cdi_spec_that_was_looked_for_decides(docker: str | None, spec: bool, modes: list[str]) -> None:
    assert [choice.injection for choice in injections_of(docker, "1.17.8", cdi_spec=spec)] == modes


@pytest.mark.parametrize(
    ("mode", "toolkit", "tegra", "injection"),
    [
        ("auto", "1.18.0", False, "cdi"),
        ("auto", "1.17.8", False, "legacy"),
        ("auto", None, False, None),
        ("auto", None, True, "csv"),
        ("legacy", None, True, "legacy"),
        ("csv", "1.20.0", False, "csv"),
        ("jit-cdi", None, False, "cdi"),
        ("cdi", "1.17.8", False, "cdi"),
        ("magic", "1.18.0", True, None),
    ],
)
def test_the_nvidia_runtime_by_mode_and_release(
    mode: str, toolkit: str | None, tegra: bool, injection: str | None
) -> None:
    choice = runtime_injection(mode, toolkit, tegra=tegra)
    assert (choice.injection if choice else None) == injection
    assert choice is None or "nvidia runtime" in choice.reason


@pytest.mark.parametrize("injection", [*INJECTIONS, "something new"])
def test_evaluators(injection: str) -> None:
    assert requirement_dialect(injection) == {"legacy": "c", "enroot": "c", "csv": "go"}.get(injection)


@pytest.mark.parametrize("injection", INJECTIONS)
def test_a_given_release_is_the_only_one(injection: str) -> None:
    assert compat_generations(injection, "1.17.8") == (("1.17.8", "toolkit 1.17.8"),)


RELEASES = [f"1.{minor}.{patch}" for minor, last in ((15, 0), (16, 2), (17, 8), (18, 2), (19, 1), (20, 0)) for patch in range(last + 1)]  # fmt: skip
NOTE = '{"CUDA version":"12.9","driver":[550]}'
IMAGES = [
    (cache, note, version)
    for cache in ([], ["/etc/ld.so.cache"])
    for note in (None, NOTE)
    for version in ("470.57.02", "535.200.01", "575.57.08")
]


def behaviour(injection: str, toolkit: str) -> list[str | None]:
    tegra = injection == "csv"
    return [
        select_compat(
            files=[*cache, f"/usr/local/cuda/compat/libcuda.so.{version}"],
            links={},
            note=note,
            host_driver="" if tegra else "535.104.05",
            host_cuda="12.2" if tegra else "",
            toolkit=toolkit,
            injection=injection,
        )
        for cache, note, version in IMAGES
    ]


@pytest.mark.parametrize("injection", INJECTIONS)
def test_generations_are_every_distinct_behaviour_once(injection: str) -> None:
    generations = compat_generations(injection, None)
    named = [behaviour(injection, toolkit) for toolkit, _ in generations]
    assert all(one != other for index, one in enumerate(named) for other in named[index + 1 :])
    assert all(behaviour(injection, toolkit) in named for toolkit in RELEASES)
    assert len({words for _, words in generations}) == len(generations)
