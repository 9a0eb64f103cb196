"""RPM's databases: real sqlite ones with header blobs made by hand, and the forms that are only noted."""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from cudacompat.evidence.rpm import header_tags
from tests.support.evidence import brief, files, notes, observed, parts

PATH = "/var/lib/rpm/rpmdb.sqlite"
STRING, INT32, STRINGS, I18N = 6, 4, 8, 9
TABLE = "CREATE TABLE 'Packages' (hnum INTEGER PRIMARY KEY AUTOINCREMENT,blob BLOB NOT NULL)"
needs_deserialize = pytest.mark.skipif(
    not hasattr(sqlite3.Connection, "deserialize"), reason="sqlite3 reads bytes from Python 3.11 on"
)


def header(name: str, version: str, release: str) -> bytes:
    """A header blob: index entries and data, numbers big-endian, with the region tag that RPM puts first."""
    values: Sequence[tuple[int, int, bytes, int]] = (
        (1000, STRING, name.encode() + b"\0", 1),
        (1001, STRING, version.encode() + b"\0", 1),
        (1002, STRING, release.encode() + b"\0", 1),
        (1004, I18N, b"a summary\0", 1),
        (1009, INT32, struct.pack(">I", 4711), 1),
        (1086, STRINGS, b"/usr/local\0cuda\0", 2),
        (1022, STRING, b"x86_64\0", 1),
    )
    index, data = b"", b""
    for tag, kind, value, count in values:
        data += bytes(-len(data) % 4) if kind == INT32 else b""
        index += struct.pack(">IIII", tag, kind, len(data), count)
        data += value
    region = struct.pack(">IIiI", 62, 7, -16 * (len(values) + 1), 16)
    index = struct.pack(">IIII", 62, 7, len(data), 16) + index
    data += region
    return struct.pack(">II", len(values) + 1, len(data)) + index + data


def database(*blobs: object, folder: Path, table: str = TABLE, wal: bool = False) -> bytes:
    """A database file as rpm writes it."""
    path = folder / "rpmdb.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode={'WAL' if wal else 'DELETE'}")
    connection.execute(table)
    connection.execute("CREATE TABLE 'Name' (key 'TEXT' NOT NULL, hnum INTEGER NOT NULL, idx INTEGER NOT NULL)")
    connection.executemany("INSERT INTO Packages (blob) VALUES (?)", [(blob,) for blob in blobs])
    connection.commit()
    connection.close()
    return path.read_bytes()


PACKAGES = [
    ("cuda-cudart-12-4", "12.4.127", "1", ("cudart", "12.4.127", "12.4")),
    ("cuda-compat-12-4", "550.54.15", "1.el9", ("libcuda-compat", "550.54.15", "12.4")),
    ("libcudnn9-cuda-12", "9.1.0.70", "1", ("cudnn", "9.1.0.70", "12")),
    ("libnccl", "2.21.5", "1+cuda12.4", ("nccl", "2.21.5", "12.4")),
    ("libcublas-12-4", "12.4.5.8", "1", ("cublas", "12.4.5.8", "12.4")),
    ("nvidia-driver-cuda-libs", "550.54.15", "1.el9", ("driver", "550.54.15", None)),
]


@needs_deserialize
@pytest.mark.parametrize("wal", [False, True], ids=["rollback journal", "write-ahead"])
def test_the_packages_of_a_database(tmp_path: Path, wal: bool) -> None:
    others = [header("glibc", "2.34", "100.el9"), header("gpg-pubkey", "d42d0685", "62589a51")]
    blobs = [header(*row[:3]) for row in PACKAGES]
    data = database(others[0], *blobs, others[1], folder=tmp_path, wal=wal)
    found = parts(PATH, data)
    assert brief(found) == [row[3] for row in PACKAGES]
    assert {(part.found_by, part.path, part.layer, part.evidence.where) for part in found} == {
        ("rpm", None, "sha256:layer", PATH)
    }
    assert found[0].evidence.value == "cuda-cudart-12-4 12.4.127-1"
    assert notes(PATH, data) == []


@needs_deserialize
def test_a_database_of_thousands_of_packages(tmp_path: Path) -> None:
    blobs = [header(f"package-{number}", "1", "1") for number in range(4000)]
    data = database(*blobs, header("cuda-cudart-13-0", "13.0.96", "1"), folder=tmp_path)
    assert brief(parts(PATH, data)) == [("cudart", "13.0.96", "13.0")]


@needs_deserialize
def test_rows_that_are_no_headers_are_passed_over(tmp_path: Path) -> None:
    good = header("cuda-cudart-12-4", "12.4.127", "1")
    many = struct.pack(">II", 2**32 - 1, 2**32 - 1) + good
    rows = [b"", b"\0" * 7, "text", 7, good[:20], many, header("cuda-cudart-12-4", "9" * 300, "1"), good]
    assert brief(parts(PATH, database(*rows, folder=tmp_path))) == [("cudart", "12.4.127", "12.4")]


@pytest.mark.parametrize("cut", range(0, len(header("a", "1", "2")), 7))
def test_a_header_cut_anywhere_is_none(cut: int) -> None:
    assert header_tags(header("a", "1", "2")[:cut]) == {}


