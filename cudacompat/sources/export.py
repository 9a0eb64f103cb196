"""An engine's export of one image, read in one pass: layers as they come, their order once all are there."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, cast

from cudacompat.errors import TargetError
from cudacompat.layers.codecs import recognise
from cudacompat.layers.digests import check_digest
from cudacompat.layers.documents import items, members, parse_json, parse_object, text, texts
from cudacompat.layers.interface import Content, Entry, LayerBlob
from cudacompat.layers.tape import StreamTape
from cudacompat.layers.tar_members import TarWalk
from cudacompat.sources.names import Links
from cudacompat.sources.stores import ARCHIVE_LIMITS
from cudacompat.sources.v1_ids import diff_id_of

_BLOB = re.compile(r"/blobs/sha256/([0-9a-f]{64})")
_NAMED_TAR = re.compile(r"/([0-9a-f]{64})\.tar")
_OLD_LAYER = re.compile(r"/([0-9a-f]{64})/layer\.tar")
_CONFIG = re.compile(r"/(?:blobs/sha256/)?([0-9a-f]{64})(?:\.json)?")
_HEAD = 512
_TAR_MAGIC = slice(257, 262)
_MAX_DOCUMENT = 1 << 20
_MAX_DOCUMENTS = 32 << 20


class Export:
    """The archive in ``pieces``, for the image whose layers have these ``diff_ids``.

    Its manifest may come last, so every layer is delivered as it comes, also one of another platform that
    the archive happens to hold: ``order`` then leaves it out.
    """

    def __init__(self, pieces: Iterator[bytes], diff_ids: Sequence[str], where: str) -> None:
        self.order: tuple[str, ...] = ()
        self._walk = TarWalk(StreamTape(pieces, where), ARCHIVE_LIMITS)
        self._diff_ids = diff_ids
        self._where = where
        self._links = Links()
        self._layers: dict[str, str] = {}
        self._documents: dict[str, bytes] = {}
        self._kept = 0
        # Layers whose names do not tell what they should hash to, until the manifest does.
        self._unchecked: dict[str, _Member] = {}

    def layers(self) -> Iterator[LayerBlob]:
        """Every layer once; then ``order`` is known. Raises TargetError when the image is not all there."""
        for entry, content in self._walk.members():
            self._links.note(entry)
            if entry.kind == "file" and (blob := self._take(entry, content)) is not None:
                yield blob
        self.order = self._find_order()

    def _take(self, entry: Entry, content: Content) -> LayerBlob | None:
        """A member as a layer to be delivered; documents are kept instead."""
        head = content.read(_HEAD)
        if _is_document(head):
            self._keep(entry, head, content)
            return None
        if not (_BLOB.fullmatch(entry.path) or entry.path.endswith(".tar")):
            return None
        digest, content_digest, diff_id = self._name(entry.path)
        known = digest in self._layers.values()
        self._layers[entry.path] = digest
        if known:
            return None
        member = _Member(head, content)
        if content_digest is None and diff_id is None and recognise(head) is None:
            member.hash = hashlib.sha256()
            self._unchecked[digest] = member
        return LayerBlob(digest, "", entry.size, cast(BinaryIO, member), content_digest, diff_id)

    def _keep(self, entry: Entry, head: bytes, content: Content) -> None:
        if entry.size > _MAX_DOCUMENT:
            return
        self._kept += entry.size
        if self._kept > _MAX_DOCUMENTS:
            raise TargetError(f"{self._where} has more than {_MAX_DOCUMENTS >> 20} MiB of manifests; no image has.")
        self._documents[entry.path] = head + content.read()

    def _name(self, path: str) -> tuple[str, str | None, str | None]:
        """What a layer is called, what its bytes hash to, and its diff ID, as far as its name tells."""
        if blob := _BLOB.fullmatch(path):
            digest = f"sha256:{blob.group(1)}"
            return digest, digest, digest if digest in self._diff_ids else None
        diff_id = None
        if named := _NAMED_TAR.fullmatch(path):
            diff_id = f"sha256:{named.group(1)}"
        elif old := _OLD_LAYER.fullmatch(path):
            document = self._documents.get(f"/{old.group(1)}/json", b"")
            diff_id = diff_id_of(old.group(1), document, self._diff_ids)
        known = diff_id if diff_id in self._diff_ids else None
        return known or path.lstrip("/"), None, known

    def _find_order(self) -> tuple[str, ...]:
        for config, layers in (*self._from_manifest_json(), *self._from_manifests()):
            if self._is_ours(config):
                return self._checked(tuple(self._located(layer) for layer in layers))
        raise TargetError(f"{self._where} does not hold the image that the engine described.")

    def _from_manifest_json(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Config and layer paths of each image, by docker's manifest.json."""
        where = f"manifest.json in {self._where}"
        if (raw := self._documents.get("/manifest.json")) is None:
            return
        for item in items(parse_json(raw, where), where):
            image = members(item, where)
            yield text(image.get("Config"), where), texts(image.get("Layers"), where)

    def _from_manifests(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The same by OCI manifests among the blobs."""
        for path, raw in self._documents.items():
            if not _BLOB.fullmatch(path):
                continue
            manifest = _object(raw, path)
            if "config" in manifest and "layers" in manifest:
                config = members(manifest["config"], path)
                layers = [members(layer, path) for layer in items(manifest["layers"], path)]
                yield _blob_path(config, path), tuple(_blob_path(layer, path) for layer in layers)

    def _is_ours(self, config: str) -> bool:
        located = self._links.locate(config, self._documents)
        if located is None:
            return False
        raw = self._documents[located]
        where = f"The config {located.lstrip('/')} in {self._where}"
        if name := _CONFIG.fullmatch(located):
            check_digest(raw, f"sha256:{name.group(1)}", where)
        rootfs = members(parse_object(raw, where).get("rootfs"), where)
        return texts(rootfs.get("diff_ids"), where) == tuple(self._diff_ids)

    def _checked(self, order: tuple[str, ...]) -> tuple[str, ...]:
        if len(order) != len(self._diff_ids):
            raise TargetError(f"{self._where} lists {len(order)} layers where its config has {len(self._diff_ids)}.")
        for digest, diff_id in zip(order, self._diff_ids, strict=True):
            found = self._unchecked.get(digest)
            if found is not None and found.digest() not in {None, diff_id}:
                raise TargetError(f"{self._where} is broken: {digest} does not match its digest {diff_id}.")
        return order

    def _located(self, layer: str) -> str:
        located = self._links.locate(layer, self._layers)
        if located is None:
            raise TargetError(f"{self._where} lacks the layer {layer[:200]}.")
        return self._layers[located]


class _Member(io.RawIOBase):
    """A member whose first bytes have been looked at. ``hash`` takes up what is read, when it is set."""

    def __init__(self, head: bytes, content: Content) -> None:
        super().__init__()
        self.hash: hashlib._Hash | None = None
        self._head = head
        self._content = content
        self._left = content.size

    def digest(self) -> str | None:
        """The digest of the whole member, None unless all of it was read."""
        return f"sha256:{self.hash.hexdigest()}" if self.hash is not None and self._left == 0 else None

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes, at most ``size``; all that is left when negative."""
        if size is None or size < 0:
            data, self._head = self._head + self._content.read(), b""
        elif self._head:
            data, self._head = self._head[:size], self._head[size:]
        else:
            data = self._content.read(size)
        self._left -= len(data)
        if self.hash is not None:
            self.hash.update(data)
        return data


def _is_document(head: bytes) -> bool:
    """Whether a member is JSON: neither compressed nor a tar whose first name begins like JSON."""
    return head.lstrip()[:1] in {b"{", b"["} and recognise(head) is None and head[_TAR_MAGIC] != b"ustar"


def _object(raw: bytes, where: str) -> Mapping[str, object]:
    """A JSON object, empty when it is anything else: among the blobs may be files of any kind."""
    try:
        return parse_object(raw, where)
    except TargetError:
        return {}


def _blob_path(descriptor: Mapping[str, object], where: str) -> str:
    return "/blobs/" + text(descriptor.get("digest"), where).replace(":", "/")
