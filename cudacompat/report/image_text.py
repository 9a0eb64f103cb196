"""What is in an image, for a person."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from cudacompat.model import CompatDirectory, Component, ImageFacts, Kernels, Tool
from cudacompat.report.document import requirements
from cudacompat.report.style import Style

_GROUPS = (
    ("Frameworks", frozenset({"torch", "tensorflow", "jax", "jaxlib", "onnxruntime-gpu", "cupy", "paddlepaddle-gpu"})),
    ("CUDA runtime and toolkit", frozenset({"cudart", "cuda", "cuda-toolkit", "nvcc", "nvrtc"})),
    ("Driver libraries", frozenset({"libcuda-compat", "driver", "libcuda", "stub"})),
)
_OTHERS = "Libraries"
_NAME_COLUMN, _VERSION_COLUMN, _CUDA_COLUMN = 20, 22, 11
_MOST_KERNELS = 40
# NVIDIA's formulas list some sixty alternatives.
_LONGEST_FORMULA, _LONGEST_VALUE = 200, 20_000


def render_image(image: ImageFacts, tool: Tool, style: Style) -> str:
    """The whole inspection."""
    target = image.target
    digest = f", {target.digest}" if target.digest else ""
    lines = style.wrap(f"{target.reference} ({target.platform or 'no platform'}, {target.source}{digest})", rest="  ")
    if not style.quiet:
        lines += _components(image.components, style)
        lines += _requirements(image, style)
        lines += _compat(image.compat, style)
        lines += _kernels(image.kernels, style)
    lines.append("")
    foot = [*coverage_lines(image, notes=True), f"{tool.name} {tool.version}, tables of {tool.data_edition}"]
    lines += [style.paint(line, "dim") for part in foot for line in style.wrap(part, rest="  ")]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _components(components: Sequence[Component], style: Style) -> list[str]:
    if not components:
        return ["", "No CUDA component was found."]
    lines = []
    for title, parts in _grouped(components):
        lines += style.title(title)
        for part in parts:
            lines += _component(part, style)
    return lines


def _grouped(components: Sequence[Component]) -> Iterator[tuple[str, list[Component]]]:
    left = list(components)
    for title, names in _GROUPS:
        members = [part for part in left if part.name in names]
        left = [part for part in left if part.name not in names]
        if members:
            yield title, members
    if left:
        yield _OTHERS, left


def _component(part: Component, style: Style) -> list[str]:
    cuda = f"CUDA {part.cuda}" if part.cuda else (part.variant or "")
    static = "linked statically, " if part.linkage == "static" else ""
    first = "  " + "".join(
        f"{style.clean(text, 60):<{width}} "
        for text, width in (
            (part.name, _NAME_COLUMN),
            (part.version or "?", _VERSION_COLUMN),
            (cuda, _CUDA_COLUMN),
        )
    )
    where = part.path or part.evidence.where
    indent = " " * (3 + _NAME_COLUMN)
    return style.wrap(f"{static}{part.found_by} {where}", first=first, rest=indent, limit=300)


def _requirements(image: ImageFacts, style: Style) -> list[str]:
    found = requirements(image)
    if not found:
        return []
    lines = style.title("Requirements")
    for name, value in found.items():
        text = value if style.verbose else _shortened(value)
        lines += style.wrap(f"{name}={text}", first="  ", rest="    ", limit=_LONGEST_VALUE)
    return lines


def _shortened(formula: str) -> str:
    """A formula's first alternatives, and how many there are."""
    if len(formula) <= _LONGEST_FORMULA:
        return formula
    whole = formula[:_LONGEST_FORMULA].rpartition(" ")[0]
    return f"{whole} ... ({len(formula.split())} alternatives; --verbose shows all)"


def _compat(directories: Sequence[CompatDirectory], style: Style) -> list[str]:
    if not directories:
        return []
    lines = style.title("Forward compatibility libraries")
    for item in directories:
        where = "" if item.standard else ", not where NVIDIA's stack looks"
        note = ", with an ELF note" if item.note else ""
        lines += style.wrap(f"{item.directory}: libcuda {item.libcuda or '?'}{note}{where}", first="  ", rest="    ")
    return lines


def _kernels(items: Sequence[Kernels], style: Style) -> list[str]:
    if not items:
        return []
    lines = style.title("Kernels")
    for item in items[:_MOST_KERNELS]:
        origin = " (published list)" if item.origin == "table" else ""
        name = item.component or posixpath.basename(item.path)
        lines += style.wrap(f"{name}: {device_code(item)}{origin}", first="  ", rest="    ")
        if item.component or style.verbose:
            lines += [style.paint(line, "dim") for line in style.wrap(item.path, first="    ", limit=300)]
    if len(items) > _MOST_KERNELS:
        lines.append(f"  and {len(items) - _MOST_KERNELS} more files: --format json lists them all")
    return lines


def device_code(item: Kernels) -> str:
    """Targets in short: "sm_75 80 86 90a + PTX 12.0 (ISA 9.0)"."""
    parts = []
    if item.sass:
        parts.append("sm_" + " ".join(item.sass))
    if item.ptx:
        parts.append("PTX " + ", ".join(f"{_dotted(ptx.arch)} (ISA {ptx.isa})" for ptx in item.ptx))
    return " + ".join(parts) or "none"


def _dotted(arch: str) -> str:
    """A PTX target as a compute capability: "120a" is 12.0a."""
    digits = arch.rstrip("abcdefghijklmnopqrstuvwxyz")
    return f"{digits[:-1]}.{digits[-1]}{arch[len(digits) :]}" if len(digits) > 1 else arch


def coverage_lines(image: ImageFacts, *, notes: bool) -> Iterable[str]:
    """How much was read, as sentences."""
    coverage = image.coverage
    if coverage.depth == "config":
        yield "read: manifest and config only (--quick)"
    else:
        ending = "" if coverage.complete else ", not everything in them"
        yield f"read: {coverage.layers_read} of {coverage.layers} layers{ending}"
    if notes:
        yield from (f"not read: {note}" for note in coverage.notes)
