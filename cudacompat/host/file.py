"""``--host FILE``: a file in any of the forms that people save a host's facts in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cudacompat.errors import HostError
from cudacompat.host import host_json, jetson, proc, smi_csv, smi_list, smi_text, smi_xml
from cudacompat.host.options import with_driver_cuda
from cudacompat.model import HostFacts

_LONGEST = 16 << 20


@dataclass(frozen=True, slots=True)
class Format:
    """A form: how to recognise its text, and how to read it."""

    matches: Callable[[str], bool]
    parse: Callable[[str, str], HostFacts]


FORMATS: tuple[Format, ...] = (
    Format(host_json.matches, host_json.parse),
    Format(smi_xml.matches, smi_xml.parse),
    Format(proc.matches, proc.parse),
    Format(jetson.matches, jetson.parse_release),
    Format(smi_list.matches, smi_list.parse),
    Format(smi_csv.matches, smi_csv.parse),
    Format(smi_text.matches, smi_text.parse),
)


def read_host_file(path: str | Path) -> HostFacts:
    """Host facts from a file. Raises HostError naming the file and what was expected.

    Known forms: the JSON of ``cudacompat host``, and the output of ``nvidia-smi -q -x``, of
    ``nvidia-smi --query-gpu=driver_version,name,compute_cap --format=csv``, of plain ``nvidia-smi`` and of
    ``nvidia-smi -L``, /proc/driver/nvidia/version, and a Jetson's /etc/nv_tegra_release.
    """
    text = _text(_bytes(Path(path)), str(path))
    for known in FORMATS:
        if known.matches(text):
            return with_driver_cuda(known.parse(text, str(path)))
    raise HostError(
        f"the host file {path} has no known form: expected the JSON of 'cudacompat host --format json', or the "
        "output of 'nvidia-smi -q -x', or CSV of 'nvidia-smi --query-gpu=driver_version,name --format=csv' with "
        "its heading"
    )


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
    except OSError as error:
        raise HostError(f"the host file {path} cannot be read: {error.strerror or error}") from error
    if len(data) > _LONGEST:
        raise HostError(f"the host file {path} is longer than {_LONGEST >> 20} MiB: it is none")
    return data


def _text(data: bytes, where: str) -> str:
    """The text in the encodings that shells write: UTF-8, or UTF-16 from PowerShell's redirection."""
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HostError(f"the host file {where} is not text") from error
