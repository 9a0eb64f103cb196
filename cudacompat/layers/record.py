"""What is remembered of one layer: its findings, its links, and which paths it hides in lower layers."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, TypeVar

from cudacompat.errors import TargetError
from cudacompat.layers.interface import Entry

T = TypeVar("T")

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_WHITEOUT_META = ".wh..wh."
_MAX_PATHS = 2_000_000
_MAX_TEXT = 64 << 20
_SEEN_FOLDERS = 100_000


def path_hash(path: str) -> int:
    """64 bits that stand for a path: the same in every process, so that records can be kept."""
    digest = hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


cached_hash = lru_cache(maxsize=1 << 16)(path_hash)


def parent_of(path: str) -> str:
    """The folder that an absolute path lies in; "/" for the root itself."""
    return path[: path.rfind("/")] or "/"


class PathSet:
    """Many paths at 8 bytes each. ``hashes`` is sorted and has no duplicates."""

    __slots__ = ("hashes",)

    def __init__(self, hashes: array[int]) -> None:
        self.hashes = hashes

    @classmethod
    def of(cls, hashes: array[int]) -> PathSet:
        """The set of hashes in any order, each any number of times."""
        return cls(array("Q", sorted(set(hashes)))) if len(hashes) else cls(hashes)

    def __contains__(self, value: int) -> bool:
        at = bisect_left(self.hashes, value)
        return at < len(self.hashes) and self.hashes[at] == value

    def __len__(self) -> int:
        return len(self.hashes)


def _no_paths() -> PathSet:
    return PathSet(array("Q"))


@dataclass(frozen=True, slots=True)
class LayerRecord(Generic[T]):
    """One layer as the merge needs it. Paths are absolute and normalised.

    ``items`` are the findings, by path. ``whiteouts`` are deleted paths and ``opaque`` folders whose lower
    content is hidden. ``links`` map symlinks to their targets as written, ``hardlinks`` paths to paths.
    ``files`` are all entries that are no folders, ``folders`` all folders, also those that only stand in
    another entry's path.
    """

    digest: str
    items: dict[str, T] = field(default_factory=dict)
    whiteouts: frozenset[str] = frozenset()
    opaque: frozenset[str] = frozenset()
    links: dict[str, str] = field(default_factory=dict)
    hardlinks: dict[str, str] = field(default_factory=dict)
    files: PathSet = field(default_factory=_no_paths)
    folders: PathSet = field(default_factory=_no_paths)


class LayerRecorder(Generic[T]):
    """Builds a LayerRecord during the pass over a layer: ``add`` every entry, ``keep`` what was found."""

    def __init__(self, digest: str) -> None:
        self._digest = digest
        self._items: dict[str, T] = {}
        self._links: dict[str, str] = {}
        self._hardlinks: dict[str, str] = {}
        self._whiteouts: set[str] = set()
        self._opaque: set[str] = set()
        self._files = array("Q")
        self._folders = array("Q")
        self._seen: set[int] = set()
        self._last_parent = "/"
        self._text = 0

    def add(self, entry: Entry) -> None:
        """Take note of an entry. A later entry of the same path replaces an earlier one."""
        path = entry.path
        parent = parent_of(path)
        if parent != self._last_parent:
            self._add_folders(parent)
            self._last_parent = parent
        name = path[path.rfind("/") + 1 :]
        if name.startswith(_WHITEOUT):
            self._add_whiteout(parent, name)
        elif entry.kind == "dir":
            self._forget(path)
            self._add_folders(path)
        else:
            self._add_file(entry)

    def keep(self, path: str, payload: T) -> None:
        """Remember what was found in the entry that was added last under ``path``."""
        self._items[path] = payload

    def finish(self) -> LayerRecord[T]:
        """The layer's record."""
        return LayerRecord(
            self._digest,
            self._items,
            frozenset(self._whiteouts),
            frozenset(self._opaque),
            self._links,
            self._hardlinks,
            PathSet.of(self._files),
            PathSet.of(self._folders),
        )

    def _add_file(self, entry: Entry) -> None:
        path = entry.path
        hashed = path_hash(path)
        self._forget(path)
        if hashed in self._seen:
            self._forget_below(path)
        self._files.append(hashed)
        if len(self._files) + len(self._folders) > _MAX_PATHS:
            raise TargetError(f"Layer {self._digest} has more than {_MAX_PATHS} paths.")
        if entry.target is not None:
            self._count_text(path, entry.target)
            links = self._links if entry.kind == "symlink" else self._hardlinks
            links[path] = entry.target

    def _add_folders(self, path: str) -> None:
        """A folder and the folders on the way to it, until one that is known already."""
        if len(self._seen) > _SEEN_FOLDERS:
            self._seen.clear()
        while path != "/":
            hashed = path_hash(path)
            if hashed in self._seen:
                return
            self._seen.add(hashed)
            self._folders.append(hashed)
            path = parent_of(path)

    def _add_whiteout(self, parent: str, name: str) -> None:
        if name == _OPAQUE:
            self._count_text(parent, "")
            self._opaque.add(parent)
            return
        hidden = name[len(_WHITEOUT) :]
        # The other names of this prefix are a storage driver's own bookkeeping.
        if not name.startswith(_WHITEOUT_META) and hidden not in {"", ".", ".."}:
            self._count_text(parent, hidden)
            self._whiteouts.add(f"{parent.rstrip('/')}/{hidden}")

    def _forget(self, path: str) -> None:
        self._items.pop(path, None)
        self._links.pop(path, None)
        self._hardlinks.pop(path, None)

    def _forget_below(self, path: str) -> None:
        """What the same layer has below a folder that a later entry turns into something else."""
        below = path + "/"
        found = [p for table in (self._items, self._links, self._hardlinks) for p in table if p.startswith(below)]
        for item in found:
            self._forget(item)

    def _count_text(self, path: str, target: str) -> None:
        self._text += len(path) + len(target) + 128
        if self._text > _MAX_TEXT:
            raise TargetError(f"Layer {self._digest} has too many links and deletions to be kept in memory.")
