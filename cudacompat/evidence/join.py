"""One thing seen by several detectors becomes one observation, the strongest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from cudacompat.model import Component, SharedLibrary

# What stands first says more about what really runs.
_STRENGTH = (
    "machine-code",
    "torch-version-py",
    "tensorflow-build-info",
    "file-name",
    "pip",
    "conda",
    "dpkg",
    "rpm",
    "apk",
    "version-json",
    "version-txt",
    "env",
    "label",
    "history",
)
_ANNOUNCED = ("env", "label", "history")
_IN_FILES = ("torch", "tensorflow")


def _rank(part: Component) -> int:
    return _STRENGTH.index(part.found_by) if part.found_by in _STRENGTH else len(_STRENGTH)


def _place(part: Component) -> str:
    """Where a part lives: frameworks and wheels' runtimes by their site-packages folder, others by path.

    Runtimes of two major versions may lie side by side there and stay two.
    """
    path = part.path or part.found_by
    site = re.match(r"(.*/(?:site|dist)-packages)/", path)
    if site is None or part.linkage == "static":
        return path
    if part.name == "cudart":
        return f"{site[1]} {(part.cuda or '').partition('.')[0]}"
    return site[1] if part.name in _IN_FILES else path


def join_components(
    found: Sequence[Component], announced: Sequence[Component], *, trusting: bool
) -> tuple[Component, ...]:
    """Parts that files and packages show, then, where the reading was partial, what is only announced.

    A complete reading makes announcements superfluous: what was removed again is not there.
    """
    groups: dict[tuple[str, str, str | None], list[Component]] = {}
    for part in found:
        groups.setdefault((part.name, _place(part), _static(part)), []).append(part)
    parts = [_joined(sorted(group, key=_rank)) for group in groups.values()]
    if trusting:
        seen = {part.name for part in parts}
        parts += _strongest([part for part in announced if part.name not in seen])
    return tuple(sorted(parts, key=lambda part: (part.name, _rank(part), part.path or "")))


def _static(part: Component) -> str | None:
    """Two copies of one runtime in one binary are one; different versions there are two."""
    return part.cuda if part.linkage == "static" else None


def _joined(group: Sequence[Component]) -> Component:
    """The strongest, with what it does not know filled in from the others."""
    best = group[0]
    for other in group[1:]:
        cuda = best.cuda
        # A soname tells a major version; a record of the same place may tell the minor one.
        if other.cuda is not None and (cuda is None or ("." not in cuda and other.cuda.startswith(f"{cuda}."))):
            cuda = other.cuda
        best = replace(best, version=best.version or other.version, cuda=cuda, variant=best.variant or other.variant)
    return best


def _strongest(announced: Sequence[Component]) -> list[Component]:
    """Of several announcements of one part the strongest, and the latest among equals."""
    best: dict[str, Component] = {}
    for part in announced:
        kept = best.get(part.name)
        if kept is None or _rank(part) <= _rank(kept):
            best[part.name] = part
    return list(best.values())


def join_libraries(found: Sequence[SharedLibrary]) -> tuple[SharedLibrary, ...]:
    """One record for each path: the one that read the file, with version and size from the name."""
    joined: dict[str, SharedLibrary] = {}
    for library in found:
        known = joined.get(library.path)
        joined[library.path] = library if known is None else _richer(known, library)
    return tuple(joined[path] for path in sorted(joined))


def _richer(one: SharedLibrary, other: SharedLibrary) -> SharedLibrary:
    full, plain = (one, other) if one.machine is not None else (other, one)
    return replace(
        full,
        version=full.version or plain.version,
        size=max(full.size, plain.size),
        soname=full.soname or plain.soname,
        compat_note=full.compat_note or plain.compat_note,
    )
