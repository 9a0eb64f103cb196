"""Small images from a description, as an OCI layout, a docker archive or a root file system folder.

A description is a JSON object::

    {"platform": "linux/amd64",              # os/architecture[/variant]
     "env": {"NAME": "value"} or ["NAME=value"],
     "labels": {...}, "entrypoint": [...], "cmd": [...],
     "layers": [{"created_by": "RUN ...",
                 "files": {"/path": CONTENT}, "whiteouts": ["/path"], "opaque": ["/folder"]}]}

CONTENT is a text, or an object with one of ``text``, ``base64``, ``symlink``, ``hardlink``, ``dir``,
``elf`` ("x86_64" or "aarch64", a header-only stand-in of ``size`` bytes); ``mode`` is octal text.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import struct
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Format = Literal["oci", "oci-archive", "docker-archive", "docker-archive-blobs", "rootfs"]
Compression = Literal["gzip", "zstd", "none"]
Description = Mapping[str, Any]

OCI = "application/vnd.oci.image."
MEDIA_TYPES: Mapping[Compression, str] = {
    "gzip": OCI + "layer.v1.tar+gzip",
    "zstd": OCI + "layer.v1.tar+zstd",
    "none": OCI + "layer.v1.tar",
}
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
DEFAULT_LAYERS = ({"files": {"/etc/hostname": "box\n"}},)


@dataclass(frozen=True, slots=True)
class Built:
    """An image in memory. ``tars`` are the uncompressed layers, ``blobs`` the stored ones, lowest first."""

    platform: str
    config: bytes
    manifest: bytes
    blobs: tuple[bytes, ...]
    tars: tuple[bytes, ...]

    def store(self) -> dict[str, bytes]:
        """Every blob by its digest."""
        return {digest(data): data for data in (self.config, self.manifest, *self.blobs)}

    def registry_paths(self, repository: str = "app", tag: str = "1") -> dict[str, tuple[str, bytes]]:
        """What a registry that holds the image answers: media type and body by path."""
        manifest = (OCI + "manifest.v1+json", self.manifest)
        blobs = {
            f"/v2/{repository}/blobs/{key}": ("application/octet-stream", data) for key, data in self.store().items()
        }
        names = (tag, digest(self.manifest))
        return {f"/v2/{repository}/manifests/{name}": manifest for name in names} | blobs


def build(description: Description, compression: Compression = "gzip") -> Built:
    """The image's config, manifest and layers."""
    layers: Sequence[Description] = description.get("layers") or DEFAULT_LAYERS
    tars = tuple(layer_tar(layer) for layer in layers)
    blobs = tuple(compress(tar, compression) for tar in tars)
    platform = description.get("platform", "linux/amd64")
    config = as_json(_config(description, platform, layers, tars))
    manifest = {
        "schemaVersion": 2,
        "mediaType": OCI + "manifest.v1+json",
        "config": descriptor(config, OCI + "config.v1+json"),
        "layers": [descriptor(blob, MEDIA_TYPES[compression]) for blob in blobs],
    }
    return Built(platform, config, as_json(manifest), blobs, tars)


def build_image(
    description: Description,
    out: Path,
    *,
    format: Format = "oci",
    compression: Compression = "gzip",
    name: str = "case:latest",
) -> Path:
    """Write one image to ``out`` (a folder for "oci" and "rootfs", else a tar) and return ``out``."""
    built = build(description, compression)
    out.parent.mkdir(parents=True, exist_ok=True)
    if format == "rootfs":
        _write_rootfs(out, built.tars)
    elif format == "docker-archive":
        out.write_bytes(plain_tar(docker_archive(built, name)))
    elif format == "docker-archive-blobs":
        out.write_bytes(plain_tar(layout({name: [built]}) | _docker_manifest(built, name)))
    elif format == "oci-archive":
        out.write_bytes(plain_tar(layout({name: [built]})))
    else:
        write_files(out, layout({name: [built]}))
    return out


def layout(images: Mapping[str, Sequence[Built]], *, nested: bool = False) -> dict[str, bytes]:
    """The files of an OCI layout by path. Several images under one name are its platforms.

    ``nested`` puts each name's platforms into an index of its own, as image builders do.
    """
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
    entries = []
    for name, platforms in images.items():
        listed = [manifest_entry(built) for built in platforms]
        for built in platforms:
            files |= {blob_path(key): data for key, data in built.store().items()}
        if nested:
            inner = as_json(index(listed))
            files[blob_path(digest(inner))] = inner
            listed = [descriptor(inner, OCI + "index.v1+json")]
        annotations = {"org.opencontainers.image.ref.name": name.rpartition(":")[2], "io.containerd.image.name": name}
        entries += [entry | {"annotations": annotations} for entry in listed]
    return files | {"index.json": as_json(index(entries))}


