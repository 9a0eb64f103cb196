"""Real runtimes installed by pip, packed into the layers of an image, and found with their exact versions."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cudacompat.evidence.collect import collect
from cudacompat.layers.interface import LayerBlob
from cudacompat.model import Component, ImageConfig, ImageFacts
from tests.support.evidence import MemoryImage
from tests.support.images import digest
from tests.support.tars import Stream
from tests.support.wheels import installed

pytestmark = pytest.mark.wheels

SITE = "/usr/lib/python3/dist-packages"
RUNTIMES = {
    "12.4.127": ("nvidia-cuda-runtime-cu12", "12.4", f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12"),
    "13.0.96": ("nvidia-cuda-runtime", "13.0", f"{SITE}/nvidia/cu13/lib/libcudart.so.13"),
}
PLATFORMS = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}
both_machines = pytest.mark.parametrize("machine", PLATFORMS)


def packed(folder: Path) -> bytes:
    """A layer with a folder's content as the site-packages of a root file system."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(folder, SITE.lstrip("/"))
    return buffer.getvalue()


class StreamedImage(MemoryImage):
    """The same image, its layers read forward as from a registry."""

    def layers(self) -> Iterator[LayerBlob]:
        for blob in super().layers():
            yield replace(blob, stream=Stream(blob.stream.read()))


def image_of(machine: str, *versions: str, kind: type[MemoryImage] = MemoryImage) -> tuple[ImageFacts, list[str]]:
    tars = [packed(installed(f"{RUNTIMES[version][0]}=={version}", machine)) for version in versions]
    return collect(kind(ImageConfig(PLATFORMS[machine]), tars)), [digest(tar) for tar in tars]


def runtimes(facts: ImageFacts) -> list[Component]:
    return [part for part in facts.components if part.name == "cudart"]


@both_machines
@pytest.mark.parametrize("version", RUNTIMES)
@pytest.mark.parametrize("kind", [MemoryImage, StreamedImage], ids=["in place", "streamed"])
def test_a_runtime_is_found_exactly(machine: str, version: str, kind: type[MemoryImage]) -> None:
    _, cuda, path = RUNTIMES[version]
    facts, layers = image_of(machine, version, kind=kind)
    (part,) = runtimes(facts)
    assert (part.version, part.cuda, part.linkage) == (version, cuda, "dynamic")
    assert (part.found_by, part.path, part.layer) == ("machine-code", path, layers[0])
    assert (part.evidence.kind, part.evidence.where) == ("elf", path)
    library = next(one for one in facts.libraries if one.path == path)
    assert (library.machine, library.soname, library.layer) == (machine, path.rpartition("/")[2], layers[0])
    assert library.size > 500_000
    assert facts.machines.keys() == {machine}
    assert facts.coverage.complete
    assert facts.coverage.notes == ()


@both_machines
def test_both_runtimes_side_by_side_stay_two(machine: str) -> None:
    facts, layers = image_of(machine, *RUNTIMES)
    found = sorted((part.version, part.cuda, part.path, part.layer, part.found_by) for part in runtimes(facts))
    assert found == [
        (version, cuda, path, layer, "machine-code")
        for (version, (_, cuda, path)), layer in zip(RUNTIMES.items(), layers, strict=True)
    ]


def test_the_record_stays_when_the_library_is_deleted_above() -> None:
    lower = packed(installed("nvidia-cuda-runtime-cu12==12.4.127"))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(f"{SITE.lstrip('/')}/nvidia/.wh.cuda_runtime"))
    facts = collect(MemoryImage(ImageConfig("linux/amd64"), [lower, buffer.getvalue()]))
    assert [(part.version, part.cuda, part.found_by) for part in runtimes(facts)] == [("12.4.127", "12.4", "pip")]
    assert facts.libraries == ()
