"""Debian's, Alpine's and conda's package records."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cudacompat.evidence import names
from cudacompat.evidence.documents import json_object
from cudacompat.evidence.interface import Note, Observation
from cudacompat.model import Evidence

_MIB = 1 << 20
# A full desktop has some 3,000 packages, the longest paragraph some 30 kB.
_MOST_PARAGRAPHS = 100_000
_LONGEST_PARAGRAPH = 1 << 18
_LONGEST_BUILD = 200
# Packages that are there in a CPU and in a CUDA build under one name.
_BUILT_FOR_CPU = ("torch", "tensorflow", "jaxlib", "xgboost", "onnxruntime")
# States in which dpkg has unpacked a package's files.
_PRESENT = ("installed", "unpacked", "half-configured", "triggers-awaited", "triggers-pending")


@dataclass(frozen=True, slots=True)
class _Format:
    """A database of paragraphs: what finds its package names, and the fields' names."""

    found_by: str
    name: str
    version: str
    fields: re.Pattern[str]


_DEB = _Format("dpkg", "Package", "Version", re.compile(r"^(Package|Version|Status):([^\n]*)", re.MULTILINE))
_APK = _Format("apk", "P", "V", re.compile(r"^([PV]):([^\n]*)", re.MULTILINE))


class Dpkg:
    """/var/lib/dpkg/status, and status.d of distroless images."""

    name = "dpkg"
    pattern = r"/var/lib/dpkg/status(?:\.d/[^/]+)?"
    max_size = 32 * _MIB

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """One component for each CUDA package whose files are there."""
        return _packages(_DEB, path, data, layer)


class Apk:
    """Alpine's database of installed packages."""

    name = "apk"
    pattern = r"/(?:usr/)?lib/apk/db/installed"
    max_size = 32 * _MIB

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """One component for each CUDA package."""
        return _packages(_APK, path, data, layer)


def _packages(known: _Format, path: str, data: bytes, layer: str) -> Iterator[Observation]:
    for number, paragraph in enumerate(_paragraphs(data, known.name.encode() + b":")):
        if number == _MOST_PARAGRAPHS:
            yield Note(f"{path} has more than {_MOST_PARAGRAPHS} packages: the rest was not read")
            return
        fields = {field: value.strip() for field, value in known.fields.findall(paragraph)}
        name, version = fields.get(known.name), fields.get(known.version)
        present = fields.get("Status", "installed").rpartition(" ")[2] in _PRESENT
        named = names.system_package(name, version) if name and version and present else None
        if named is not None:
            yield names.component(named, known.found_by, Evidence("package", path, f"{name} {version}", layer), None)


def _paragraphs(data: bytes, marker: bytes) -> Iterator[str]:
    """The paragraphs of a database that have a line beginning with ``marker``.

    Jumps from one to the next: blank lines by the million, or one paragraph without an end, cost no more
    than reading them once.
    """
    line = b"\n" + marker
    at = 0 if data.startswith(marker) else data.find(line)
    end = 0
    while at >= 0:
        lowest = max(end, at - _LONGEST_PARAGRAPH)
        start = max(lowest, data.rfind(b"\n\n", lowest, at + 1))
        end = data.find(b"\n\n", at + 1, at + _LONGEST_PARAGRAPH)
        end = end if end >= 0 else min(at + _LONGEST_PARAGRAPH, len(data))
        yield data[start:end].decode("utf-8", "replace")
        at = data.find(line, end)


class Conda:
    """conda-meta/*.json of every environment in the image."""

    name = "conda"
    pattern = r".*/conda-meta/[^/]+\.json"
    max_size = 8 * _MIB

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """One component for a CUDA package; the prefix of the environment is part of its path.

        The file's name is name-version-build: of hundreds of records only those of interest are taken apart.
        """
        if names.wheel(posixpath.basename(path).rsplit("-", 2)[0], "") is None:
            return
        try:
            record = json_object(data)
        except ValueError as error:
            yield Note(f"{path} was not read: {error}")
            return
        name, version = record.get("name"), record.get("version")
        if not isinstance(name, str) or not isinstance(version, str):
            return
        named = names.wheel(name, version)
        if named is None:
            return
        build = record.get("build")
        build = build[:_LONGEST_BUILD] if isinstance(build, str) else ""
        cuda = named.cuda or _cuda_of_build(name, version, build)
        variant = "cpu" if re.search(r"(?:^|_)cpu", build) and named.name in _BUILT_FOR_CPU else named.variant
        evidence = Evidence("package", path, f"{name} {version} {build}".strip(), layer)
        found = names.Named(named.name, version, cuda, variant)
        yield names.component(found, "conda", evidence, path)


def _cuda_of_build(name: str, version: str, build: str) -> str | None:
    """conda writes the CUDA version into some packages' own version, and into torch's build string."""
    if name in ("cudatoolkit", "cuda-version", "pytorch-cuda", "cuda-cudart"):
        return ".".join(version.split(".")[:2])
    match = re.search(r"cuda_?(\d+)\.?(\d)?", build)
    if match is None:
        return None
    return f"{match[1]}.{match[2]}" if match[2] else names.cuda_of_tag(f"cu{match[1]}")
