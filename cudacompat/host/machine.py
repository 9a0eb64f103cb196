"""The machine that is asked: what programs print there and what its files say."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from cudacompat.errors import HostError

# A GPU in trouble can make nvidia-smi and NVML hang for ever.
PATIENCE_SECONDS = 10.0
LONGEST_FILE = 4 << 20
_MOST_NAMES = 4096
# Tools that lie beside the driver or come with the GPU Operator, and not always on the path.
_MORE_PLACES = ("usr/lib/wsl/lib", "usr/local/nvidia/toolkit", "usr/local/nvidia/bin", "opt/bin")
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed and how it ended."""

    code: int
    out: str
    err: str = ""

    @property
    def words(self) -> str:
        """Everything it printed in one line, cut to what a sentence can hold."""
        return " ".join(f"{self.out} {self.err}".split())[:300]


class Machine(Protocol):
    """Where facts are learned. A question that has no answer is None; what should have one and has not raises."""

    @property
    def name(self) -> str:
        """What sentences call it: "this machine", "ssh://node"."""

    def text(self, path: str) -> str | None:
        """A file's text, None where there is none. Raises HostError when it is there and cannot be read."""

    def names(self, folder: str) -> tuple[str, ...] | None:
        """The names in a folder, sorted; None where there is no such folder. Raises HostError."""

    def exists(self, path: str) -> bool:
        """Whether something has this path."""

    def which(self, program: str) -> str | None:
        """Where a program is, None where it is not installed."""

    def ask(self, program: str, *arguments: str) -> Answer | None:
        """What a program answers, None where it is not installed. Raises HostError when it hangs or cannot run."""

    def nvml(self) -> Answer | None:
        """What ``nvml_query`` prints there, None where it cannot be run. Raises HostError."""

    def variable(self, name: str) -> str | None:
        """An environment variable."""

    def architecture(self) -> str | None:
        """The CPU architecture in OCI's words, None for those without NVIDIA drivers."""


@dataclass(frozen=True, slots=True)
class LocalMachine:
    """This machine. ``root`` is laid before every path, ``environment`` names the path that programs lie on."""

    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    patience: float = PATIENCE_SECONDS
    name: str = "this machine"

    def text(self, path: str) -> str | None:
        """A file's text."""
        try:
            with self._at(path).open("rb") as file:
                return file.read(LONGEST_FILE).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise HostError(f"{path} cannot be read: {error.strerror or error}") from error

    def names(self, folder: str) -> tuple[str, ...] | None:
        """The names in a folder."""
        try:
            return tuple(sorted(entry.name for entry in self._at(folder).iterdir())[:_MOST_NAMES])
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise HostError(f"the folder {folder} cannot be read: {error.strerror or error}") from error

    def exists(self, path: str) -> bool:
        """Whether something has this path."""
        return os.path.lexists(self._at(path))

    def which(self, program: str) -> str | None:
        """Where a program is."""
        places = [self.environment.get("PATH") or os.defpath, *(str(self._at(place)) for place in _MORE_PLACES)]
        return shutil.which(program, path=os.pathsep.join(places))

    def ask(self, program: str, *arguments: str) -> Answer | None:
        """What a program answers."""
        found = self.which(program)
        return None if found is None else self._run(program, [found, *arguments])

    def nvml(self) -> Answer | None:
        """What ``nvml_query`` prints: in a process of its own, since a sick driver can hang or end its caller."""
        query = Path(__file__).with_name("nvml_query.py")
        return self._run("NVML", [sys.executable, str(query)]) if sys.executable and query.is_file() else None

    def variable(self, name: str) -> str | None:
        """An environment variable."""
        return self.environment.get(name)

    def architecture(self) -> str | None:
        """The CPU architecture."""
        return oci_architecture(platform.machine())

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _run(self, name: str, command: Sequence[str]) -> Answer:
        from cudacompat.host.process import run

        return run(name, command, seconds=self.patience, environment={**self.environment, "LC_ALL": "C"})


def oci_architecture(text: str) -> str | None:
    """What ``uname -m`` prints, in OCI's words."""
    return _MACHINES.get(text.strip().lower())