def test_a_headers_tags() -> None:
    assert header_tags(header("a", "1", "2")) == {1000: "a", 1001: "1", 1002: "2"}
    outside = struct.pack(">II", 1, 4) + struct.pack(">IIII", 1000, STRING, 4, 1) + b"abcd"
    assert header_tags(outside) == {}
    open_end = struct.pack(">II", 1, 4) + struct.pack(">IIII", 1000, STRING, 1, 1) + b"abcdefgh"
    assert header_tags(open_end) == {1000: "bcd"}
    wrong_type = struct.pack(">II", 1, 4) + struct.pack(">IIII", 1000, INT32, 0, 1) + b"abc\0"
    assert header_tags(wrong_type) == {}


HOSTILE = [
    "CREATE VIEW Packages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS blob FROM n",
    "CREATE VIEW Packages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS blob FROM n WHERE x < 0",
    "CREATE VIEW Packages AS SELECT zeroblob(900000000) AS blob FROM sqlite_master",
    "CREATE TABLE Packages (hnum INTEGER PRIMARY KEY, x TEXT, blob AS (zeroblob(900000000)))",
    "CREATE TABLE Packages (hnum INTEGER PRIMARY KEY, x TEXT, blob TEXT GENERATED ALWAYS AS (x LIKE '%a%a%a%'))",
    "CREATE VIRTUAL TABLE Packages USING fts5(blob)",
    "CREATE TABLE Packages (hnum INTEGER PRIMARY KEY, other BLOB)",
    "CREATE TABLE Other (blob BLOB)",
]


@needs_deserialize
@pytest.mark.parametrize("statement", HOSTILE, ids=[row[:60] + row[-30:] for row in HOSTILE])
def test_tables_that_compute_or_are_missing_are_noted(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "x"
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    assert parts(PATH, path.read_bytes()) == []
    (note,) = notes(PATH, path.read_bytes())
    assert note.startswith(f"{PATH} is present but cannot be read: ")


def varint(value: int) -> bytes:
    return bytes([value >> 7 | 0x80, value & 0x7F])


@needs_deserialize
def test_rows_that_share_their_bytes_are_a_bomb(tmp_path: Path) -> None:
    """A thousand short rows made to claim the pages of a long one: more comes out than the file holds."""
    path = tmp_path / "x"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA page_size=512")
    connection.execute(TABLE)
    # In pages of 512 bytes a row of 39 + 508 * n bytes keeps 39 in its place and has n pages elsewhere.
    short, long = 39 + 508, 39 + 508 * 15
    rows = [(bytes(long - 4),), *([(bytes(short - 4),)] * 1000)]
    connection.executemany("INSERT INTO Packages (blob) VALUES (?)", rows)
    connection.commit()
    connection.close()

    def cell(length: int) -> re.Pattern[bytes]:
        claims = re.escape(varint(length)), re.escape(b"\4\0" + varint(2 * (length - 4) + 12))
        return re.compile(claims[0] + rb"([\x80-\xff]?[\0-\x7f])" + claims[1] + rb"(.{35})(.{4})", re.DOTALL)

    data = path.read_bytes()
    (pages,) = (match[3] for match in cell(long).finditer(data))
    claim = b"\4\0" + varint(2 * (long - 4) + 12)
    bomb, count = cell(short).subn(lambda match: varint(long) + match[1] + claim + match[2] + pages, data)
    assert count >= 999
    assert notes(PATH, data) == []
    (note,) = notes(PATH, bomb)
    assert "more than the file" in note


@needs_deserialize
def test_a_schema_of_thousands_of_tables_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "x"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=OFF")
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute("CREATE TABLE a (b)")
    row = "INSERT INTO sqlite_master SELECT type, 'a' || value, 'a' || value, rootpage, 'CREATE TABLE a' || value || ' (b)'"
    numbers = "WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 100000)"
    connection.execute(f"{numbers} {row} FROM sqlite_master, n")
    connection.commit()
    connection.close()
    (note,) = notes(PATH, path.read_bytes())
    assert "interrupted" in note


@needs_deserialize
@pytest.mark.parametrize(
    "data",
    [b"", b"SQLite format 3\0", b"\0" * 4096, b"no database at all" * 400],
    ids=["empty", "only the magic", "zeros", "text"],
)
def test_what_is_no_database_is_noted(data: bytes) -> None:
    assert parts(PATH, data) == []
    assert len(notes(PATH, data)) == 1


@needs_deserialize
@pytest.mark.parametrize("step", range(1, 16))
def test_a_database_cut_or_overwritten_never_raises(tmp_path: Path, step: int) -> None:
    data = database(*[header(f"cuda-cudart-12-{number}", "12.4.127", "1") for number in range(200)], folder=tmp_path)
    observed(PATH, data[: len(data) * step // 16])
    bent = bytearray(data)
    bent[len(data) * step // 16 :: 997] = b"\xff" * len(bent[len(data) * step // 16 :: 997])
    observed(PATH, bytes(bent))


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/var/lib/rpm/Packages", "Berkeley DB"),
        ("/var/lib/rpm/Packages.db", "ndb"),
        ("/usr/lib/sysimage/rpm/Packages.db", "ndb"),
    ],
)
def test_the_other_forms_are_noted_whatever_their_size(path: str, word: str) -> None:
    facts = files({path: "\0" * 100_000})
    assert facts.components == ()
    (note,) = facts.coverage.notes
    assert note.startswith(f"{path} is present ({word})")
