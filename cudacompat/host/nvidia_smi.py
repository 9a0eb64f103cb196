"""Asking nvidia-smi on this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from cudacompat.errors import HostError
from cudacompat.host import smi_xml
from cudacompat.model import HostFacts

# A GPU in trouble can make nvidia-smi hang for ever.
_SECONDS = 20
# Under WSL the tool lies beside the driver's libraries and not always on the path.
_WSL_PATH = Path("/usr/lib/wsl/lib/nvidia-smi")


def ask(program: str | None = None) -> HostFacts | None:
    """This machine's facts by nvidia-smi, None where it is not installed.

    Raises HostError when it is there but fails: its own words say why.
    """
    found = program or shutil.which("nvidia-smi") or (str(_WSL_PATH) if _WSL_PATH.exists() else None)
    if found is None:
        return None
    return smi_xml.parse(_output(found), "nvidia-smi")


def _output(program: str) -> str:
    try:
        done = subprocess.run(
            [program, "-q", "-x"], capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise HostError(f"nvidia-smi did not answer within {_SECONDS} seconds: a GPU may hang") from error
    except OSError as error:
        raise HostError(f"nvidia-smi cannot be run: {error.strerror or error}") from error
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0 and not smi_xml.matches(text):
        words = (text + done.stderr.decode("utf-8", "replace")).split()
        raise HostError(f"nvidia-smi failed ({done.returncode}): {' '.join(words)[:300]}")
    return text
