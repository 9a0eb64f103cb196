"""A layer's blob to its entries in one pass, with its digest checked at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

from cudacompat.errors import TargetError
from cudacompat.layers.codecs import MAGIC_LENGTH, recognise
from cudacompat.layers.compression import PIECE, RawBytes, unpacked
from cudacompat.layers.digests import algorithm_of
from cudacompat.layers.interface import Content, Entry, LayerBlob
from cudacompat.layers.limits import LIMITS, Limits
from cudacompat.layers.tape import FileTape, StreamTape
from cudacompat.layers.tar_members import TarWalk
from cudacompat.layers.window import RandomAccess, random_access

# Hashing reads every byte, jumping over payloads reads almost none: above this size the jump is worth
# more than the check of a file that lies on this machine anyway.
MAX_HASHED_IN_PLACE = 64 << 20


def open_layer(blob: LayerBlob, limits: Limits = LIMITS) -> LayerWalk:
    """The entries of a layer, each with its content, in the tar's order.

    Any compression is recognised by content; an uncompressed tar that can seek is read in place. Iterating
    raises TargetError when the layer is broken, truncated, beyond ``limits``, or, at the end, when it
    does not match its digest: what was learned before that must then be thrown away.
    """
    return LayerWalk(blob, limits)


class LayerWalk:
    """One pass over a layer. Iterate it once; ``notes`` is final afterwards.

    ``notes`` are sentences for the coverage: a digest that was not checked, a media type that lies, a
    file that was left out. ``checked`` tells whether every byte was read in passing and matched a digest.
    """

    def __init__(self, blob: LayerBlob, limits: Limits = LIMITS) -> None:
        self.notes: list[str] = []
        self.checked = False
        self._blob = blob
        self._limits = limits
        self._where = f"Layer {blob.digest}"

    def __iter__(self) -> Iterator[tuple[Entry, Content]]:
        blob = self._blob
        if blob.entries is not None:
            return blob.entries
        if blob.media_type.endswith("+encrypted"):
            raise TargetError(f"{self._where} is encrypted; decrypt the image first.")
        if blob.stream.seekable() and _is_plain(blob.stream):
            return self._in_place(random_access(blob.stream))
        return self._streamed()

    def _in_place(self, file: RandomAccess) -> Iterator[tuple[Entry, Content]]:
        self._note_media_type(None)
        self._check_size(file.size)
        digest = self._blob.content_digest if self._blob.content_digest is not None else self._blob.diff_id
        if digest is not None and file.size <= MAX_HASHED_IN_PLACE:
            self._check_in_place(file, digest)
        elif digest is not None:
            self.notes.append(
                f"{self._where} is an uncompressed file of {file.size >> 20} MiB and was read in place: "
                "its digest was not checked."
            )
        yield from self._walk(TarWalk(FileTape(file, self._where), self._limits))

    def _streamed(self) -> Iterator[tuple[Entry, Content]]:
        blob = self._blob
        algorithm = None if blob.content_digest is None else algorithm_of(blob.content_digest, self._where)
        raw = RawBytes(blob.stream, self._where, algorithm)
        codec = recognise(raw.head)
        self._note_media_type(codec.name if codec else None)
        pieces = unpacked(raw, self._where, self._limits)
        tar_hash = None
        if blob.content_digest is None and blob.diff_id is not None:
            tar_hash = hashlib.new(algorithm_of(blob.diff_id, self._where))
            pieces = _hashing(pieces, tar_hash)
        tape = StreamTape(pieces, self._where)
        yield from self._walk(TarWalk(tape, self._limits))
        if blob.content_digest is None:
            tape.drain()
        raw.drain()
        self._check_size(raw.count)
        if blob.content_digest is not None:
            self._compare(blob.content_digest, raw.hexdigest())
            self.checked = True
        elif blob.diff_id is not None and tar_hash is not None:
            self._compare(blob.diff_id, tar_hash.hexdigest())
            self.checked = True

    def _walk(self, walk: TarWalk) -> Iterator[tuple[Entry, Content]]:
        yield from walk.members()
        self.notes += walk.notes

    def _check_in_place(self, file: RandomAccess, digest: str) -> None:
        tar_hash = hashlib.new(algorithm_of(digest, self._where))
        for offset in range(0, file.size, PIECE):
            tar_hash.update(file.read_at(offset, PIECE))
        self._compare(digest, tar_hash.hexdigest())

    def _compare(self, digest: str, hexdigest: str) -> None:
        if digest.partition(":")[2] != hexdigest:
            raise TargetError(f"{self._where} does not match its digest {digest}.")

    def _check_size(self, size: int) -> None:
        stated = self._blob.size
        if stated is not None and stated != size:
            raise TargetError(f"{self._where} has {size} bytes where {stated} were stated: it is truncated or not it.")

    def _note_media_type(self, found: str | None) -> None:
        media_type = self._blob.media_type
        stated = next((name for name in ("gzip", "zstd") if media_type.endswith(("+" + name, "." + name))), None)
        if media_type and stated != found:
            self.notes.append(
                f"{self._where} is labelled {media_type} but is {found or 'not'} compressed; it was read as it is."
            )


def holds_what_it_says(blob: LayerBlob) -> bool:
    """Whether a layer is sure to be what its digest says, found out for less than a pass over it.

    A blob that is sent on demand by its digest is; a compressed one that can seek is hashed as it lies, and
    can be read from its start afterwards. False also where a pass is as cheap, or the only way.
    """
    if blob.on_demand:
        return True
    if blob.entries is not None or blob.content_digest is None or not blob.stream.seekable() or _is_plain(blob.stream):
        return False
    where = f"Layer {blob.digest}"
    start = blob.stream.tell()
    raw = RawBytes(blob.stream, where, algorithm_of(blob.content_digest, where))
    raw.drain()
    blob.stream.seek(start)
    return blob.content_digest.partition(":")[2] == raw.hexdigest() and blob.size in (None, raw.count)


def _is_plain(stream: BinaryIO) -> bool:
    start = stream.tell()
    head = stream.read(MAGIC_LENGTH)
    stream.seek(start)
    return recognise(head) is None


def _hashing(pieces: Iterator[bytes], tar_hash: hashlib._Hash) -> Iterator[bytes]:
    for piece in pieces:
        tar_hash.update(piece)
        yield piece
