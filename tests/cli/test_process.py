"""The command as a program: real pipes, a real terminal, real signals, real images."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.images import build_image
from tests.support.schemas import validate

COMMAND = [sys.executable, "-m", "cudacompat"]
HOST = ["--driver", "535.183.01", "--gpu", "A100", "--injection", "legacy"]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUDACOMPAT_", "NO_COLOR"))}
    return {**kept, "PYTHONIOENCODING": "utf-8", "CUDACOMPAT_NO_CACHE": "1", **more}


def program(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *arguments]
    return subprocess.run(
        command,
        check=False,
        cwd=cwd,
        env=env or environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )


@pytest.fixture
def target(tmp_path: Path) -> str:
    """An image whose config asks for CUDA 13.0."""
    folder = tmp_path / "image"
    description = {
        "platform": "linux/amd64",
        "env": {"CUDA_VERSION": "13.0.0", "NVIDIA_REQUIRE_CUDA": "cuda>=13.0", "NVIDIA_VISIBLE_DEVICES": "all"},
        "layers": [{"files": {"/usr/local/cuda-13.0/lib64/libcudart.so.13.0.96": {"elf": "x86_64"}}}],
    }
    build_image(description, folder)
    return f"oci-dir:{folder}"


def test_check_of_a_real_image(target: str, tmp_path: Path) -> None:
    done = program("check", target, *HOST, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("✗ FAILS  at start: ")
    cdi = program("check", target, *HOST, "--injection", "cdi", cwd=tmp_path)
    assert (cdi.returncode, cdi.stdout[:28]) == (1, "✗ FAILS  at init, error 35: ")


def test_inspect_of_a_real_image(target: str, tmp_path: Path) -> None:
    done = program("inspect", target, "--format", "json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    validate(document, "inspect-v1")
    assert document["image"]["requirements"] == {"NVIDIA_REQUIRE_CUDA": "cuda>=13.0"}


def test_quick_reads_the_config_alone(target: str, tmp_path: Path) -> None:
    done = program("check", target, *HOST, "--quick", "--format", "json", cwd=tmp_path)
    document = json.loads(done.stdout)
    validate(document, "report-v1")
    assert document["coverage"]["depth"] == "config"
    assert document["verdict"]["outcome"] == "fails"


def test_missing_image_is_one_line(tmp_path: Path) -> None:
    done = program("check", "docker-archive:gone.tar", *HOST, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("cudacompat: error: ")
    assert done.stderr.count("\n") == 1


def test_one_unreadable_target_does_not_lose_the_others(target: str, tmp_path: Path) -> None:
    done = program("check", "docker-archive:gone.tar", target, *HOST, cwd=tmp_path)
    assert done.returncode == 4
    assert "✗ FAILS  at start" in done.stdout
    assert "gone.tar" in done.stderr


@pytest.mark.parametrize("arguments", [("explain",), ("explain", "--format", "json"), ("--help",)])
def test_reader_that_leaves_early(arguments: tuple[str, ...], tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, *arguments],
        check=False,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(),
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_full_disk_is_named(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [*COMMAND, "explain", "804"]
        done = subprocess.run(
            command, check=False, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment()
        )
    assert done.returncode == 4
    assert done.stderr == "cudacompat: error: the report cannot be written to stdout: No space left on device\n"


def test_ascii_terminals_get_ascii(target: str, tmp_path: Path) -> None:
    done = program("check", target, *HOST, cwd=tmp_path, env=environment(PYTHONIOENCODING="ascii"))
    assert done.stdout.startswith("x FAILS  at start")
    assert done.stdout.isascii()


def on_a_terminal(*arguments: str, cwd: Path, env: Mapping[str, str]) -> str:
    """What a terminal receives, stdout and stderr together."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*COMMAND, *arguments], stdout=theirs, stderr=theirs, cwd=cwd, env=env)
    os.close(theirs)
    received = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        received += data
    process.wait(timeout=60)
    os.close(ours)
    return received.decode()


def test_colour_and_progress_only_on_a_terminal_that_wants_them(target: str, tmp_path: Path) -> None:
    seen = on_a_terminal("check", target, *HOST, cwd=tmp_path, env=environment(TERM="xterm"))
    assert "\x1b[31;1m✗ FAILS" in seen
    assert f"\r\x1b[Kopening ({target}"[:60] in seen
    for refusal in ({"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}):
        assert "\x1b[31" not in on_a_terminal("check", target, *HOST, cwd=tmp_path, env=environment(**refusal))
    for option in ("--no-progress", "--quiet"):
        quiet = on_a_terminal("check", target, *HOST, option, cwd=tmp_path, env=environment(TERM="xterm"))
        assert "\x1b[K" not in quiet
    piped = program("check", target, *HOST, cwd=tmp_path)
    assert "\x1b" not in piped.stdout + piped.stderr


def test_ctrl_c_ends_with_a_word(tmp_path: Path) -> None:
    fifo = tmp_path / "host.json"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [*COMMAND, "host", "--host", str(fifo)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    # Opening succeeds once the program waits for the file's content.
    writer = os.open(fifo, os.O_WRONLY)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    os.close(writer)
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "cudacompat: error: interrupted"
