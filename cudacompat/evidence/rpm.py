"""RPM's database in its three forms. sqlite is read, the other two are reported as present.

The header blob's layout: two big-endian counts (index entries, bytes of data), the entries (tag, type,
offset, count: 16 bytes each), then the data. Source: RPM's file format documentation.
"""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Iterable, Iterator

from cudacompat.evidence import names
from cudacompat.evidence.interface import Note, Observation
from cudacompat.model import Evidence

_NAME, _VERSION, _RELEASE = 1000, 1001, 1002
_STRING = 6
_MOST_ENTRIES = 4096
_LONGEST = 200
# A full desktop has some 3,000 packages. A row takes three of sqlite's steps, an object of the schema some ten.
_MOST_STEPS = 250_000
_STEPS_AT_ONCE = 1000
# Columns alone: what computes a column has parentheses of its own, a view or a virtual table other words.
_PLAIN_TABLE = re.compile(r"CREATE TABLE ['\"]?Packages['\"]?\s*\([\w\s,'\"]*\)")


class RpmSqlite:
    """rpmdb.sqlite of current distributions."""

    name = "rpm"
    pattern = r"/(?:var/lib/rpm|usr/lib/sysimage/rpm|usr/share/rpm)/rpmdb\.sqlite"
    # Read, mended and taken over by sqlite, the bytes are in memory three times.
    max_size = 64 << 20

    def read(self, path: str, data: bytes, layer: str) -> Iterable[Observation]:
        """One component for each CUDA package; a Note when the database cannot be read to its end."""
        if not hasattr(sqlite3.Connection, "deserialize"):
            yield Note(f"{path} is present; reading it needs Python 3.11 or newer")
            return
        try:
            for blob in _header_blobs(data):
                tags = header_tags(blob)
                version = f"{tags.get(_VERSION, '')}-{tags.get(_RELEASE, '')}"
                named = names.system_package(tags[_NAME], version) if _NAME in tags and _VERSION in tags else None
                if named is not None:
                    evidence = Evidence("package", path, f"{tags[_NAME]} {version}", layer)
                    yield names.component(named, "rpm", evidence, None)
        except (sqlite3.Error, ValueError, MemoryError, OverflowError) as error:
            yield Note(f"{path} is present but cannot be read: {error}")


def _header_blobs(data: bytes) -> Iterator[bytes]:
    """The blobs of the table Packages. Raises sqlite3.Error and ValueError for what rpm has not written."""
    connection = sqlite3.connect(":memory:")
    try:
        # The write-ahead marks in the header stand for a second file that an image does not carry.
        connection.deserialize(data[:18] + b"\x01\x01" + data[20:])
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(len(data), 1))
        calls = iter(range(_MOST_STEPS // _STEPS_AT_ONCE))
        connection.set_progress_handler(lambda: next(calls, None) is None, _STEPS_AT_ONCE)
        connection.execute("PRAGMA trusted_schema=OFF")
        _check_table(connection)
        left = len(data)
        for (blob,) in connection.execute("SELECT blob FROM Packages"):
            if isinstance(blob, bytes):
                left -= len(blob)
                if left < 0:
                    raise ValueError("its rows hold more than the file")
                yield blob
    finally:
        connection.close()


def _check_table(connection: sqlite3.Connection) -> None:
    row = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'Packages'").fetchone()
    if row is None or not isinstance(row[0], str) or _PLAIN_TABLE.fullmatch(row[0]) is None:
        raise ValueError("it has no plain table Packages")


def header_tags(blob: bytes) -> dict[int, str]:
    """Name, version and release of a header blob by tag number; empty when its sizes do not fit."""
    if len(blob) < 8:
        return {}
    entries, size = struct.unpack_from(">II", blob)
    start = 8 + entries * 16
    if entries > _MOST_ENTRIES or start + size > len(blob):
        return {}
    found = {}
    for index in range(entries):
        tag, kind, offset, _ = struct.unpack_from(">IIII", blob, 8 + index * 16)
        if tag in (_NAME, _VERSION, _RELEASE) and kind == _STRING and offset < size:
            raw = blob[start + offset : min(start + offset + _LONGEST, start + size)]
            found[tag] = raw.partition(b"\0")[0].decode("utf-8", "replace")
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
