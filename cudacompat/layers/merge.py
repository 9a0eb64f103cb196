"""The merged view of an image's layers: what a container sees, for the findings and the links alone.

The rules are those of the overlay file system as Docker, containerd and Podman fill it: each layer is
unpacked into a folder of its own, so a path is compared as it is written. A layer that writes below a
lower layer's symlink replaces the symlink by a folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from cudacompat.layers.record import LayerRecord, cached_hash, parent_of

T = TypeVar("T")

# What Linux follows before it says ELOOP, and how long a path it takes.
_MAX_LINKS = 40
_MAX_PATH = 4096
_MAX_STEPS = 5_000_000


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """A finding that a container sees: its path, what was found, and the layer it comes from.

    ``origin`` is the same for all hard links of one file.
    """

    path: str
    payload: T
    layer: str
    origin: tuple[str, str]


class Merged(Generic[T]):
    """The findings that survive, and the symlinks that lead to them.

    ``links`` map a symlink's path to its target as written. Paths are absolute.
    """

    def __init__(self, items: Iterable[Item[T]], links: Mapping[str, str]) -> None:
        self.items = tuple(items)
        self.links = links

    def resolve(self, path: str) -> str | None:
        """The path without any symlink in it, never outside the image; None for a loop.

        Only symlinks are known here: that something lies there is not promised.
        """
        return self._resolve(path)[0]

    def names_of(self, path: str) -> tuple[str, ...]:
        """The other paths whose last part is a symlink to ``path`` or another hard link of it, sorted."""
        names = set(self._symlinks_to.get(path, ()))
        names.update(self._hard_links.get(path, ()))
        return tuple(sorted(names - {path}))

    @cached_property
    def _symlinks_to(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        steps = 0
        for link in self.links:
            real, taken = self._resolve(link)
            steps += taken
            if real is not None:
                found.setdefault(real, []).append(link)
            if steps > _MAX_STEPS:
                break
        return found

    @cached_property
    def _hard_links(self) -> Mapping[str, list[str]]:
        by_origin: dict[tuple[str, str], list[str]] = {}
        for item in self.items:
            by_origin.setdefault(item.origin, []).append(item.path)
        return {path: group for group in by_origin.values() if len(group) > 1 for path in group}

    def _resolve(self, path: str) -> tuple[str | None, int]:
        """The real path and the steps it took."""
        waiting = path.split("/")[::-1]
        real = ""
        followed = steps = 0
        while waiting:
            part = waiting.pop()
            steps += 1
            if part in {"", "."}:
                continue
            if part == "..":
                real = real[: real.rfind("/")] if real else ""
                continue
            target = self.links.get(f"{real}/{part}")
            if target is None:
                real = f"{real}/{part}"
                continue
            followed += 1
            if followed > _MAX_LINKS or len(waiting) + len(target) > _MAX_PATH:
                return None, steps
            if target.startswith("/"):
                real = ""
            waiting.extend(target.split("/")[::-1])
        return real or "/", steps


def merge(records: Iterable[LayerRecord[T]]) -> Merged[T]:
    """The view of a container on ``records``, lowest layer first."""
    items: dict[str, Item[T]] = {}
    links: dict[str, str] = {}
    for record in records:
        hider = _Hider(record)
        items = {path: item for path, item in items.items() if not hider.hides(path)}
        links = {path: target for path, target in links.items() if not hider.hides(path)}
        for path, payload in record.items.items():
            items[path] = Item(path, payload, record.digest, (record.digest, path))
        links.update(record.links)
        _add_hard_links(record, items, links)
    return Merged(items.values(), links)


def _add_hard_links(record: LayerRecord[T], items: dict[str, Item[T]], links: dict[str, str]) -> None:
    """Hard links take what their target is, in the tar's order: a target may be a hard link itself."""
    for path, target in record.hardlinks.items():
        if path in record.items:
            continue
        if (found := items.get(target)) is not None:
            items[path] = Item(path, found.payload, record.digest, found.origin)
        elif target in links:
            links[path] = links[target]


class _Hider(Generic[T]):
    """Which lower paths a layer hides."""

    def __init__(self, record: LayerRecord[T]) -> None:
        self._record = record
        self._folders: dict[str, bool] = {"/": "/" in record.opaque}

    def hides(self, path: str) -> bool:
        """Whether a lower file or symlink at ``path`` is replaced, deleted, or under something that is."""
        record = self._record
        hashed = cached_hash(path)
        if hashed in record.files or hashed in record.folders or path in record.whiteouts:
            return True
        return self._hides_below(parent_of(path))

    def _hides_below(self, folder: str) -> bool:
        chain = []
        while folder not in self._folders:
            chain.append(folder)
            folder = parent_of(folder)
        hidden = self._folders[folder]
        for below in reversed(chain):
            hidden = hidden or self._removes(below)
            self._folders[below] = hidden
        return hidden

    def _removes(self, folder: str) -> bool:
        record = self._record
        return folder in record.whiteouts or folder in record.opaque or cached_hash(folder) in record.files
