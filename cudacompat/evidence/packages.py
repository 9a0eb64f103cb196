"""Debian's, Alpine's and conda's package records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from cudacompat.evidence import names
from cudacompat.evidence.interface import Note, Observation
from cudacompat.model import Component, Evidence

_MIB = 1 << 20


def _component(found_by: str, name: str, version: str, path: str, layer: str) -> Iterator[Component]:
    named = names.system_package(name, version)
    if named is not None:
        evidence = Evidence("package", path, f"{name} {version}", layer)
        yield names.component(named, found_by, evidence, None)


class Dpkg:
    """/var/lib/dpkg/status, and status.d of distroless images."""

    name = "dpkg"
    pattern = r"/var/lib/dpkg/status(?:\.d/[^/]+)?"
    max_size = 64 * _MIB

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """One component for each CUDA package that is installed."""
        for stanza in data.decode("utf-8", "replace").split("\n\n"):
            fields = dict(re.findall(r"^(Package|Version|Status): *(.*?) *$", stanza, re.MULTILINE))
            installed = fields.get("Status", "install ok installed").endswith(" installed")
            if installed and "Package" in fields and "Version" in fields:
                yield from _component("dpkg", fields["Package"], fields["Version"], path, layer)


class Apk:
    """Alpine's database of installed packages."""

    name = "apk"
    pattern = r"/(?:usr/)?lib/apk/db/installed"
    max_size = 64 * _MIB

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """One component for each CUDA package."""
        for stanza in data.decode("utf-8", "replace").split("\n\n"):
            fields = dict(re.findall(r"^([PV]):(.*)$", stanza, re.MULTILINE))
            if "P" in fields and "V" in fields:
                yield from _component("apk", fields["P"], fields["V"], path, layer)


class Conda:
    """conda-meta/*.json of every environment in the image."""

    name = "conda"
    pattern = r".*/conda-meta/[^/]+\.json"
    max_size = 16 * _MIB

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """One component for a CUDA package; the prefix of the environment is part of its path."""
        try:
            record = json.loads(data)
        except (ValueError, RecursionError):
            yield Note(f"{path} is no JSON and was not read")
            return
        if not isinstance(record, dict):
            return
        name, version = record.get("name"), record.get("version")
        if not isinstance(name, str) or not isinstance(version, str):
            return
        named = names.wheel(name, version)
        if named is None:
            return
        build = str(record.get("build", ""))
        cuda = named.cuda or _cuda_of_build(name, version, build)
        variant = "cpu" if re.search(r"(?:^|_)cpu", build) and named.name == "torch" else named.variant
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
