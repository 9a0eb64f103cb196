"""A folder of results: owner-only files with a checksum, written whole, the least used thrown out first."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_LAYOUT = "results-1"
_MAGIC = b"cudacompat result 1 "
_HEAD = len(_MAGIC) + 64 + 1
_MOST_BYTES = 512 << 20
_MOST_OF_ONE = 64 << 20
_MOST_UNPACKED = 256 << 20
_TEMPORARY = ".writing-"
_ABANDONED_SECONDS = 3600
_OTHERS_WRITE = 0o022


class CacheFolder:
    """Results by key, in a folder of this user's own below ``place``; safe for many processes at once.

    What cannot be read or written is as if it were not there: the first trouble with a folder is one warning
    of the logger "cudacompat", and never an error.
    """

    def __init__(self, place: str | Path, most_bytes: int = _MOST_BYTES) -> None:
        self._folder = Path(place).expanduser() / _LAYOUT
        self._most = most_bytes
        self._usable: bool | None = None

    def get(self, key: str) -> bytes | None:
        """What ``put`` was given for the key; None when that is gone, broken or not this user's own."""
        if not self._is_usable():
            return None
        path = self._path(key)
        try:
            data = _read_own(path)
        except OSError:
            return None
        found = None if data is None else _opened(key, data)
        if found is not None:
            # A folder that can only be read serves as well, such as one that a CI job is handed.
            with suppress(OSError):
                os.utime(path)
        return found

    def put(self, key: str, data: bytes) -> None:
        """Keep ``data`` under the key, or nothing of it."""
        if not self._is_usable():
            return
        packed = _closed(key, data)
        if len(packed) > min(_MOST_OF_ONE, self._most) or len(data) > _MOST_UNPACKED:
            return
        try:
            _write_whole(self._path(key), packed)
            self._make_room()
        except OSError as error:
            self._usable = False
            _warn(f"results are not kept: {self._folder} cannot be written: {error.strerror or error}")

    def _path(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()

    def _is_usable(self) -> bool:
        if self._usable is None:
            why = _why_not(self._folder)
            self._usable = why is None
            if why is not None:
                _warn(f"results are not kept: {self._folder} {why}")
        return self._usable

    def _make_room(self) -> None:
        """Throw out what was not used for longest, and what a killed process left half-written."""
        found = sorted(_files(self._folder), reverse=True)
        total = 0
        for used, size, path in found:
            total += size
            abandoned = path.name.startswith(_TEMPORARY) and time.time() - used > _ABANDONED_SECONDS
            if total > self._most or abandoned:
                path.unlink(missing_ok=True)


@lru_cache(maxsize=64)
def _warn(sentence: str) -> None:
    """Once for each sentence, however many images a process reads."""
    logging.getLogger("cudacompat").warning("cudacompat: %s", sentence)


def _user() -> int | None:
    return os.geteuid() if hasattr(os, "geteuid") else None


def _is_own(found: os.stat_result) -> bool:
    """Whether only this user can have written it."""
    user = _user()
    return user is None or (found.st_uid == user and not found.st_mode & _OTHERS_WRITE)


def _why_not(folder: Path) -> str | None:
    """Make the folder; what keeps it from being used."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        return f"cannot be made: {error.strerror or error}"
    if not stat.S_ISDIR(found.st_mode):
        return "is no folder"
    if not _is_own(found):
        return "belongs to somebody else, or others may write there"
    return None


def _read_own(path: Path) -> bytes | None:
    """A file's bytes, None unless it is a plain file that this user alone can have written."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or not _is_own(found) or found.st_size > _MOST_OF_ONE:
            return None
        return file.read(_MOST_OF_ONE)


def _write_whole(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Last use, size and path of every file; one that goes away meanwhile is left out."""
    with os.scandir(folder) as scan:
        for item in scan:
            try:
                found = item.stat(follow_symlinks=False)
            except OSError:
                continue
            yield found.st_mtime, found.st_size, Path(item.path)


def _checksum(key: str, packed: bytes) -> bytes:
    """Over the key too: a file under another name is another result."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape") + b"\0" + packed).hexdigest().encode()


def _closed(key: str, data: bytes) -> bytes:
    packed = zlib.compress(data, 3)
    return _MAGIC + _checksum(key, packed) + b"\n" + packed


def _opened(key: str, data: bytes) -> bytes | None:
    packed = data[_HEAD:]
    if data[:_HEAD] != _MAGIC + _checksum(key, packed) + b"\n":
        return None
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(packed, _MOST_UNPACKED)
    except zlib.error:
        return None
    return found if unpacker.eof else None
