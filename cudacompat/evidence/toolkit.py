"""A toolkit's own statement of its version."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cudacompat.evidence.documents import json_object
from cudacompat.evidence.interface import Note, Observation
from cudacompat.model import Component, Evidence

_VERSION = re.compile(r"\d{1,4}\.\d{1,4}[\w.+-]{0,100}", re.ASCII)


class VersionJson:
    """/usr/local/cuda*/version.json, since CUDA 11.1."""

    name = "version-json"
    pattern = r"/usr/local/cuda[^/]*/version\.json"
    max_size = 1 << 20

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """The toolkit and the runtime it names."""
        try:
            document = json_object(data)
        except ValueError as error:
            yield Note(f"{path} was not read: {error}")
            return
        toolkit = _version(document.get("cuda"))
        for key, name in (("cuda", "cuda-toolkit"), ("cuda_cudart", "cudart")):
            version = _version(document.get(key))
            if version is not None:
                evidence = Evidence("file", path, f"{name} {version}", layer)
                yield _component(self.name, name, version, toolkit or version, evidence)


def _version(entry: object) -> str | None:
    value = entry.get("version") if isinstance(entry, dict) else None
    return value if isinstance(value, str) and _VERSION.fullmatch(value) else None


def _component(found_by: str, name: str, version: str, cuda: str, evidence: Evidence) -> Component:
    pair = re.match(r"\d+\.\d+", cuda)
    return Component(
        name,
        version,
        pair[0] if pair else None,
        found_by,
        evidence,
        path=evidence.where,
        layer=evidence.layer,
        linkage="dynamic" if name == "cudart" else None,
    )


class VersionText:
    """/usr/local/cuda*/version.txt, up to CUDA 11.0."""

    name = "version-txt"
    pattern = r"/usr/local/cuda[^/]*/version\.txt"
    max_size = 1 << 16

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """The toolkit ("CUDA Version 10.2.89")."""
        match = re.search(rb"CUDA Version (\d{1,4}\.\d{1,4}[.\d]{0,20})", data)
        if match:
            version = match[1].decode()
            evidence = Evidence("file", path, f"cuda-toolkit {version}", layer)
            yield _component(self.name, "cuda-toolkit", version, version, evidence)
