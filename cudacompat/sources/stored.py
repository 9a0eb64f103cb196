"""An image whose blobs lie in a store on disk: what archives and layouts have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cudacompat.errors import TargetError
from cudacompat.layers.interface import LayerBlob, OpenImage
from cudacompat.model import ImageConfig, Target
from cudacompat.sources.stores import Store


@dataclass(frozen=True, slots=True)
class StoredLayer:
    """A layer of a stored image: ``name`` is where the store has it; the rest as LayerBlob says it."""

    name: str
    digest: str
    media_type: str = ""
    size: int | None = None
    content_digest: str | None = None
    diff_id: str | None = None


class StoredImage(OpenImage):
    """An image of a store. Layers that the store lacks are in ``layer_order`` but never delivered."""

    def __init__(
        self,
        store: Store,
        target: Target,
        config: ImageConfig,
        layers: Sequence[StoredLayer],
        *,
        available_platforms: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> None:
        self.target = target
        self.config = config
        self.available_platforms = available_platforms or (config.platform,)
        self.notes = notes
        self._store = store
        self._layers = layers

    def layers(self) -> Iterator[LayerBlob]:
        """Every layer once, in the store's order; the same layer listed twice is one."""
        by_name: dict[str, StoredLayer] = {}
        digests: set[str] = set()
        for layer in self._layers:
            name = self._store.locate(layer.name)
            if name is not None and layer.digest not in digests:
                digests.add(layer.digest)
                by_name.setdefault(name, layer)
        for name, stream, size in self._store.streams(by_name):
            layer = by_name[name]
            yield LayerBlob(
                layer.digest, layer.media_type, layer.size or size, stream, layer.content_digest, layer.diff_id
            )

    def layer_order(self) -> tuple[str, ...]:
        """The digests of all layers, lowest first."""
        return tuple(layer.digest for layer in self._layers)

    def close(self) -> None:
        """Close the store."""
        self._store.close()


def split_reference(text: str) -> tuple[str, str | None]:
    """A path and the image named behind it: "app.tar:name:tag" is app.tar and name:tag.

    The longest part that exists counts as the path. Raises TargetError when none does.
    """
    cut = len(text)
    while cut > 0:
        if Path(text[:cut]).exists():
            return text[:cut], text[cut + 1 :] or None
        cut = text.rfind(":", 0, cut)
    raise TargetError(f"{text} does not exist.")
