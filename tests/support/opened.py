"""What a test sees of an opened image, read to its end."""

from __future__ import annotations

from dataclasses import dataclass

from cudacompat.layers.interface import OpenImage
from cudacompat.layers.tar import open_layer


@dataclass(frozen=True, slots=True)
class Seen:
    """``files`` of each layer by its digest: path to bytes. ``order`` is the layers', lowest first."""

    image: OpenImage
    files: dict[str, dict[str, bytes]]
    order: tuple[str, ...]

    def flat(self) -> dict[str, bytes]:
        """The files of all layers, upper layers winning."""
        return {path: data for key in self.order for path, data in self.files[key].items()}


def read_all(image: OpenImage) -> Seen:
    """Every layer's files, each digest checked; the image is closed."""
    files = {}
    for blob in image.layers():
        assert blob.digest not in files, "a layer came twice"
        files[blob.digest] = {entry.path: content.read() for entry, content in open_layer(blob) if entry.kind == "file"}
    order = image.layer_order()
    image.close()
    return Seen(image, files, order)