def index(entries: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """An image index."""
    return {"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": list(entries)}


def manifest_entry(built: Built) -> dict[str, object]:
    """An index entry for an image, with its platform."""
    names = ("os", "architecture", "variant")
    platform = dict(zip(names, built.platform.split("/"), strict=False))
    return descriptor(built.manifest, OCI + "manifest.v1+json") | {"platform": platform}


def docker_archive(built: Built, name: str) -> dict[str, bytes]:
    """The files of an archive as older engines save it: a folder with a layer.tar for each layer."""
    config = digest(built.config).partition(":")[2] + ".json"
    layers = {digest(tar).partition(":")[2] + "/layer.tar": tar for tar in built.tars}
    listed = [digest(tar).partition(":")[2] + "/layer.tar" for tar in built.tars]
    manifest = [{"Config": config, "RepoTags": [name], "Layers": listed}]
    return {config: built.config, **layers, "manifest.json": as_json(manifest)}


def descriptor(data: bytes, media_type: str) -> dict[str, object]:
    """A descriptor of a blob."""
    return {"mediaType": media_type, "digest": digest(data), "size": len(data)}


def digest(data: bytes) -> str:
    """The sha256 digest of a blob."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def blob_path(key: str) -> str:
    """Where a layout keeps the blob of a digest."""
    return "blobs/" + key.replace(":", "/")


def as_json(value: object) -> bytes:
    """JSON bytes."""
    return json.dumps(value, indent=1).encode()


def compress(data: bytes, compression: Compression) -> bytes:
    """A layer as a registry stores it."""
    if compression == "gzip":
        return gzip.compress(data, 6, mtime=0)
    if compression == "zstd":
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        return zstd.compress(data)
    return data


def plain_tar(files: Mapping[str, bytes]) -> bytes:
    """A tar of regular files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            _add(archive, name, data)
    return buffer.getvalue()


def layer_tar(layer: Description) -> bytes:
    """A layer's tar: parent folders first, then each file, then whiteouts and opaque markers."""
    buffer = io.BytesIO()
    made: set[str] = set()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in layer.get("files", {}).items():
            _add_parents(archive, path.lstrip("/"), made)
            _add_content(archive, path.lstrip("/"), content if isinstance(content, dict) else {"text": content}, made)
        for path in layer.get("whiteouts", ()):
            folder, _, base = path.lstrip("/").rpartition("/")
            _add_marker(archive, f"{folder}/.wh.{base}".lstrip("/"), made)
        for path in layer.get("opaque", ()):
            _add_marker(archive, f"{path.strip('/')}/.wh..wh..opq", made)
    return buffer.getvalue()


def elf_stand_in(machine: str, size: int) -> bytes:
    """An ELF header of a 64-bit shared object, padded to ``size`` bytes."""
    header = struct.pack(
        "<4s4B8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 3, ELF_MACHINES[machine], 1, *(0,) * 4, 64, *(0,) * 5
    )
    return header.ljust(size, b"\0")


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by relative path."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _config(
    description: Description, platform: str, layers: Sequence[Description], tars: Sequence[bytes]
) -> dict[str, object]:
    env = description.get("env") or []
    names = ("os", "architecture", "variant")
    return {
        **dict(zip(names, platform.split("/"), strict=False)),
        "config": {
            "Env": [f"{name}={value}" for name, value in env.items()] if isinstance(env, Mapping) else list(env),
            "Labels": description.get("labels") or {},
            "Entrypoint": description.get("entrypoint"),
            "Cmd": description.get("cmd"),
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(tar) for tar in tars]},
        "history": [{"created_by": layer.get("created_by", "COPY files")} for layer in layers],
    }


def _docker_manifest(built: Built, name: str) -> dict[str, bytes]:
    """The manifest.json that newer engines put beside an OCI layout."""
    layers = [blob_path(digest(blob)) for blob in built.blobs]
    entry = {"Config": blob_path(digest(built.config)), "RepoTags": [name], "Layers": layers}
    return {"manifest.json": as_json([entry])}


def _content_bytes(content: Description) -> bytes:
    if "elf" in content:
        return elf_stand_in(content["elf"], content.get("size", 4096))
    if "base64" in content:
        return base64.b64decode(content["base64"])
    return str(content["text"]).encode()


def _add_content(archive: tarfile.TarFile, name: str, content: Description, made: set[str]) -> None:
    mode = int(content.get("mode", "644"), 8)
    if "symlink" in content:
        _add(archive, name, kind=tarfile.SYMTYPE, linkname=content["symlink"], mode=0o777)
    elif "hardlink" in content:
        _add(archive, name, kind=tarfile.LNKTYPE, linkname=content["hardlink"].lstrip("/"), mode=mode)
    elif not content.get("dir"):
        _add(archive, name, _content_bytes(content), mode=mode)
    elif name not in made:
        made.add(name)
        _add(archive, name, kind=tarfile.DIRTYPE, mode=0o755)


def _add_parents(archive: tarfile.TarFile, name: str, made: set[str]) -> None:
    for parent in reversed(Path(name).parents[:-1]):
        if str(parent) not in made:
            made.add(str(parent))
            _add(archive, str(parent), kind=tarfile.DIRTYPE, mode=0o755)


def _add_marker(archive: tarfile.TarFile, name: str, made: set[str]) -> None:
    _add_parents(archive, name, made)
    _add(archive, name)


def _add(
    archive: tarfile.TarFile,
    name: str,
    data: bytes = b"",
    *,
    kind: bytes = tarfile.REGTYPE,
    linkname: str = "",
    mode: int = 0o644,
) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, linkname, mode, len(data)
    archive.addfile(info, io.BytesIO(data))


def _write_rootfs(out: Path, tars: Sequence[bytes]) -> None:
    """The layers flattened into a folder. Markers come first: they hide what lies below, never their own layer."""
    out.mkdir(parents=True, exist_ok=True)
    for tar in tars:
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            for member in sorted(archive, key=lambda item: not Path(item.name).name.startswith(".wh.")):
                _apply(out, archive, member)


def _apply(out: Path, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    parent, base = (out / member.name).parent, Path(member.name).name
    if base == ".wh..wh..opq":
        for item in list(parent.iterdir()) if parent.exists() else []:
            _remove(item)
    elif base.startswith(".wh."):
        _remove(parent / base.removeprefix(".wh."))
    else:
        archive.extract(member, out)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for item in path.iterdir():
            _remove(item)
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
