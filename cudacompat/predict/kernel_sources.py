"""Where a component's device code is known from: its binaries, or the table of framework wheels."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Literal

from cudacompat import tables
from cudacompat.model import Component, Finding, ImageFacts, Kernels, Ptx
from cudacompat.model.prediction import Confidence
from cudacompat.predict.needs import is_cuda_version, is_other_build, published_release
from cudacompat.predict.targets import describe

# Components whose kernels a program surely runs, and the libraries that these call for ordinary work.
MAIN_COMPONENTS = ("torch", "tensorflow", "jax", "onnxruntime-gpu", "cupy", "paddlepaddle-gpu", "mxnet")
# Files that carry a framework's ordinary kernels; the rest of its folder serves special cases.
_MAIN_FILES = {
    "torch": re.compile(r"libtorch_cuda(?:_cu|_cpp)?\.so"),
    "tensorflow": re.compile(r"(?:libtensorflow_(?:cc|framework)|_pywrap_tensorflow_\w+)\.so(?:\.\d+)?"),
    "onnxruntime-gpu": re.compile(r"libonnxruntime_providers_cuda\.so"),
}
_TABLED = ("torch", "tensorflow")


@dataclass(frozen=True, slots=True)
class Code:
    """A component's device code. No ``files``: it surely has some, but nobody knows which.

    ``all_needed`` says that every file must fit (the files that carry its ordinary kernels).
    """

    name: str
    title: str
    files: tuple[Kernels, ...]
    all_needed: bool
    confidence: Confidence = "high"
    grounds: str = ""

    def words(self) -> str:
        """What it has, for a sentence."""
        if not self.files:
            return "unknown"
        file = self.files[0]
        more = f" (and {len(self.files) - 1} more files)" if len(self.files) > 1 else ""
        return f"{describe(file)}{more}"


def device_code(image: ImageFacts) -> tuple[tuple[Code, ...], tuple[Finding, ...]]:
    """Every component with device code, and notes on tables that stood in or disagreed."""
    found: list[Code] = []
    notes: list[Finding] = []
    binaries = _by_component(image)
    for part in _frameworks(image):
        files = binaries.pop(part.name, ())
        tabled = _from_table(part, image)
        if files:
            found.extend(_split(part.name, _title(part), files))
            notes.extend(_difference(part, files, tabled))
        elif tabled is not None:
            found.append(tabled)
            notes.append(_table_note(tabled, image))
        else:
            found.append(Code(part.name, _title(part), (), True))
    for name, files in binaries.items():
        found.extend(_split(name, name, files))
    return tuple(found), tuple(notes)


def _by_component(image: ImageFacts) -> dict[str, tuple[Kernels, ...]]:
    groups: dict[str, list[Kernels]] = {}
    for file in image.kernels:
        if file.decides and file.origin == "binary":
            groups.setdefault(file.component or "program", []).append(file)
    return {name: tuple(files) for name, files in groups.items()}


def _frameworks(image: ImageFacts) -> list[Component]:
    """One component per framework: the best evidenced one (components come strongest first)."""
    found: dict[str, Component] = {}
    for part in image.components:
        if part.name in MAIN_COMPONENTS and not is_other_build(part):
            found.setdefault(part.name, part)
    return list(found.values())


def _title(part: Component) -> str:
    tag = f"+{part.variant}" if part.variant and part.variant not in (part.version or "") else ""
    return f"{part.name} {part.version or ''}{tag}".strip()


def _split(name: str, title: str, files: tuple[Kernels, ...]) -> list[Code]:
    """A component's code; a framework's files for special cases each count for themselves."""
    main = _main_files(name, files)
    if not main:
        return [Code(name, title, files, all_needed=False)]
    rest = [file for file in files if file not in main]
    special = [Code(f"{name} ({posixpath.basename(file.path)})", file.path, (file,), True) for file in rest]
    return [Code(name, title, main, all_needed=True), *special]


def _main_files(name: str, files: tuple[Kernels, ...]) -> tuple[Kernels, ...]:
    pattern = _MAIN_FILES.get(name)
    if pattern is None:
        return ()
    return tuple(file for file in files if pattern.fullmatch(posixpath.basename(file.path)))


def _from_table(part: Component, image: ImageFacts) -> Code | None:
    release = published_release(part.version)
    if part.name not in _TABLED or release is None:
        return None
    platform = image.target.platform or image.config.platform
    machine: Literal["amd64", "arm64"] = "arm64" if "/arm64" in platform else "amd64"
    # A wheel that does not name its CUDA version is most likely the one that pip installs by default.
    cuda = part.cuda or tables.default_cuda(part.name, release, machine).value
    if cuda is None or not is_cuda_version(cuda):
        return None
    row = tables.wheel_kernels(part.name, release, cuda, machine=machine)
    if row is None or not row.sass:
        return None
    ptx = tuple(Ptx(arch, row.ptx_isa) for arch in row.ptx or () if row.ptx_isa)
    file = Kernels(part.path or part.name, row.sass, ptx, part.name, "table", layer=part.layer)
    confidence: Confidence = "low" if row.confidence == "low" else "medium"
    return Code(part.name, _title(part), (file,), True, confidence, f"the wheel's list in the table: {row.source}")


def _table_note(code: Code, image: ImageFacts) -> Finding:
    where = "layers were not read" if image.coverage.depth == "config" else "no device code of it was found"
    message = f"{code.title}: {where}; judged by the bundled list of its wheel ({code.words()})"
    return Finding("kernels-by-table", "note", "kernel", message)


def _difference(part: Component, files: tuple[Kernels, ...], tabled: Code | None) -> list[Finding]:
    """The binary wins; a list that differs from a published wheel's hints at a custom build."""
    if tabled is None:
        return []
    main = Code(part.name, part.name, _main_files(part.name, files) or files, all_needed=True)
    have = {target.rstrip("af") for file in main.files for target in file.sass}
    listed = {target.rstrip("af") for file in tabled.files for target in file.sass}
    if listed <= have:
        return []
    message = f"{_title(part)}: its binary has {main.words()}, the published wheel {tabled.words()}"
    fix = "Nothing to do where it is your own build; the binary decides."
    return [Finding("kernels-differ-from-table", "note", "kernel", message, fix)]
