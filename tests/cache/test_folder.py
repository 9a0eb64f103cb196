"""The folder of results: what comes back, what never does, and what many processes do to it."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.cache import folder as room
from cudacompat.cache.folder import CacheFolder


def kept(place: Path) -> list[Path]:
    return sorted((place / "results-1").iterdir())


@given(st.text(), st.binary(max_size=4096))
def test_what_was_put_comes_back(tmp_path_factory: pytest.TempPathFactory, key: str, data: bytes) -> None:
    place = tmp_path_factory.mktemp("cache")
    CacheFolder(place).put(key, data)
    assert CacheFolder(place).get(key) == data
    assert CacheFolder(place).get(key + "?") is None


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    CacheFolder(tmp_path / "new" / "place").put("key", b"data")
    folder = tmp_path / "new" / "place" / "results-1"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)


def of_another_form(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"result 1", b"result 2"))


def another_result(path: Path) -> None:
    CacheFolder(path.parent.parent).put("other", b"other data")
    other = next(item for item in path.parent.iterdir() if item != path)
    other.replace(path)


def a_link(path: Path) -> None:
    real = path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(real)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def written_by_others(path: Path) -> None:
    path.chmod(0o666)


BREAKS = (emptied, cut, flipped, of_another_form, another_result, a_link, a_folder, a_pipe, written_by_others)


@pytest.mark.parametrize("change", BREAKS, ids=lambda change: change.__name__)
def test_a_file_that_is_not_what_was_put_is_as_if_gone(tmp_path: Path, change: Callable[[Path], None]) -> None:
    CacheFolder(tmp_path).put("key", b"data" * 100)
    change(kept(tmp_path)[0])
    assert CacheFolder(tmp_path).get("key") is None


def test_files_of_somebody_else_are_as_if_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = CacheFolder(tmp_path)
    mine.put("key", b"data")
    assert mine.get("key") == b"data"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert mine.get("key") is None
    assert CacheFolder(tmp_path).get("key") is None


def test_a_folder_that_can_only_be_read_still_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CacheFolder(tmp_path).put("key", b"data")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    assert CacheFolder(tmp_path).get("key") == b"data"


def is_a_file(place: Path) -> None:
    place.write_text("")


def lies_below_a_file(place: Path) -> None:
    place.parent.rmdir()
    place.parent.write_text("")


def open_to_others(place: Path) -> None:
    (place / "results-1").mkdir(parents=True)
    (place / "results-1").chmod(0o777)


def led_elsewhere(place: Path) -> None:
    place.mkdir()
    (place.parent / "aim").mkdir()
    (place / "results-1").symlink_to(place.parent / "aim")


@pytest.mark.parametrize(
    "make", [is_a_file, lies_below_a_file, open_to_others, led_elsewhere], ids=lambda m: m.__name__
)
def test_a_place_of_no_use_is_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, make: Callable[[Path], None]
) -> None:
    place = tmp_path / "in" / "place"
    place.parent.mkdir()
    make(place)
    room._warn.cache_clear()
    with caplog.at_level(logging.WARNING, "cudacompat"):
        for _ in range(3):
            cache = CacheFolder(place)
            cache.put("key", b"data")
            assert cache.get("key") is None
    assert [record.getMessage() for record in caplog.records] == [caplog.messages[0]]
    assert str(place) in caplog.messages[0] and "results are not kept" in caplog.messages[0]


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    data = os.urandom(1000)
    cache = CacheFolder(tmp_path, most_bytes=3500)
    for number, name in enumerate("abc"):
        cache.put(name, data)
        path = cache._path(name)
        os.utime(path, (number, number))
    assert cache.get("a") == data
    cache.put("d", data)
    assert [name for name in "abcd" if cache.get(name)] == ["a", "c", "d"]
    cache.put("big", os.urandom(4000))
    assert cache.get("big") is None and cache.get("a") == data


def test_half_written_files_of_killed_processes_go(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path)
    cache.put("key", b"data")
    old, young = tmp_path / "results-1" / ".writing-old", tmp_path / "results-1" / ".writing-young"
    old.write_bytes(b"x")
    young.write_bytes(b"x")
    os.utime(old, (time.time() - 7200,) * 2)
    cache.put("other", b"data")
    assert not old.exists() and young.exists() and cache.get("key") == b"data"


def test_a_result_that_unpacks_to_far_more_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CacheFolder(tmp_path).put("key", bytes(1 << 20))
    monkeypatch.setattr(room, "_MOST_UNPACKED", 1000)
    assert CacheFolder(tmp_path).get("key") is None


WRITER = """
import sys
from cudacompat.cache.folder import CacheFolder
cache = CacheFolder(sys.argv[1], most_bytes=200_000)
for turn in range(60):
    key = f"key {turn % 7}"
    found = cache.get(key)
    assert found in (None, (key * 3000).encode()), "another result"
    cache.put(key, (key * 3000).encode())
"""


def test_many_processes_at_once_see_whole_results_only(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    assert [(process.communicate()[1], process.returncode) for process in running] == [("", 0)] * 6
    assert not [path for path in kept(tmp_path) if path.name.startswith(".")]
