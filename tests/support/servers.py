"""Real servers for the tests: registries and engines of their own, in a temporary folder, on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

_START_SECONDS = 60


def need(*programs: str) -> None:
    """Skip the test when a program is missing; fail it where the real parts are required."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        unavailable(f"{', '.join(missing)} is not installed")


def unavailable(reason: str) -> None:
    """Skip with the reason, or fail where CUDACOMPAT_TESTS_REQUIRE_REAL says that nothing may be skipped."""
    if os.environ.get("CUDACOMPAT_TESTS_REQUIRE_REAL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(*command: str, env: Mapping[str, str] | None = None, stdin: bytes | None = None) -> bytes:
    """A command's output; its errors become the test's."""
    done = subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **(env or {})}, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.decode(errors='replace')}"
    return done.stdout


@contextmanager
def process(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that runs until the block ends."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as server:
        try:
            yield server
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


@contextmanager
def registry(
    folder: Path,
    *,
    users: Mapping[str, str] | None = None,
    token: Mapping[str, str] | None = None,
    tls: tuple[Path, Path] | None = None,
) -> Iterator[str]:
    """A docker-registry that keeps its blobs in ``folder``; yields "127.0.0.1:port".

    ``users`` are names and passwords (Basic), ``token`` the settings of its token mode, ``tls`` a
    certificate and its key.
    """
    need("docker-registry")
    port = free_port()
    lines = ["version: 0.1", "log: {level: warn}", "storage:", f"  filesystem: {{rootdirectory: {folder}/data}}"]
    lines += ["validation: {disabled: true}", "http:", f"  addr: 127.0.0.1:{port}"]
    if tls is not None:
        lines.append(f"  tls: {{certificate: {tls[0]}, key: {tls[1]}}}")
    if users is not None:
        lines += ["auth:", f"  htpasswd: {{realm: tests, path: {_password_file(folder, users)}}}"]
    if token is not None:
        lines += ["auth:", "  token:", *(f"    {key}: {value}" for key, value in token.items())]
    config = folder / "config.yml"
    config.write_text("\n".join(lines) + "\n")
    with process(["docker-registry", "serve", str(config)], folder / "log") as server:
        wait_for_port(port, server, folder / "log")
        yield f"127.0.0.1:{port}"


def push(layout: Path, tag: str, name: str, *, user: str | None = None) -> None:
    """Push an OCI layout's image, or all images of its index, as they are; ``name`` is host/repository:tag."""
    need("skopeo")
    options = ["--quiet", "--all", "--preserve-digests", "--dest-tls-verify=false"]
    options += ["--dest-creds", user] if user is not None else []
    run("skopeo", "--insecure-policy", "copy", *options, f"oci:{layout}:{tag}", f"docker://{name}")


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody else vouches for, and its key."""
    need("openssl")
    certificate, key = folder / "registry.crt", folder / "registry.key"
    subject = ("-subj", "/CN=tests", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2")
    run(
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        *subject,
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    )
    return certificate, key


@contextmanager
def docker_engine(folder: Path) -> Iterator[str]:
    """A dockerd of its own without network; yields its socket's URL."""
    need("dockerd", "containerd")
    if os.geteuid() != 0:
        unavailable("dockerd needs root")
    address = f"unix://{folder}/docker.sock"
    command = ["dockerd", "--iptables=false", "--bridge=none", "--host", address]
    command += ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
    with process(command, folder / "log") as server:
        _wait_for_socket(folder / "docker.sock", server, folder / "log")
        yield address


@contextmanager
def podman_engine(folder: Path) -> Iterator[str]:
    """Podman's API service with storage of its own; yields its socket's URL."""
    need("podman")
    address = f"unix://{folder}/podman.sock"
    stores = ["--root", f"{folder}/data", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]
    with process(["podman", *stores, "system", "service", "--time", "0", address], folder / "log") as server:
        _wait_for_socket(folder / "podman.sock", server, folder / "log")
        yield address


def load(address: str, archive: Path) -> None:
    """Load a docker archive into an engine."""
    import docker

    client = docker.DockerClient(base_url=address)
    try:
        client.images.load(archive.read_bytes())
    finally:
        client.close()


def _password_file(folder: Path, users: Mapping[str, str]) -> Path:
    need("htpasswd")
    path = folder / "htpasswd"
    path.write_bytes(b"".join(run("htpasswd", "-Bbn", name, password) for name, password in users.items()))
    return path


def wait_for_port(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    _wait(answers, server, log)


def _wait_for_socket(path: Path, server: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(path)) == 0

    _wait(answers, server, log)


def _wait(answers: Callable[[], bool], server: subprocess.Popen[bytes], log: Path) -> None:
    """Until the server answers. A server that ends or stays silent is shown with its log."""
    for _ in range(_START_SECONDS * 20):
        if answers():
            return
        if server.poll() is not None:
            break
        time.sleep(0.05)
    unavailable(f"{server.args!r} did not start: {log.read_text(errors='replace')[-2000:]}")
