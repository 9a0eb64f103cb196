"""The walk over a tar's members: ustar, GNU and pax long names, sizes and sparse files, on any tape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cudacompat.errors import TargetError
from cudacompat.layers import sparse
from cudacompat.layers.interface import Content, Entry, EntryKind
from cudacompat.layers.limits import LIMITS, Limits
from cudacompat.layers.tape import Tape, TapeContent
from cudacompat.layers.tar_header import (
    BLOCK,
    MAX_PATH,
    MAX_SIZE,
    ZERO_BLOCK,
    Header,
    normalise,
    number,
    parse_header,
    parse_pax,
)

_MAX_EXTENDED = 1 << 20
_MAX_LONG_NAME = 64 << 10
_KINDS: dict[bytes, EntryKind] = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"S": "file",
    b"1": "hardlink",
    b"2": "symlink",
    b"5": "dir",
}
_EXTENDED = frozenset((b"x", b"X", b"g", b"L", b"K"))
# These have no data behind them, whatever their size field says.
_HEADER_ONLY = frozenset((b"1", b"2", b"3", b"4", b"5", b"6"))


@dataclass(slots=True)
class _Overrides:
    """What the extended headers before a member say about it."""

    name: bytes | None = None
    linkname: bytes | None = None
    size: int | None = None
    sparse: dict[str, bytes] = field(default_factory=dict)
    records: list[tuple[str, bytes]] = field(default_factory=list)


_NOTHING = _Overrides()


class TarWalk:
    """The members of the tar on ``tape``. ``notes`` are sentences on files that were left out."""

    def __init__(self, tape: Tape, limits: Limits = LIMITS) -> None:
        self.notes: list[str] = []
        self._tape = tape
        self._where = tape.where
        self._limits = limits
        self._holes = 0
        self._extended = 0

    def members(self) -> Iterator[tuple[Entry, Content]]:
        """Each member and its content, which is readable until the next one is asked for.

        Raises TargetError when the tar is broken, truncated or beyond the limits.
        """
        overrides = None
        count = 0
        while (header := self._next_header()) is not None:
            count += 1
            if count > self._limits.entries:
                raise TargetError(f"{self._where} has more than {self._limits.entries} tar members.")
            if header.type in _EXTENDED:
                overrides = overrides or _Overrides()
                self._extend(overrides, header)
                continue
            entry, content, stored = self._member(header, overrides or _NOTHING)
            overrides = None
            yield entry, content
            self._pass(stored)

    def _pass(self, content: TapeContent) -> None:
        """To the next header. A tar may lack the last member's padding."""
        content.close()
        self._tape.skip(-content.size % BLOCK)

    def _next_header(self) -> Header | None:
        """The next header; None at the end: two zero blocks, or as far as the bytes go."""
        block = self._tape.take(BLOCK)
        if block == ZERO_BLOCK:
            if self._tape.take(BLOCK) not in {ZERO_BLOCK, b""}:
                raise TargetError(f"{self._where} is broken: a lone zero block stands between its tar members.")
            return None
        if not block:
            return None
        if len(block) < BLOCK:
            raise TargetError(f"{self._where} is truncated: it ends in the middle of a tar header.")
        return parse_header(block, self._where)

    def _extend(self, overrides: _Overrides, header: Header) -> None:
        """Take up an extended header; global ones are passed over, as container engines do."""
        limit = _MAX_LONG_NAME if header.type in b"LK" else _MAX_EXTENDED
        if header.size > limit:
            raise TargetError(f"{self._where} has an extended tar header of {header.size} bytes.")
        self._extended += header.size
        if self._extended > self._limits.extended:
            raise TargetError(f"{self._where} has more than {self._limits.extended} bytes of extended tar headers.")
        content = self._tape.content(header.size, "an extended header")
        data = content.read()
        self._pass(content)
        if header.type == b"L":
            overrides.name = data.partition(b"\0")[0]
        elif header.type == b"K":
            overrides.linkname = data.partition(b"\0")[0]
        elif header.type != b"g":
            self._take_records(overrides, parse_pax(data, self._where))

    def _take_records(self, overrides: _Overrides, records: list[tuple[str, bytes]]) -> None:
        overrides.records = records
        for key, value in records:
            if key == "path":
                overrides.name = value.partition(b"\0")[0]
            elif key == "linkpath":
                overrides.linkname = value.partition(b"\0")[0]
            elif key == "size":
                overrides.size = sparse.decimal(value, self._where)
            elif key.startswith("GNU.sparse."):
                overrides.sparse[key[11:]] = value

    def _member(self, header: Header, overrides: _Overrides) -> tuple[Entry, Content, TapeContent]:
        name = overrides.sparse.get("name") or overrides.name or header.name
        if len(name) > MAX_PATH:
            raise TargetError(f"{self._where} has a path of {len(name)} bytes; Linux allows {MAX_PATH}.")
        path = normalise(name)
        kind = _KINDS.get(header.type, "other")
        if kind == "file" and name.endswith(b"/") and header.type != b"7":
            kind = "dir"  # how tars older than ustar write folders
        size = header.size if overrides.size is None else overrides.size
        if header.type in _HEADER_ONLY:
            size = 0
        if size > MAX_SIZE:
            raise TargetError(f"{self._where} is broken: {path} claims to have {size} bytes.")
        if kind == "file" and (header.type == b"S" or overrides.sparse):
            return self._sparse(path, size, header, overrides)
        stored = self._tape.content(size, path)
        return Entry(path, kind, size, self._target(kind, header, overrides)), stored, stored

    def _target(self, kind: EntryKind, header: Header, overrides: _Overrides) -> str | None:
        if kind not in {"symlink", "hardlink"}:
            return None
        target = overrides.linkname or header.linkname
        if len(target) > MAX_PATH:
            raise TargetError(f"{self._where} has a link target of {len(target)} bytes; Linux allows {MAX_PATH}.")
        return normalise(target) if kind == "hardlink" else target.decode("utf-8", "surrogateescape")

    def _sparse(
        self, path: str, size: int, header: Header, overrides: _Overrides
    ) -> tuple[Entry, Content, TapeContent]:
        """A sparse file as the file it stands for, or as "other" once the layer's holes are too many."""
        base = 0
        if header.type == b"S":
            extents, whole = self._old_gnu_map(header.block)
            stored = self._tape.content(size, path)
        else:
            whole = self._whole_size(overrides.sparse, size)
            stored = self._tape.content(size, path)
            if overrides.sparse.get("major") == b"1":
                extents, base = sparse.leading_extents(stored, self._where)
            else:
                extents = sparse.pax_extents(overrides.records, self._where)
        sparse.check_extents(extents, size - base, whole, self._where)
        self._holes += whole - sum(length for _, length in extents)
        if self._holes > self._limits.holes:
            self.notes.append(f"{self._where}: the sparse file {path} claims {whole} bytes and was not read.")
            return Entry(path, "other", whole), stored, stored
        return Entry(path, "file", whole), sparse.SparseContent(stored, extents, whole, base), stored

    def _old_gnu_map(self, block: bytes) -> tuple[list[sparse.Extent], int]:
        whole = number(block[483:495], self._where)
        extents = sparse.gnu_extents(block, 386, 4, self._where)
        more = block[482]
        while more:
            block = self._tape.take(BLOCK)
            if len(block) < BLOCK or len(extents) > sparse.MAX_EXTENTS:
                raise TargetError(f"{self._where} is broken: a sparse file's map does not end.")
            extents += sparse.gnu_extents(block, 0, 21, self._where)
            more = block[504]
        return extents, whole

    def _whole_size(self, keys: dict[str, bytes], stored: int) -> int:
        value = keys.get("realsize") or keys.get("size")
        return stored if value is None else sparse.decimal(value, self._where)
