"""Exports of engines that are not installed here, built by hand: one pass, whatever the order of the members."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudacompat.errors import TargetError
from cudacompat.layers.tar import open_layer
from cudacompat.sources.export import Export
from tests.support.images import (
    OCI,
    Compression,
    as_json,
    blob_path,
    build,
    descriptor,
    digest,
    docker_archive,
    layout,
    plain_tar,
)

IMAGE = {"layers": [{"files": {"/a": "1", "/b": "1"}}, {"files": {"/a": "2"}}, {"files": {"/c": "3"}}]}
BUILT = build(IMAGE, "none")
DIFF_IDS = tuple(digest(tar) for tar in BUILT.tars)
FILES = {"/a": b"2", "/b": b"1", "/c": b"3"}
SAVED = docker_archive(BUILT, "app:1")


def pieces(data: bytes, size: int = 1000) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def read(archive: bytes, diff_ids: tuple[str, ...] = DIFF_IDS) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The files of all layers, upper ones winning, and the layers' order."""
    export = Export(pieces(archive), diff_ids, "The export")
    found = {}
    for blob in export.layers():
        found[blob.digest] = {entry.path: content.read() for entry, content in open_layer(blob) if entry.kind == "file"}
    return {path: data for key in export.order for path, data in found[key].items()}, export.order


def refusal(files: Mapping[str, bytes] | bytes) -> str:
    with pytest.raises(TargetError) as caught:
        read(files if isinstance(files, bytes) else plain_tar(files))
    return str(caught.value)


@given(st.permutations(list(SAVED)))
@settings(max_examples=30, deadline=None)
def test_members_come_in_any_order(names: list[str]) -> None:
    assert read(plain_tar({name: SAVED[name] for name in names}))[0] == FILES


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_blobs_of_an_engine_that_stores_them_as_pulled(compression: Compression) -> None:
    built = build(IMAGE, compression)
    files, order = read(plain_tar(layout({"app:1": [built]})))
    assert files == FILES
    assert order == tuple(digest(blob) for blob in built.blobs)


def test_the_platform_that_was_described_is_found_among_several() -> None:
    other = build({"platform": "linux/arm64", "layers": [{"files": {"/arm": "1"}}]}, "gzip")
    wanted = build(IMAGE, "gzip")
    files, order = read(plain_tar(layout({"app:1": [other, wanted]}, nested=True)))
    assert files == FILES
    assert digest(other.blobs[0]) not in order


def test_attestations_among_the_blobs_are_no_layers() -> None:
    statement = as_json({"_type": "https://in-toto.io/Statement/v0.1"})
    config = as_json({"os": "unknown", "architecture": "unknown", "rootfs": {"diff_ids": [digest(statement)]}})
    manifest = as_json(
        {
            "schemaVersion": 2,
            "config": descriptor(config, OCI + "config.v1+json"),
            "layers": [descriptor(statement, "application/vnd.in-toto+json")],
        }
    )
    extra = {blob_path(digest(data)): data for data in (statement, config, manifest)}
    assert read(plain_tar(extra | layout({"app:1": [BUILT]})))[0] == FILES


def test_layers_stored_once_and_linked_are_delivered_once() -> None:
    twice = build({"layers": [*IMAGE["layers"], IMAGE["layers"][0]]}, "none")
    names = [digest(tar)[7:] + "/layer.tar" for tar in twice.tars[:3]]
    config = digest(twice.config)[7:] + ".json"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("0" * 64 + "/layer.tar")
        link.type, link.linkname = tarfile.SYMTYPE, f"../{names[0]}"
        archive.addfile(link)
        for name, data in [*zip(names, twice.tars, strict=False), (config, twice.config)]:
            _add(archive, name, data)
        _add(archive, "manifest.json", as_json([{"Config": config, "Layers": [*names, link.name]}]))
    files, order = read(buffer.getvalue(), tuple(digest(tar) for tar in twice.tars))
    assert files == {"/a": b"1", "/b": b"1", "/c": b"3"}
    assert order == (*order[:3], order[0])


def test_a_tar_whose_first_file_looks_like_json_is_a_layer() -> None:
    built = build({"layers": [{"files": {"/{x": "1"}}]}, "none")
    assert read(plain_tar(docker_archive(built, "app:1")), (digest(built.tars[0]),))[0] == {"/{x": b"1"}


def test_an_empty_layer_is_a_layer() -> None:
    built = build({"layers": [{}]}, "none")
    assert read(plain_tar(docker_archive(built, "app:1")), (digest(built.tars[0]),))[0] == {}


def test_another_image_than_the_described_one_is_refused() -> None:
    other = build({"layers": [{"files": {"/other": "1"}}]}, "none")
    assert refusal(docker_archive(other, "app:1")) == ("The export does not hold the image that the engine described.")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"manifest.json": b"[" + b" " * (2 << 20) + b"]"}, "does not hold the image", id="too long"),
        pytest.param({"manifest.json": b"[{"}, "manifest.json in The export is not valid JSON", id="broken"),
        pytest.param({"manifest.json": b"[[]]"}, "should be an object", id="a list in the list"),
        pytest.param({digest(BUILT.config)[7:] + ".json": b'{"x": 1}'}, "does not match its digest", id="config"),
    ],
)
def test_a_broken_manifest(change: dict[str, bytes], said: str) -> None:
    assert said in refusal(SAVED | change)


def test_a_missing_layer_is_named() -> None:
    name = digest(BUILT.tars[1])[7:] + "/layer.tar"
    assert refusal({key: data for key, data in SAVED.items() if key != name}) == f"The export lacks the layer {name}."


@pytest.mark.parametrize("kept", [100, 700, 5000])
def test_an_export_that_breaks_off(kept: int) -> None:
    assert "truncated" in refusal(plain_tar(SAVED)[:kept])


def test_other_bytes_than_a_blobs_name_says() -> None:
    files = layout({"app:1": [BUILT]})
    files[blob_path(digest(BUILT.blobs[0]))] = BUILT.blobs[1]
    assert "does not match its digest" in refusal(files)


def test_too_many_documents_are_not_kept() -> None:
    junk = {f"{number}.json": b"{" + bytes(1_000_000) for number in range(40)}
    assert "more than 32 MiB of manifests" in refusal(junk)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_changed_file_in_a_layer_whose_name_tells_nothing(number: int) -> None:
    archive = bytearray(plain_tar(SAVED))
    archive[archive.index(BUILT.tars[number]) + 512] ^= 1
    assert "does not match its digest" in refusal(bytes(archive))


@given(st.binary(max_size=3000))
@settings(max_examples=50, deadline=None)
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(TargetError):
        read(data)


@given(st.integers(0, len(plain_tar(SAVED)) - 1), st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_a_changed_byte_is_read_right_or_refused(position: int, value: int) -> None:
    archive = bytearray(plain_tar(SAVED))
    archive[position] = value
    try:
        files, _ = read(bytes(archive))
    except TargetError:
        return
    assert files == FILES


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))
