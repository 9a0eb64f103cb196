"""Parts of one image that name different CUDA versions: a finding in itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cudacompat.model import Component, Evidence, ImageFacts
from cudacompat.predict.environment import last_wins
from cudacompat.predict.needs import FRAMEWORKS, cuda_key


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two statements about CUDA that cannot both describe what runs, in one sentence."""

    message: str
    evidence: tuple[Evidence, ...]


def disagreements(image: ImageFacts) -> tuple[Disagreement, ...]:
    """Base against frameworks, environment against files, package records against files."""
    base = _base(image)
    return (*_announced(image, base), *_frameworks(image, base), *_records(image))


def _base(image: ImageFacts) -> Component | None:
    """The toolkit's runtime by its best evidence: a file or package before the environment."""
    parts = [
        part
        for part in image.components
        if part.name == "cudart" and part.cuda and "site-packages" not in (part.path or "")
    ]
    parts = [part for part in parts if part.linkage != "static"]
    seen = [part for part in parts if part.found_by not in ("env", "label", "history")]
    return next(iter(seen or parts), None)


def _announced(image: ImageFacts, base: Component | None) -> Iterator[Disagreement]:
    value = last_wins(image.config.env).get("CUDA_VERSION")
    if base is None or base.cuda is None or value is None or base.found_by == "env":
        return
    if not re.match(r"\d+\.\d+", value) or cuda_key(value) == cuda_key(base.cuda):
        return
    message = f"the environment announces CUDA_VERSION={value}, the toolkit in the image is CUDA {base.cuda}"
    yield Disagreement(message, (Evidence("env", "CUDA_VERSION", value), base.evidence))


def _frameworks(image: ImageFacts, base: Component | None) -> Iterator[Disagreement]:
    """A framework of a newer major version than the base, whose gate then says nothing about it."""
    if base is None or base.cuda is None:
        return
    told = set()
    for part in image.components:
        if part.name not in FRAMEWORKS or part.cuda is None or part.name in told or part.variant == "cpu":
            continue
        told.add(part.name)
        if cuda_key(part.cuda)[0] != cuda_key(base.cuda)[0]:
            message = f"the base image is CUDA {base.cuda}, {part.name} {part.version or ''} needs CUDA {part.cuda}"
            yield Disagreement(message, (base.evidence, part.evidence))


def _records(image: ImageFacts) -> Iterator[Disagreement]:
    """A package record and a file that name one runtime differently: files were exchanged afterwards."""
    records = [part for part in image.components if part.name == "cudart" and part.found_by in ("dpkg", "rpm")]
    files = [
        part
        for part in image.components
        if part.name == "cudart" and part.found_by in ("machine-code", "file-name") and part.linkage == "dynamic"
    ]
    files = [part for part in files if (part.path or "").startswith("/usr/local/cuda")]
    versions = {cuda_key(part.cuda) for part in files if part.cuda}
    for record in records:
        if record.cuda and versions and cuda_key(record.cuda) not in versions:
            message = f"{record.found_by} records cudart of CUDA {record.cuda}, the file is CUDA {files[0].cuda}"
            yield Disagreement(message, (record.evidence, files[0].evidence))
