"""Compose's release and the engine's runtimes, as a machine tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudacompat.host import compose
from tests.host.machines import machine, program


@pytest.mark.parametrize(
    ("plugin", "old", "version"),
    [
        ("echo 2.29.7", None, (2, 29, 7)),
        ("echo v2.40.3-desktop.1", "echo 1.29.2", (2, 40, 3)),
        ("echo \"docker: 'compose' is not a docker command\" >&2; exit 1", "echo 1.29.2", (1, 29, 2)),
        ("echo dev", None, None),
        (None, None, None),
    ],
)
def test_compose_version(tmp_path: Path, plugin: str | None, old: str | None, version: tuple[int, ...] | None) -> None:
    for name, body in (("docker", plugin), ("docker-compose", old)):
        if body is not None:
            program(tmp_path, name, body)
    assert compose.compose_version(machine(tmp_path)) == version


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ('{"Runtimes": {"runc": {}, "nvidia": {"path": "nvidia-container-runtime"}}}', {"runc", "nvidia"}),
        ('{"ServerErrors": ["no daemon"]}', None),
        ('{"Runtimes": null}', None),
        ("[]", None),
        ("nothing", None),
    ],
)
def test_runtimes(tmp_path: Path, answer: str, names: set[str] | None) -> None:
    program(tmp_path, "docker", f"cat <<'END'\n{answer}\nEND")
    assert compose.runtimes(machine(tmp_path)) == names
