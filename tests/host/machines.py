"""Machines made of a root folder and programs of the test's own."""

from __future__ import annotations

from pathlib import Path

from cudacompat.host.machine import LocalMachine

HOSTS = Path(__file__).parent.parent / "data" / "hosts"


class Quiet(LocalMachine):
    """A machine without NVML: the library of the machine that tests is none of its facts."""

    __slots__ = ()

    def nvml(self) -> None:
        return None

    def architecture(self) -> str:
        return "amd64"


def machine(root: Path, *, patience: float = 10.0, **variables: str) -> LocalMachine:
    """A machine whose files and programs (in ``root``/bin) are the test's."""
    return Quiet(root, {"PATH": f"{root}/bin", **variables}, patience)


def put(root: Path, path: str, text: str) -> Path:
    """Write a file of the machine."""
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target


def program(root: Path, name: str, body: str) -> Path:
    """Install a shell script as a program. It finds the real tools on the path of its own."""
    target = put(root, f"bin/{name}", f"#!/bin/sh\nPATH=/usr/bin:/bin\n{body}\n")
    target.chmod(0o755)
    return target
