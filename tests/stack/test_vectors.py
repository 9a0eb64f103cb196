"""Upstream's own answers: every vector is a run of NVIDIA's evaluators, its hook, or its compat choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cudacompat.stack import container_request, evaluate_requirements, select_compat

DATA = Path(__file__).parent.parent / "data"
Vector = dict[str, Any]


def vectors(name: str) -> list[Vector]:
    loaded: list[Vector] = json.loads((DATA / f"{name}.json").read_text())["vectors"]
    return loaded


REQUIRE = vectors("require_vectors")
HOOK = vectors("hook_vectors")
COMPAT = vectors("compat_vectors")
CONFIG_KEYS = {"accept-envvar-unprivileged": "accept-nvidia-visible-devices-envvar-when-unprivileged"}


def by_id(rows: list[Vector]) -> Any:
    return pytest.mark.parametrize("vector", rows, ids=[str(row["id"]) for row in rows])


@by_id([row for row in REQUIRE if row["requirements"] is not None])
@pytest.mark.parametrize("dialect", ["c", "go"])
def test_requirement(vector: Vector, dialect: str) -> None:
    got = evaluate_requirements(
        vector["requirements"],
        **vector["host"],
        dialect="c" if dialect == "c" else "go",
        device_visible=vector["device_visible"],
    )
    assert got == vector.get(f"{dialect}_error")


@by_id([row for row in REQUIRE if "env" in row])
def test_requirements_read_from_the_environment(vector: Vector) -> None:
    request = container_request([*vector["env"], "NVIDIA_VISIBLE_DEVICES=all"])
    if "env_error" in vector:
        assert request.error is not None and vector["env_error"] in request.error
    else:
        assert list(request.requirements) == sorted(vector["requirements"])


def config_of(vector: Vector) -> dict[str, str]:
    if vector["config"] == "default":
        return {}
    key, _, value = vector["config"].partition("=")
    return {CONFIG_KEYS.get(key, key): "" if value == "(empty)" else value}


@by_id(HOOK)
def test_hook(vector: Vector) -> None:
    request = container_request(vector["env"], privileged=vector["privileged"], config=config_of(vector))
    if vector["exit_code"]:
        assert request.error == vector["stderr"][-1]
        return
    assert request.error is None
    assert request.is_gpu_container == vector["calls_cli"]
    if vector["calls_cli"]:
        assert (",".join(request.devices) or None) == vector["device"]
        assert list(request.capabilities) == vector["capabilities"]
        assert list(request.requirements) == vector["require"]
        others = [argument for argument in vector["other_args"] if not argument.startswith("--cuda-compat")]
        assert other_arguments(request) == others


def other_arguments(request: Any) -> list[str]:
    found = []
    if request.imex_channels:
        found.append(f"--imex-channel={','.join(request.imex_channels)}")
    if request.mig_config:
        found.append(f"--mig-config={request.mig_config}")
    if request.mig_monitor:
        found.append(f"--mig-monitor={request.mig_monitor}")
    return sorted(found)


def chosen(vector: Vector, toolkit: str, injection: str, mode: str | None = None) -> str | None:
    root = {"compat_root": vector["compat_root"]} if "compat_root" in vector else {}
    return select_compat(
        files=vector["files"],
        links=vector["links"],
        note=vector["elf_note"],
        host_driver=vector["host_driver"],
        host_cuda=vector["host_cuda"],
        toolkit=toolkit,
        injection=injection,
        compat_mode=mode,
        **root,
    )


@by_id(COMPAT)
@pytest.mark.parametrize("toolkit", ["1.17.8", "1.19.1", "1.20.0"])
def test_compat_by_the_hook(vector: Vector, toolkit: str) -> None:
    assert chosen(vector, toolkit, "cdi") == vector[f"hook_{toolkit.replace('.', '_')}"]


CLI = [row for row in COMPAT if row.get("cli_mount_keeps") is not None]


@by_id(CLI)
@pytest.mark.parametrize(
    ("column", "toolkit", "mode"),
    [
        ("cli_ldconfig_keeps", "1.18.0", None),
        ("cli_mount_keeps", "1.18.0", "mount"),
        ("cli_before_1_17_5_keeps", "1.17.3", None),
    ],
)
def test_compat_by_the_command_line_tool(vector: Vector, column: str, toolkit: str, mode: str | None) -> None:
    assert (chosen(vector, toolkit, "legacy", mode) is not None) == vector[column]


def test_the_release_that_switched_compat_off() -> None:
    row = next(row for row in COMPAT if row["hook_1_17_8"])
    assert [chosen(row, toolkit, "legacy") for toolkit in ("1.17.4", "1.17.6")] == [None, None]
    assert [chosen(row, toolkit, "cdi") for toolkit in ("1.17.3", "1.17.4")] == [None, None]
