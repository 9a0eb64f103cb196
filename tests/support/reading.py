"""An opened image, read the way a check reads it."""

from __future__ import annotations

from cudacompat.layers.interface import OpenImage
from cudacompat.layers.merge import merge
from cudacompat.layers.record import LayerRecord, LayerRecorder
from cudacompat.layers.tar import open_layer


def files_of(image: OpenImage) -> dict[str, str]:
    """Every file of the merged view with its text, and every symlink with "-> " and its target."""
    records: dict[str, LayerRecord[str]] = {}
    for blob in image.layers():
        recorder: LayerRecorder[str] = LayerRecorder(blob.digest)
        for entry, content in open_layer(blob):
            recorder.add(entry)
            if entry.kind == "file":
                recorder.keep(entry.path, content.read().decode("utf-8", "replace"))
        assert blob.digest not in records
        records[blob.digest] = recorder.finish()
    merged = merge([records[digest] for digest in image.layer_order()])
    files = {item.path: item.payload for item in merged.items if "/.wh." not in item.path}
    return files | {path: f"-> {target}" for path, target in merged.links.items()}


def notes_of(image: OpenImage) -> list[str]:
    """What a full read of the image says for the coverage."""
    notes = []
    for blob in image.layers():
        walk = open_layer(blob)
        for _ in walk:
            pass
        notes += walk.notes
    return [*image.notes, *notes]
