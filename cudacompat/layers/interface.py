"""What sources hand on and what detectors receive: an opened image, its layers, their entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal

from cudacompat.model import ImageConfig, Target

EntryKind = Literal["file", "dir", "symlink", "hardlink", "other"]


@dataclass(frozen=True, slots=True)
class LayerBlob:
    """One layer's bytes as the source stores them.

    ``digest`` names the layer in reports. ``content_digest`` is what the raw bytes of ``stream`` must hash
    to and ``diff_id`` what the uncompressed tar must hash to; either may be None where the source's
    format states none. ``stream`` is read forward; where ``stream.seekable()`` is true a reader may jump
    over payloads instead. It stays valid until the next blob is asked for. ``entries`` stands in for the
    stream where a source has files instead of a tar. ``on_demand`` tells that nothing is fetched before the
    stream is read, and that ``content_digest``, vouched for by the source, is what it is asked for by.
    """

    digest: str
    media_type: str
    size: int | None
    stream: BinaryIO
    content_digest: str | None = None
    diff_id: str | None = None
    entries: Iterator[tuple[Entry, Content]] | None = None
    on_demand: bool = False


class OpenImage(ABC):
    """An image that a source has found: its config at once, its layers when asked for.

    ``available_platforms`` is what the index offered; ``notes`` are sentences for the coverage (foreign
    layers that were left out, digests that could not be checked). ``identity`` names the image's content for
    good, in the source's own terms; None where the same name may hold something else tomorrow.
    """

    target: Target
    config: ImageConfig
    available_platforms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    identity: str | None = None

    @abstractmethod
    def layers(self) -> Iterator[LayerBlob]:
        """Every readable layer once, in whatever order the source delivers them. Raises TargetError."""

    @abstractmethod
    def layer_order(self) -> tuple[str, ...]:
        """``LayerBlob.digest`` of all layers, lowest first; final once ``layers()`` is exhausted."""

    def close(self) -> None:  # noqa: B027 -- most sources hold nothing open
        """Release connections and files. Calling it twice is harmless."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One tar entry. ``path`` is absolute and normalised ("/usr/lib/x"): it never leaves the root.

    ``target`` is a symlink's target as written, or a hard link's normalised absolute path.
    """

    path: str
    kind: EntryKind
    size: int = 0
    target: str | None = None


class Content(ABC):
    """The bytes of one file entry, readable until the walk moves on to the next entry.

    ``size`` counts bytes. ``seekable`` tells whether ``read_at`` works.
    """

    size: int
    seekable: bool

    @abstractmethod
    def read(self, limit: int = -1) -> bytes:
        """The next bytes, at most ``limit``; empty at the end. Raises TargetError when truncated."""

    @abstractmethod
    def chunks(self) -> Iterator[bytes | memoryview]:
        """The remaining bytes in whatever pieces come cheapest; empty pieces never."""

    @abstractmethod
    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes at an offset from the file's start, without moving ``read``; short at the end of file."""
