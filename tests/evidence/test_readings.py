"""Layers' readings kept between runs: the same facts, and never those of other bytes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudacompat
from cudacompat.errors import TargetError
from cudacompat.evidence import readings
from cudacompat.evidence.collect import collect
from cudacompat.evidence.readings import decode, decode_order, encode, encode_order
from cudacompat.layers.interface import LayerBlob
from cudacompat.sources import open_image
from cudacompat.sources.engine import EngineImage
from tests.support import servers
from tests.support.images import Compression, Format, as_json, blob_path, build_image, digest

CASES = sorted((Path(__file__).parent.parent / "data" / "field").glob("*.json"))
LAYERS: dict[str, Any] = {
    "platform": "linux/amd64",
    "env": {"NVIDIA_VISIBLE_DEVICES": "all"},
    "layers": [
        {
            "files": {
                "/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127": {"elf": "x86_64"},
                "/usr/local/cuda": {"symlink": "cuda-12.4"},
                "/opt/dropped/libcudart.so.11.8.89": {"elf": "x86_64"},
            }
        },
        {"files": {"/opt/n\udce9": "x", "/etc/os-release": "ID=ubuntu\n"}, "whiteouts": ["/opt/dropped"]},
    ],
}


class Shelf:
    """Results in memory, with a count of what was asked for in vain."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.missed = 0

    def get(self, key: str) -> bytes | None:
        found = self.held.get(key)
        self.missed += found is None
        return found

    def put(self, key: str, data: bytes) -> None:
        self.held[key] = data


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_the_facts_are_the_same_with_and_without(path: Path, tmp_path: Path) -> None:
    target = f"oci-dir:{build_image(json.loads(path.read_text())['image'], tmp_path / 'image')}"
    plain = cudacompat.inspect(target)
    first = cudacompat.inspect(target, cache_dir=tmp_path / "cache")
    second = cudacompat.inspect(target, cache_dir=tmp_path / "cache")
    assert first == plain and second == plain
    assert repr(second) == repr(plain)


@pytest.mark.parametrize(
    ("form", "compression", "kept"),
    [
        ("oci", "gzip", 2),
        ("oci", "zstd", 2),
        ("oci-archive", "gzip", 2),
        ("docker-archive-blobs", "gzip", 2),
        # A pass over these is cheaper than their digests.
        ("docker-archive", "none", 0),
        ("oci", "none", 0),
        ("rootfs", "none", 0),
    ],
)
def test_which_layers_are_kept(tmp_path: Path, form: Format, compression: Compression, kept: int) -> None:
    target = str(build_image(LAYERS, tmp_path / "image", format=form, compression=compression))
    shelf = Shelf()
    first = collect(open_image(target), shelf=shelf)
    assert len(shelf.held) == kept
    shelf.missed = 0
    assert collect(open_image(target), shelf=shelf) == first
    assert shelf.missed == 0 or not kept


def test_other_bytes_under_a_kept_digest_are_refused(tmp_path: Path) -> None:
    folder = build_image(LAYERS, tmp_path / "image", compression="gzip")
    shelf = Shelf()
    collect(open_image(str(folder)), shelf=shelf)
    blob = max((folder / "blobs" / "sha256").iterdir(), key=lambda path: path.read_bytes()[:2] == b"\x1f\x8b")
    blob.write_bytes(gzip.compress(gzip.decompress(blob.read_bytes()), 1, mtime=7))
    with pytest.raises(TargetError, match=r"does not match its digest|were stated"):
        collect(open_image(str(folder)), shelf=shelf)


def test_a_layer_that_does_not_match_is_never_kept(tmp_path: Path) -> None:
    folder = build_image(LAYERS, tmp_path / "image", compression="gzip")
    for blob in (folder / "blobs" / "sha256").iterdir():
        if blob.read_bytes()[:2] == b"\x1f\x8b":
            blob.write_bytes(gzip.compress(gzip.decompress(blob.read_bytes()), 1, mtime=7))
    shelf = Shelf()
    with pytest.raises(TargetError):
        collect(open_image(str(folder)), shelf=shelf)
    assert shelf.held == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [("mediaType", "application/vnd.oci.image.layer.v1.tar"), ("size", 7)],
)
def test_what_a_manifest_says_of_a_kept_layer_counts_anew(tmp_path: Path, field: str, value: object) -> None:
    """A second image with the same layer, of which its manifest says something else: the same answer with and without."""
    told = {}
    for name in ("plain", "other"):
        folder = build_image(LAYERS, tmp_path / name, compression="gzip")
        if name == "other":
            restated(folder, field, value)
        told[name] = str(folder)
    shelf = Shelf()
    collect(open_image(told["plain"]), shelf=shelf)
    assert said(told["other"], shelf) == said(told["other"], None)
    assert said(told["other"], None) != said(told["plain"], None)


def restated(folder: Path, field: str, value: object) -> None:
    """Let a layout's manifest say something else of its layers."""
    index = json.loads((folder / "index.json").read_text())
    manifest = json.loads((folder / blob_path(index["manifests"][0]["digest"])).read_text())
    for layer in manifest["layers"]:
        layer[field] = value
    raw = as_json(manifest)
    (folder / blob_path(digest(raw))).write_bytes(raw)
    index["manifests"][0] |= {"digest": digest(raw), "size": len(raw)}
    (folder / "index.json").write_bytes(as_json(index))


def said(target: str, shelf: Shelf | None) -> object:
    try:
        return collect(open_image(target), shelf=shelf).coverage
    except TargetError as error:
        return str(error)


