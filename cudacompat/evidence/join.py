"""One thing seen by several detectors becomes one observation, the strongest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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
_RECORDS = ("pip", "conda")
_MOST_RECORDS = 4
_DEEPEST = 64


def _rank(part: Component) -> int:
    return _STRENGTH.index(part.found_by) if part.found_by in _STRENGTH else len(_STRENGTH)


def _place(part: Component) -> str:
    """A file's path; a package has none, and several of its versions may be installed side by side."""
    return part.path or f"{part.found_by} {part.version} {part.cuda}"


def join_components(
    found: Sequence[Component], announced: Sequence[Component], *, trusting: bool
) -> tuple[Component, ...]:
    """Parts that files and packages show, then, where the reading was partial, what is only announced.

    A complete reading makes announcements superfluous: what was removed again is not there.
    """
    groups: dict[tuple[str, str, str | None], list[Component]] = {}
    for part in found:
        groups.setdefault((part.name, _place(part), _static(part)), []).append(part)
    parts = _without_records([_joined(sorted(group, key=_rank)) for group in groups.values()])
    if trusting:
        seen = {part.name for part in parts}
        parts += _strongest([part for part in announced if part.name not in seen])
    return tuple(sorted(parts, key=_order))


def _order(part: Component) -> tuple[str, int, str, str, str]:
    """By name, strongest evidence first, and the same whatever the order of finding."""
    return part.name, _rank(part), part.path or "", part.version or "", part.cuda or ""


def _static(part: Component) -> str | None:
    """Two copies of one runtime in one binary are one; different versions there are two."""
    return part.cuda if part.linkage == "static" else None


def _without_records(parts: Sequence[Component]) -> list[Component]:
    """Files take in what the record of their wheel or conda package says; a record without its files stays."""
    records: dict[tuple[str, str, str], list[Component]] = {}
    for part in parts:
        if part.path is not None and part.found_by in _RECORDS:
            records.setdefault((part.name, part.found_by, _home(part.path)), []).append(part)
    used: set[int] = set()
    joined = []
    for part in parts:
        known = [record for record in _records_of(part, records) if _one_build(part, record)]
        used.update(map(id, known))
        joined.append(_joined([part, *known]))
    return [file for file, part in zip(joined, parts, strict=True) if id(part) not in used]


def _home(path: str) -> str:
    """The folder whose files a record speaks for: the one with its dist-info, or with its conda-meta."""
    return re.sub(r"/(?:conda-meta/[^/]*|[^/]*\.(?:dist|egg)-info(?:/[^/]*)?)\Z", "", path)


def _records_of(part: Component, records: Mapping[tuple[str, str, str], list[Component]]) -> Iterator[Component]:
    """Those of the nearest environment around a file, wheels' first."""
    if part.path is None or part.linkage == "static" or part.found_by in _RECORDS:
        return
    folders = part.path.split("/")[:_DEEPEST]
    for found_by in _RECORDS:
        for depth in range(len(folders) - 1, 0, -1):
            known = records.get((part.name, found_by, "/".join(folders[:depth])))
            if known is not None:
                yield from known[:_MOST_RECORDS]
                break


def _one_build(part: Component, record: Component) -> bool:
    """Whether a record can speak of this file. Either may know the major version only."""
    known, stated = part.cuda, record.cuda
    return known is None or stated is None or f"{known}.".startswith(f"{stated}.") or stated.startswith(f"{known}.")


def _joined(group: Sequence[Component]) -> Component:
    """The strongest, with what it does not know filled in from the others."""
    best = group[0]
    for other in group[1:]:
        cuda = best.cuda
        # A soname tells a major version; a record of the same place may tell the minor one. What a CPU build
        # requires on other machines says nothing of it.
        if other.cuda is not None and (cuda is None or ("." not in cuda and other.cuda.startswith(f"{cuda}."))):
            cuda = other.cuda if best.variant is None or cuda is not None or best.variant.startswith("cu") else None
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
