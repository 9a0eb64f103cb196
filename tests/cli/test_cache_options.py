"""--cache-dir and --no-cache: which folder is used, and that no report differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudacompat import api
from tests.cli.conftest import DRIVER, IMAGES, Run
from tests.cli.test_process import environment, program
from tests.support.images import build_image

RUNTIME = {"/usr/local/cuda-12.2/lib64/libcudart.so.12.2.140": {"elf": "x86_64"}}


@pytest.fixture
def target(tmp_path: Path) -> str:
    description = {"platform": "linux/amd64", "layers": [{"files": RUNTIME}]}
    return str(build_image(description, tmp_path / "image", compression="gzip"))


@pytest.mark.parametrize(
    ("arguments", "variables", "folder"),
    [
        ((), {}, "usual"),
        (("--no-cache",), {}, None),
        (("--cache-dir", "there"), {}, "there"),
        ((), {"CUDACOMPAT_CACHE_DIR": "there"}, "there"),
        ((), {"CUDACOMPAT_NO_CACHE": "1"}, None),
        (("--cache-dir", "there"), {"CUDACOMPAT_NO_CACHE": "1"}, "there"),
        (("--no-cache",), {"CUDACOMPAT_CACHE_DIR": "there"}, None),
        (("--cache-dir", "here"), {"CUDACOMPAT_CACHE_DIR": "there"}, "here"),
    ],
)
def test_the_nearer_wish_counts(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    variables: dict[str, str],
    folder: str | None,
) -> None:
    asked: list[object] = []

    def inspect(target: str, *, cache_dir: object, **_: object) -> object:
        asked.append(cache_dir)
        return IMAGES[target]

    monkeypatch.setattr(api, "inspect", inspect)
    monkeypatch.setattr("cudacompat.cli.options.user_cache_path", lambda *_, **__: "usual")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for command in (
        ("check", "runs", *DRIVER),
        ("inspect", "runs"),
        ("matrix", "runs", "--driver", "550", "--gpu", "T4"),
    ):
        assert run(*command, *arguments).exit_code == 0
    assert asked == [folder] * 3


@pytest.mark.parametrize("variables", [False, True])
def test_both_wishes_from_one_place_are_wrong_usage(run: Run, monkeypatch: pytest.MonkeyPatch, variables: bool) -> None:
    if variables:
        monkeypatch.setenv("CUDACOMPAT_CACHE_DIR", "there")
        monkeypatch.setenv("CUDACOMPAT_NO_CACHE", "1")
    result = run("check", "runs", *DRIVER, *(() if variables else ("--cache-dir", "there", "--no-cache")))
    assert result.exit_code == 2
    assert "contradict each other" in result.stderr


@pytest.mark.parametrize("command", [("check", *DRIVER), ("inspect",)], ids=["check", "inspect"])
@pytest.mark.parametrize("format_", ["text", "json"])
def test_reports_are_the_same_to_the_byte(target: str, tmp_path: Path, command: tuple[str, ...], format_: str) -> None:
    name, *options = command
    arguments = (name, target, *options, "--format", format_)
    plain = program(*arguments, cwd=tmp_path)
    cached = [
        program(*arguments, "--cache-dir", "kept", cwd=tmp_path, env=environment(CUDACOMPAT_NO_CACHE="")) for _ in "ab"
    ]
    assert plain.returncode == 0, plain.stderr
    assert [(done.stdout, done.stderr) for done in cached] == [(plain.stdout, plain.stderr)] * 2
    assert len(list((tmp_path / "kept" / "results-1").iterdir())) == 1


def test_a_folder_that_cannot_be_used_is_a_note(target: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = program("check", target, *DRIVER, "--cache-dir", "file", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("cudacompat: results are not kept: file/results-1 cannot be made")


def test_quick_keeps_nothing(target: str, tmp_path: Path) -> None:
    program("inspect", target, "--quick", "--cache-dir", "kept", cwd=tmp_path)
    assert not (tmp_path / "kept").exists()