def test_code_that_reads_otherwise_reads_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = str(build_image(LAYERS, tmp_path / "image", compression="gzip"))
    shelf = Shelf()
    collect(open_image(target), shelf=shelf)
    monkeypatch.setattr(readings, "edition", lambda: "another")
    shelf.missed = 0
    collect(open_image(target), shelf=shelf)
    assert shelf.missed == 2


def test_too_much_to_find_is_told_the_same_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudacompat.evidence.collect._MOST_FINDINGS", 2)
    target = str(build_image(LAYERS, tmp_path / "image", compression="gzip"))
    shelf = Shelf()
    first = collect(open_image(target), shelf=shelf)
    assert not first.coverage.complete
    assert collect(open_image(target), shelf=shelf) == first


def test_a_reading_survives_being_written(tmp_path: Path) -> None:
    shelf = Shelf()
    collect(open_image(str(build_image(LAYERS, tmp_path / "image", compression="gzip"))), shelf=shelf)
    for data in shelf.held.values():
        reading = decode(data)
        assert reading is not None and reading.record.items
        assert encode(reading) == data
        assert not any(str(tmp_path) in text for text in (data.decode(),))


@given(st.data())
def test_anything_else_is_no_reading(data: st.DataObject) -> None:
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=12,
    )
    names = ("digest", "items", "whiteouts", "opaque", "links", "hardlinks", "files", "folders", "notes", "machines")
    good = {name: {} for name in names} | {"digest": "d", "files": "", "folders": "", "kept": 1}
    broken = good | {data.draw(st.sampled_from(names)): data.draw(values)}
    found = decode(json.dumps(broken).encode())
    assert found is None or encode(found) == encode(decode(encode(found)) or found)
    assert decode(data.draw(st.binary(max_size=64))) is None


COMPONENT = {
    "is": "Component",
    "name": "cudart",
    "version": None,
    "cuda": "12.4",
    "found_by": "file-name",
    "evidence": {"kind": "file", "where": "/a", "value": "a", "layer": "sha256:1"},
    "path": "/a",
    "layer": "sha256:1",
    "linkage": "dynamic",
    "variant": None,
}
KERNELS = {"is": "Kernels", "path": "/a", "sass": ["80"], "ptx": [{"arch": "80", "isa": "8.0"}], "decides": True}


@pytest.mark.parametrize(
    ("finding", "change", "fits"),
    [
        (COMPONENT, {}, True),
        (COMPONENT, {"name": 7}, False),
        (COMPONENT, {"version": ["12"]}, False),
        (COMPONENT, {"linkage": "loose"}, False),
        (COMPONENT, {"evidence": {"kind": "file", "where": 7, "value": "a"}}, False),
        (COMPONENT, {"evidence": "file"}, False),
        (COMPONENT, {"more": 1}, False),
        (COMPONENT, {"is": "Target"}, False),
        (KERNELS, {}, True),
        (KERNELS, {"decides": 1}, False),
        (KERNELS, {"sass": "80"}, False),
        (KERNELS, {"sass": [80]}, False),
        (KERNELS, {"ptx": [{"arch": "80", "isa": 8.0}]}, False),
    ],
)
def test_findings_of_other_types_are_no_reading(
    finding: dict[str, object], change: dict[str, object], fits: bool
) -> None:
    empty: dict[str, object] = {name: {} for name in ("links", "hardlinks", "machines")}
    empty |= {"digest": "d", "whiteouts": [], "opaque": [], "files": "", "folders": "", "notes": [], "kept": 1}
    document = json.dumps(empty | {"items": {"/a": [{**finding, **change}]}}).encode()
    assert (decode(document) is not None) == fits


@pytest.mark.parametrize("data", [b"", b"7", b"{}x", b'[["a"]]', b'[["a", null]]', b'[["a", 7]]', b'["ab", 7]'])
def test_an_order_of_another_form_is_none(data: bytes) -> None:
    assert decode_order(data) is None
    assert decode_order(encode_order([("a", "b")])) == [("a", "b")]


@pytest.mark.registry
def test_a_registry_is_not_asked_for_a_known_layer(tmp_path: Path) -> None:
    build_image(LAYERS, tmp_path / "image", compression="gzip")
    (tmp_path / "registry").mkdir()
    with servers.registry(tmp_path / "registry") as host:
        servers.push(tmp_path / "image", "latest", f"{host}/app:1")
        target, cache = f"registry:{host}/app:1", tmp_path / "cache"
        first = cudacompat.inspect(target, cache_dir=cache)
        for blob in (tmp_path / "registry").rglob("data"):
            if blob.is_file() and blob.read_bytes()[:2] == b"\x1f\x8b":
                blob.unlink()
        with pytest.raises(TargetError):
            cudacompat.inspect(target)
        assert cudacompat.inspect(target, cache_dir=cache) == first


@pytest.mark.engine
def test_an_engine_does_not_export_a_known_image(
    docker_engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_engine)
    archive = build_image(LAYERS, tmp_path / "app.tar", format="docker-archive", compression="none", name="kept:1")
    servers.load(docker_engine, archive)
    cache = tmp_path / "cache"
    first = cudacompat.inspect("docker:kept:1", cache_dir=cache)

    def refuse(_self: EngineImage) -> Iterator[LayerBlob]:
        raise TargetError("exported again")

    monkeypatch.setattr(EngineImage, "layers", refuse)
    assert cudacompat.inspect("docker:kept:1", cache_dir=cache) == first
    with pytest.raises(TargetError, match="exported again"):
        cudacompat.inspect("docker:kept:1", cache_dir=tmp_path / "other")
