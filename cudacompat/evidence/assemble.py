"""The merged view turned into image facts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from cudacompat.evidence import config, libraries
from cudacompat.evidence.interface import Note, Observation, Value
from cudacompat.evidence.join import join_components, join_libraries
from cudacompat.evidence.ldconfig import directories
from cudacompat.layers.interface import OpenImage
from cudacompat.layers.merge import Item, Merged
from cudacompat.model import CompatDirectory, Component, Coverage, Evidence, ImageFacts, Kernels, SharedLibrary

Found = tuple[Observation, ...]

_COMPAT_ROOT = "/usr/local/cuda/compat"


def assemble(image: OpenImage, merged: Merged[Found], coverage: Coverage, machines: Mapping[str, int]) -> ImageFacts:
    """Image facts from what survived the merge and what the config tells."""
    seen = [(item, observation) for item in merged.items for observation in _placed(item)]
    shared = join_libraries([found for _, found in seen if isinstance(found, SharedLibrary)])
    shared = tuple(replace(library, names=merged.names_of(library.path)) for library in shared)
    announced = tuple(config.components(image.config))
    found = [observation for _, observation in seen if isinstance(observation, Component)]
    components = join_components(found, announced, trusting=coverage.depth == "config" or not coverage.complete)
    notes = [observation.text for _, observation in seen if isinstance(observation, Note)]
    values = {item.path: found for item, found in seen if isinstance(found, Value)}
    return ImageFacts(
        target=image.target,
        config=image.config,
        coverage=replace(coverage, notes=tuple(dict.fromkeys((*coverage.notes, *notes)))),
        available_platforms=image.available_platforms,
        components=components,
        libraries=shared,
        compat=_compat(shared, merged),
        kernels=tuple(_kernels(seen)),
        files=(*sorted(library.path for library in shared), *(p for p, v in values.items() if v.name == "ld.so.cache")),
        links=MappingProxyType({path: target for path, target in merged.links.items() if _link_matters(path)}),
        ld_so_conf=directories({path: value.text for path, value in values.items() if value.name == "ld.so.conf"}),
        os_release=MappingProxyType(_os_release(values, merged)),
        machines=MappingProxyType(dict(machines)),
        evidence=_evidence(image, components),
    )


def _placed(item: Item[Found]) -> Iterator[Observation]:
    """An item's observations at the path where they are seen: a hard link has a path of its own."""
    origin = item.origin[1]
    for found in item.payload:
        if origin != item.path and isinstance(found, (SharedLibrary, Kernels, Component)) and found.path == origin:
            yield replace(found, path=item.path)
        else:
            yield found


def _kernels(seen: list[tuple[Item[Found], Observation]]) -> Iterator[Kernels]:
    for _, found in seen:
        if isinstance(found, Kernels):
            name = libraries.component_of(found.path)
            yield replace(found, component=name, decides=found.decides and libraries.decides(found.path))


def _compat(shared: tuple[SharedLibrary, ...], merged: Merged[Found]) -> tuple[CompatDirectory, ...]:
    """Every folder with a forward compatibility libcuda; ``standard`` is the one the stack looks at."""
    standard = merged.resolve(_COMPAT_ROOT)
    found = []
    for library in shared:
        folder, _, name = library.path.rpartition("/")
        if libraries.is_compat(library.path) and re.fullmatch(r"libcuda\.so\.\d+\.[\d.]+", name):
            found.append(
                CompatDirectory(folder, library.version, library.compat_note, folder == standard, library.layer)
            )
    return tuple(sorted(found, key=lambda directory: (not directory.standard, directory.directory)))


def _link_matters(path: str) -> bool:
    """Links of the CUDA world, and folders' links near the root that a library path may lead through."""
    name = posixpath.basename(path)
    return "cuda" in path or "compat" in path or name.startswith("libn") or path.count("/") <= 3


def _os_release(values: Mapping[str, Value], merged: Merged[Found]) -> dict[str, str]:
    path = merged.resolve("/etc/os-release") or "/etc/os-release"
    value = values.get(path) or values.get("/usr/lib/os-release")
    if value is None or value.name != "os-release":
        return {}
    pairs = re.findall(
        r"^(ID|VERSION_ID|PRETTY_NAME|NAME)=(\"|'|)([^\"'\n]{0,200})\2[ \t\r]*$", value.text, re.MULTILINE
    )
    return {key: text.strip() for key, _, text in pairs}


def _evidence(image: OpenImage, components: tuple[Component, ...]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys((*config.environment(image.config), *(part.evidence for part in components))))
