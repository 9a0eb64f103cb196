"""Archives and layouts of every form: the same image comes out, or one sentence on why not."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cudacompat.errors import TargetError
from cudacompat.layers.interface import OpenImage
from cudacompat.sources import docker_archive, oci_layout
from cudacompat.sources.recognition import recognise
from tests.support.images import (
    Built,
    Compression,
    Format,
    as_json,
    blob_path,
    build,
    build_image,
    compress,
    descriptor,
    digest,
    layout,
    plain_tar,
    write_files,
)
from tests.support.images import docker_archive as archive_files
from tests.support.reading import files_of, notes_of

IMAGE: dict[str, Any] = {
    "env": {"CUDA_VERSION": "12.4.1"},
    "layers": [
        {"files": {"/usr/lib/a": "a", "/lib": {"symlink": "usr/lib"}, "/f": "low"}},
        {"files": {"/f": "up", "/opt/x": "x"}, "whiteouts": ["/usr/lib/a"]},
    ],
}
FILES = {"/lib": "-> usr/lib", "/f": "up", "/opt/x": "x"}
SOURCES: dict[str, Callable[..., OpenImage]] = {
    "docker-archive": docker_archive.open,
    "oci-archive": oci_layout.open,
    "oci-dir": oci_layout.open,
}
PLATFORMS = ("linux/amd64", "linux/arm64/v8")


def variants() -> list[Built]:
    return [build({**IMAGE, "platform": platform}) for platform in PLATFORMS]


def opened(path: Path | str, platform: str | None = None) -> OpenImage:
    file = str(path) if Path(path).exists() else str(path).rpartition(":")[0]
    while not Path(file).exists():
        file = file.rpartition(":")[0]
    kind = recognise(file)
    assert kind is not None
    return SOURCES[kind](str(path), platform)


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("oci", "oci-dir"),
        ("oci-archive", "oci-archive"),
        ("docker-archive", "docker-archive"),
        ("docker-archive-blobs", "docker-archive"),
    ],
)
def test_every_form_gives_the_same_image(tmp_path: Path, form: Format, kind: str, compression: Compression) -> None:
    path = build_image(IMAGE, tmp_path / "image", format=form, compression=compression)
    assert recognise(str(path)) == kind
    image = opened(path)
    assert (image.target.source, image.target.platform) == (kind, "linux/amd64")
    assert image.target.reference == f"{kind}:{path}"
    assert image.config.env == ("CUDA_VERSION=12.4.1",)
    assert files_of(image) == FILES
    assert files_of(image) == FILES, "an image can be read twice"
    assert notes_of(image) == []
    image.close()
    image.close()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, lambda data: compress(data, "zstd")])
@pytest.mark.parametrize("form", ["docker-archive", "docker-archive-blobs", "oci-archive"])
def test_an_archive_compressed_as_a_whole(tmp_path: Path, form: Format, pack: Callable[[bytes], bytes]) -> None:
    path = build_image(IMAGE, tmp_path / "plain", format=form)
    path.write_bytes(pack(path.read_bytes()))
    assert recognise(str(path)) == form.removesuffix("-blobs")
    image = opened(path)
    assert files_of(image) == FILES
    assert notes_of(image) == []


def test_layers_of_an_uncompressed_archive_are_read_in_place(tmp_path: Path) -> None:
    image = opened(build_image(IMAGE, tmp_path / "image", format="docker-archive"))
    assert all(blob.stream.seekable() for blob in image.layers())


def test_layers_that_are_symlinks_to_others(tmp_path: Path) -> None:
    built = build({"layers": [{"files": {"/a": "a"}}, {"files": {"/b": "b"}}, {"files": {"/a": "a"}}]})
    files = archive_files(built, "app:1")
    manifest = json.loads(files.pop("manifest.json"))
    manifest[0]["Layers"][2] = "copy/layer.tar"
    buffer = io.BytesIO(plain_tar({**files, "manifest.json": as_json(manifest)}))
    with tarfile.open(fileobj=buffer, mode="a") as tar:
        link = tarfile.TarInfo("copy/layer.tar")
        link.type, link.linkname = tarfile.SYMTYPE, "../" + manifest[0]["Layers"][0]
        tar.addfile(link)
    for name, data in (("plain", buffer.getvalue()), ("packed", gzip.compress(buffer.getvalue()))):
        path = tmp_path / name
        path.write_bytes(data)
        image = opened(path)
        order = image.layer_order()
        assert order[0] == order[2] != order[1]
        assert [blob.digest for blob in image.layers()] == [order[0], order[1]]
        assert files_of(image) == {"/a": "a", "/b": "b"}


def test_the_user_may_name_it_as_he_likes(tmp_path: Path) -> None:
    path = build_image(IMAGE, tmp_path / "image")
    assert oci_layout.open(str(path), None, "oci://image").target.reference == "oci://image"


def two_tags(folder: Path, form: str) -> Path:
    one, two = build(IMAGE), build({"layers": [{"files": {"/two": "2"}}]})
    path = folder / "images"
    if form == "oci-dir":
        write_files(path, layout({"app:1": [one], "app:2": [two]}))
    elif form == "oci-archive":
        path.write_bytes(plain_tar(layout({"app:1": [one], "app:2": [two]})))
    else:
        files = {**archive_files(one, "app:1"), **archive_files(two, "app:2")}
        manifests = [
            json.loads(archive_files(*image)["manifest.json"])[0] for image in ((one, "app:1"), (two, "app:2"))
        ]
        path.write_bytes(plain_tar({**files, "manifest.json": as_json(manifests)}))
    return path


@pytest.mark.parametrize("form", ["oci-dir", "oci-archive", "docker-archive"])
def test_several_images_are_asked_for_by_name(tmp_path: Path, form: str) -> None:
    path = two_tags(tmp_path, form)
    first, second = ("app:1", "app:2") if form == "docker-archive" else ("1", "2")
    with pytest.raises(TargetError, match=rf"holds several images: {first}, {second}\. Name one .*{path}:{first}"):
        opened(path)
    assert files_of(opened(f"{path}:{second}")) == {"/two": "2"}
    assert files_of(opened(f"{path}:app:2")) == {"/two": "2"}
    with pytest.raises(TargetError, match=rf"has no image app:3; it holds {first}, {second}\."):
        opened(f"{path}:app:3")


def test_images_are_named_by_more_than_their_tag(tmp_path: Path) -> None:
    archive = two_tags(tmp_path, "docker-archive")
    assert files_of(opened(f"{archive}:@1")) == {"/two": "2"}
    with pytest.raises(TargetError, match="has no image @7"):
        opened(f"{archive}:@7")
    path = tmp_path / "layout"
    built = build(IMAGE)
    write_files(path, layout({"app:1": [built], "app:2": [build({})]}))
    assert files_of(opened(f"{path}:@{digest(built.manifest)}")) == FILES


def test_docker_tags_match_with_and_without_their_registry(tmp_path: Path) -> None:
    path = build_image(IMAGE, tmp_path / "image", format="docker-archive", name="docker.io/library/app:latest")
    for reference in ("app", "app:latest", "library/app", "docker.io/library/app:latest"):
        assert files_of(opened(f"{path}:{reference}")) == FILES
    with pytest.raises(TargetError, match="has no image pp"):
        opened(f"{path}:pp")


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_the_platform_decides_among_images_of_one_name(tmp_path: Path, nested: bool) -> None:
    write_files(tmp_path, layout({"app:1": variants()}, nested=nested))
    for platform, found in (("linux/arm64", "linux/arm64/v8"), ("linux/amd64", "linux/amd64")):
        image = opened(tmp_path, platform)
        assert (image.config.platform, image.available_platforms, image.notes) == (found, PLATFORMS, ())
    assert opened(tmp_path).notes == ("No platform was named: linux/amd64 was read of linux/amd64, linux/arm64/v8.",)
    with pytest.raises(TargetError, match="has no image for linux/riscv64; it offers linux/amd64, linux/arm64/v8"):
        opened(tmp_path, "linux/riscv64")


def test_a_docker_archive_with_several_platforms(tmp_path: Path) -> None:
    files: dict[str, bytes] = {}
    manifests = []
    for built in variants():
        own = archive_files(built, "app:1")
        manifests += json.loads(own["manifest.json"])
        files |= own
    path = tmp_path / "image"
    path.write_bytes(plain_tar({**files, "manifest.json": as_json(manifests)}))
    image = opened(path, "linux/arm64")
    assert (image.config.platform, image.available_platforms) == ("linux/arm64/v8", PLATFORMS)
    assert opened(path).config.platform == "linux/amd64"


@pytest.mark.parametrize("form", ["oci", "docker-archive"])
def test_the_only_image_is_for_another_platform(tmp_path: Path, form: Format) -> None:
    path = build_image(IMAGE, tmp_path / "image", format=form)
    with pytest.raises(TargetError, match="linux/arm64"):
        opened(path, "linux/arm64")


def edited(built: Built, change: Callable[[dict[str, Any]], None]) -> dict[str, bytes]:
    """A layout whose manifest was changed."""
    manifest = json.loads(built.manifest)
    change(manifest)
    return layout({"app:1": [Built(built.platform, built.config, as_json(manifest), built.blobs, built.tars)]})


def test_attestations_and_untagged_rests_are_no_images(tmp_path: Path) -> None:
    files = layout({"app:1": [build(IMAGE)]})
    index = json.loads(files["index.json"])
    index["manifests"] += [
        {**descriptor(b"{}", "x"), "platform": {"os": "unknown", "architecture": "unknown"}},
        descriptor(b"an older image", "x"),
    ]
    write_files(tmp_path, {**files, "index.json": as_json(index)})
    assert files_of(opened(tmp_path)) == FILES


def test_a_foreign_layer_that_is_not_there_is_a_note(tmp_path: Path) -> None:
    foreign = {
        "mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
        "digest": digest(b"elsewhere"),
        "size": 9,
    }
    write_files(tmp_path, edited(build(IMAGE), lambda manifest: manifest["layers"].insert(0, foreign)))
    image = opened(tmp_path)
    assert image.notes == (f"Layer {foreign['digest']} is foreign and not in {tmp_path}; it was not read.",)
    assert image.layer_order()[0] == foreign["digest"]
    assert len(list(image.layers())) == 2


def broken_layout(case: str, files: dict[str, bytes], built: Built) -> dict[str, bytes]:
    layer = blob_path(digest(built.blobs[0]))
    changes: dict[str, dict[str, bytes | None]] = {
        "no index.json": {"index.json": None},
        "an index.json that is no JSON": {"index.json": b"<html>"},
        "an empty index": {"index.json": b'{"manifests": []}'},
        "a digest with a path in it": {"index.json": b'{"manifests": [{"digest": "sha256:../../../etc/passwd"}]}'},
        "no manifest": {blob_path(digest(built.manifest)): None},
        "another manifest": {blob_path(digest(built.manifest)): built.manifest + b" "},
        "no config": {blob_path(digest(built.config)): None},
        "another config": {blob_path(digest(built.config)): b"{}"},
        "no layer": {layer: None},
        "another layer": {layer: built.blobs[1]},
        "a truncated layer": {layer: built.blobs[0][:-20]},
    }
    return {name: data for name, data in {**files, **changes[case]}.items() if data is not None}


BROKEN_LAYOUTS = [
    ("no index.json", "has no index.json"),
    ("an index.json that is no JSON", "is not valid JSON"),
    ("an empty index", "lists no image"),
    ("a digest with a path in it", "for a digest, which is none that can be checked"),
    ("no manifest", "has no blobs/sha256/"),
    ("another manifest", "does not match its digest"),
    ("no config", "has no blobs/sha256/"),
    ("another config", "does not match its digest"),
    ("no layer", "its layer sha256:.* is missing"),
    ("another layer", "does not match its digest|bytes where"),
    ("a truncated layer", "truncated|corrupt"),
]


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "tar"])
@pytest.mark.parametrize(("case", "message"), BROKEN_LAYOUTS)
def test_a_broken_layout_says_what_is_wrong(tmp_path: Path, case: str, message: str, packed: bool) -> None:
    built = build(IMAGE)
    files = broken_layout(case, layout({"app:1": [built]}), built)
    path = tmp_path / "image"
    if packed:
        path.write_bytes(plain_tar(files))
    else:
        write_files(path, files)
    with pytest.raises(TargetError, match=message) as caught:
        files_of(oci_layout.open(str(path)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"mediaType": "application/x-unknown"}, "of the unknown type application/x-unknown", id="type"),
        pytest.param({"schemaVersion": 1}, "Docker schema 1", id="schema 1"),
        pytest.param({"config": None}, "no digest|for a digest", id="no config"),
        pytest.param({"layers": {"a": 1}}, "should be a list", id="layers as an object"),
        pytest.param({"layers": [{"digest": "sha256:x"}]}, "for a digest", id="a layer without a digest"),
        pytest.param({"layers": [{}] * 2000}, "lists 2000 layers", id="layers without number"),
    ],
)
def test_a_manifest_that_is_none(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    write_files(tmp_path, edited(build(IMAGE), lambda manifest: manifest.update(change)))
    with pytest.raises(TargetError, match=message):
        oci_layout.open(str(tmp_path))


def test_an_artifact_is_no_image(tmp_path: Path) -> None:
    chart = "application/vnd.cncf.helm.config.v1+json"
    write_files(tmp_path, edited(build(IMAGE), lambda manifest: manifest["config"].update(mediaType=chart)))
    with pytest.raises(TargetError, match=re.escape(f"is an artifact of type {chart}, not a container image")):
        oci_layout.open(str(tmp_path))


def test_indexes_without_end_are_given_up(tmp_path: Path) -> None:
    files = {"oci-layout": b"{}"}
    inner = descriptor(b"x", "application/vnd.oci.image.index.v1+json")
    for _ in range(20):
        document = as_json({"schemaVersion": 2, "manifests": [inner]})
        files[blob_path(digest(document))] = document
        inner = descriptor(document, "application/vnd.oci.image.index.v1+json")
    write_files(tmp_path, {**files, "index.json": as_json({"manifests": [inner]})})
    with pytest.raises(TargetError, match="nests indexes more than 5 deep"):
        oci_layout.open(str(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"manifest.json": b"[]"}, "lists no image", id="no image"),
        pytest.param({"manifest.json": b"{}"}, "should be a list", id="an object"),
        pytest.param({"manifest.json": b"[{}]"}, "has no |broken", id="an image without anything"),
        pytest.param({"manifest.json": None}, "it has no manifest.json", id="no manifest"),
        pytest.param({"manifest.json": None, "repositories": b"{}"}, "older than 1.10", id="a very old archive"),
        pytest.param({"CONFIG": None}, "has no [0-9a-f]{64}.json", id="no config"),
        pytest.param({"CONFIG": b"{}"}, "does not match its digest", id="another config"),
        pytest.param({"LAYER": None}, "its layer .*/layer.tar is missing", id="no layer"),
        pytest.param({"LAYER": bytes(1024)}, "does not match its digest", id="another layer"),
        pytest.param({"LAYER": b"garbage" * 999}, "does not match its digest|no tar", id="a layer of garbage"),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_broken_archive_says_what_is_wrong(
    tmp_path: Path, change: dict[str, bytes | None], message: str, packed: bool
) -> None:
    files = archive_files(build(IMAGE), "app:1")
    manifest = json.loads(files["manifest.json"])[0]
    names = {"CONFIG": manifest["Config"], "LAYER": manifest["Layers"][0]}
    changed = {**files, **{names.get(name, name): data for name, data in change.items()}}
    data = plain_tar({name: data for name, data in changed.items() if data is not None})
    path = tmp_path / "image"
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(TargetError, match=message):
        files_of(docker_archive.open(str(path)))


@pytest.mark.parametrize("form", ["docker-archive", "oci-archive"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_an_archive_cut_anywhere_is_refused(tmp_path: Path, form: Format, packed: bool) -> None:
    data = build_image(IMAGE, tmp_path / "image", format=form).read_bytes()
    data = gzip.compress(data) if packed else data
    path = tmp_path / "cut"
    end = len(data) if packed else len(data.rstrip(b"\0"))
    for cut in range(0, end - 1, max(1, len(data) // 60)):
        path.write_bytes(data[:cut])
        with pytest.raises(TargetError):
            files_of(SOURCES[form](str(path)))


@pytest.mark.parametrize("kind", ["docker-archive", "oci-archive", "oci-dir"])
def test_paths_that_are_no_images(tmp_path: Path, kind: str) -> None:
    (tmp_path / "text").write_text("FROM scratch\n" * 100)
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("text", "empty", "folder", "pipe"):
        assert recognise(str(tmp_path / name)) is None
        with pytest.raises(TargetError):
            SOURCES[kind](str(tmp_path / name))
    assert recognise(str(tmp_path / "absent")) is None
    with pytest.raises(TargetError, match="does not exist"):
        SOURCES[kind](str(tmp_path / "absent:tag"))


def test_a_pipe_for_a_blob_does_not_block(tmp_path: Path) -> None:
    built = build(IMAGE)
    write_files(tmp_path, layout({"app:1": [built]}))
    layer = tmp_path / blob_path(digest(built.blobs[0]))
    layer.unlink()
    os.mkfifo(layer)
    with pytest.raises(TargetError, match="is missing"):
        oci_layout.open(str(tmp_path))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    form=st.sampled_from(["docker-archive", "oci-archive", "docker-archive-blobs"]),
    changes=st.lists(st.tuples(st.integers(0, 60_000), st.integers(0, 255)), min_size=1, max_size=30),
    packed=st.booleans(),
)
def test_mutated_archives_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, form: Format, changes: list[tuple[int, int]], packed: bool
) -> None:
    path = build_image(IMAGE, tmp_path_factory.mktemp("fuzz") / "image", format=form)
    data = bytearray(path.read_bytes())
    for at, value in changes:
        data[at % len(data)] = value
    path.write_bytes(gzip.compress(bytes(data)) if packed else bytes(data))
    recognise(str(path))
    for open_image in (docker_archive.open, oci_layout.open):
        try:
            files_of(open_image(str(path)))
        except TargetError as error:
            assert "\n" not in str(error)
