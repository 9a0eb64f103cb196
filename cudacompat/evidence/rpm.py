"""RPM's database in its three forms. sqlite is read, the other two are reported as present.

The header blob's layout: two big-endian counts (index entries, bytes of data), the entries (tag, type,
offset, count: 16 bytes each), then the data. Source: RPM's file format documentation.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Iterator

from cudacompat.evidence import names
from cudacompat.evidence.interface import Note, Observation
from cudacompat.model import Evidence

_NAME, _VERSION, _RELEASE = 1000, 1001, 1002
_STRING = 6
_MOST_ENTRIES = 4096
_MOST_PACKAGES = 100_000


class RpmSqlite:
    """rpmdb.sqlite of current distributions."""

    name = "rpm"
    pattern = r"/(?:var/lib/rpm|usr/lib/sysimage/rpm|usr/share/rpm)/rpmdb\.sqlite"
    max_size = 256 << 20

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """One component for each CUDA package; a Note when the database cannot be opened."""
        if not hasattr(sqlite3.Connection, "deserialize"):
            yield Note(f"{path} is present; reading it needs Python 3.11 or newer")
            return
        try:
            blobs = list(_header_blobs(data))
        except (sqlite3.Error, MemoryError, OverflowError) as error:
            yield Note(f"{path} is present but cannot be read: {error}")
            return
        for blob in blobs:
            tags = header_tags(blob)
            if _NAME not in tags or _VERSION not in tags:
                continue
            version = f"{tags[_VERSION]}-{tags.get(_RELEASE, '')}"
            named = names.system_package(tags[_NAME], version)
            if named is not None:
                evidence = Evidence("package", path, f"{tags[_NAME]} {version}", layer)
                yield names.component(named, "rpm", evidence, None)


def _header_blobs(data: bytes) -> Iterator[bytes]:
    connection = sqlite3.connect(":memory:")
    try:
        # The write-ahead marks in the header stand for a second file that an image does not carry.
        connection.deserialize(data[:18] + b"\x01\x01" + data[20:])
        connection.execute("PRAGMA trusted_schema=OFF")
        for (blob,) in connection.execute("SELECT blob FROM Packages LIMIT ?", (_MOST_PACKAGES,)):
            if isinstance(blob, bytes):
                yield blob
    finally:
        connection.close()


def header_tags(blob: bytes) -> dict[int, str]:
    """The string tags of a header blob; empty when its sizes do not fit."""
    if len(blob) < 8:
        return {}
    entries, size = struct.unpack_from(">II", blob)
    start = 8 + entries * 16
    if entries > _MOST_ENTRIES or start + size > len(blob):
        return {}
    found = {}
    for index in range(entries):
        tag, kind, offset, _ = struct.unpack_from(">IIII", blob, 8 + index * 16)
        if kind == _STRING and offset < size:
            end = blob.find(b"\0", start + offset)
            found[tag] = blob[start + offset : end if end >= 0 else len(blob)].decode("utf-8", "replace")
    return found


class RpmOther:
    """Berkeley DB and ndb databases: no well-kept library reads them from memory."""

    name = "rpm"
    pattern = r"/(?:var/lib/rpm|usr/lib/sysimage/rpm)/Packages(?:\.db)?"
    max_size = 0

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """Says that it is there."""
        kind = "ndb" if path.endswith(".db") else "Berkeley DB"
        yield Note(f"{path} is present ({kind}), not readable here: RPM package records were not used")
