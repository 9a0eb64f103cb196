"""Python distributions: dist-info, egg-info, torch's version.py, TensorFlow's build_info.py."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cudacompat.evidence import names
from cudacompat.evidence.interface import Observation
from cudacompat.model import Evidence

_MIB = 1 << 20
_BLANK_LINE = re.compile(r"\n\r?\n")
_EXACT = re.compile(
    r"^Requires-Dist: *(?:nvidia-cuda-runtime(?:-cu\d+)?|cuda-toolkit)(?:\[[^\]\n]*\])?"
    r" *\(?==(\d{1,4}\.\d{1,4})(.*)$",
    re.MULTILINE | re.ASCII,
)


class DistInfo:
    """METADATA of wheels and PKG-INFO of older installs."""

    name = "pip"
    pattern = r".*/(?:[^/]+\.dist-info/METADATA|[^/]+\.egg-info(?:/PKG-INFO)?)"
    max_size = 4 * _MIB

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """The distribution as a component; a framework's CUDA version also from what it requires."""
        head = _BLANK_LINE.split(data.decode("utf-8", "replace"), maxsplit=1)[0]
        fields = dict(re.findall(r"^(Name|Version): *(\S+)", head, re.MULTILINE)[::-1])
        if "Name" not in fields or "Version" not in fields:
            return
        named = names.wheel(fields["Name"], fields["Version"])
        if named is None:
            return
        cuda = named.cuda or required_cuda(head)
        found = names.Named(named.name, named.version, cuda, named.variant)
        evidence = Evidence("package", path, f"{fields['Name']} {fields['Version']}", layer)
        yield names.component(found, "pip", evidence, path)


def required_cuda(metadata: str) -> str | None:
    """The CUDA version of an exact requirement on the runtime; ranges and optional extras are too weak."""
    for match in _EXACT.finditer(metadata):
        if re.search(r"\bextra *==", match[2]) is None:
            return match[1]
    return None


class TorchVersion:
    """torch/version.py, in the plain and in the annotated form."""

    name = "torch-version-py"
    pattern = r".*/torch/version\.py"
    max_size = _MIB

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """The build's version, its CUDA version, and whether it is a CPU build."""
        text = data.decode("utf-8", "replace")
        version = _assigned(text, "__version__")
        if version is None:
            return
        cuda = _assigned(text, "cuda")
        tag = version.partition("+")[2].split(".")[0]
        variant = tag if re.fullmatch(r"cu\d+|cpu|rocm.*|xpu", tag) else None
        if variant is None and cuda is None:
            variant = _variant(text)
        pair = re.match(r"\d+\.\d+", cuda or "")
        evidence = Evidence("file", path, f"__version__ {version}, cuda {cuda}", layer)
        found = names.Named("torch", version, pair[0] if pair else names.cuda_of_tag(tag), variant)
        yield names.component(found, self.name, evidence, path)


def _variant(text: str) -> str | None:
    """What a build without CUDA is for, where its version does not tell; None where the file does not either."""
    if _assigned(text, "hip") is not None:
        return "rocm"
    if _assigned(text, "xpu") is not None:
        return "xpu"
    return "cpu" if re.search(r"^cuda\b[^=\n]*= *None", text, re.MULTILINE) else None


def _assigned(text: str, name: str) -> str | None:
    match = re.search(rf"^{name}[ \t]*(?::[^=\n]*)?=[ \t]*['\"]([^'\"\n]{{0,200}})['\"]", text, re.MULTILINE)
    return match[1] if match else None


class TensorFlowBuild:
    """tensorflow/python/platform/build_info.py."""

    name = "tensorflow-build-info"
    pattern = r".*/tensorflow(?:_core)?/python/platform/build_info\.py"
    max_size = _MIB

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """The CUDA version it was built with, or a CPU build."""
        text = data.decode("utf-8", "replace")
        cuda = re.search(r"['\"]cuda_version['\"] *: *['\"](\d{1,4}(?:\.\d{1,4})?)[.\d]*['\"]", text)
        is_cuda = re.search(r"['\"]is_cuda_build['\"] *: *(True|False)", text)
        if cuda is None and is_cuda is None:
            return
        variant = "cpu" if is_cuda is not None and is_cuda[1] == "False" else None
        value = f"cuda_version {cuda[1] if cuda else None}, is_cuda_build {is_cuda[1] if is_cuda else None}"
        evidence = Evidence("file", path, value, layer)
        found = names.Named("tensorflow", "", cuda[1] if cuda else None, variant)
        yield names.component(found, self.name, evidence, path)
