"""The choice of the compat directory where the recorded runs are silent: names, links, notes, releases, modes."""

from __future__ import annotations

from typing import Any

import pytest

from cudacompat.stack import compat_is_mounted, select_compat

ROOT = "/usr/local/cuda/compat"
CACHE = "/etc/ld.so.cache"
NOTE = '{"format":1,"CUDA version":"12.9","driver":[535,550,575],"device":[1,2]}'


def choose(*names: str, **options: Any) -> str | None:
    given = {
        "files": [CACHE, *(f"{ROOT}/{name}" for name in names)],
        "links": {},
        "note": None,
        "host_driver": "535.104.05",
        "toolkit": "1.20.0",
        "injection": "cdi",
        **options,
    }
    return select_compat(**given)


@pytest.mark.parametrize(
    ("injection", "chosen_by"),
    [
        ("legacy", {"1.16.2": ROOT, "1.17.3": ROOT, "1.17.4": None, "1.17.6": None, "1.17.7": ROOT, "1.20.0": ROOT}),
        ("cdi", {"1.17.3": None, "1.17.4": None, "1.17.5": ROOT, "1.18.0-rc.1": ROOT, "1.19.1": ROOT, "1.20.0": ROOT}),
        ("csv", {"1.17.8": None, "1.18.2": None, "1.19.0": ROOT, "1.20.0": ROOT}),
        ("enroot", {"1.17.3": ROOT, "1.17.4": ROOT, "1.20.0": ROOT}),
        ("apptainer-nvccli", {"1.17.3": ROOT, "1.17.4": ROOT, "1.20.0": ROOT}),
        ("apptainer", {"1.17.3": None, "1.20.0": None}),
        ("gke", {"1.20.0": None}),
        ("none", {"1.20.0": None}),
    ],
)
def test_each_mode_over_the_releases(injection: str, chosen_by: dict[str, str | None]) -> None:
    got = {toolkit: choose("libcuda.so.575.57.08", injection=injection, toolkit=toolkit) for toolkit in chosen_by}
    assert got == chosen_by


@pytest.mark.parametrize(
    ("written", "like"),
    [
        ("1.17.4-1", "1.17.4"),
        ("1.17.4-1.el9", "1.17.4"),
        ("v1.17.4", "1.17.4"),
        ("1.17.4~rc1", "1.17.4"),
        ("1:1.17.4-1", "1.17.4"),
        ("unknown", "1.20.0"),
        ("", "1.20.0"),
        ("1.17", "1.17.0"),
    ],
)
def test_releases_as_packages_write_them(written: str, like: str) -> None:
    for injection in ("legacy", "cdi"):
        got = [choose("libcuda.so.575.57.08", injection=injection, toolkit=toolkit) for toolkit in (written, like)]
        assert got[0] == got[1]


@pytest.mark.parametrize(
    ("mode", "newer", "older"),
    [("ldconfig", ROOT, None), ("mount", ROOT, ROOT), ("disabled", None, None), ("", None, None), ("hook", ROOT, None)],
)
def test_configured_modes_of_the_legacy_path(mode: str, newer: str | None, older: str | None) -> None:
    assert choose("libcuda.so.575.57.08", injection="legacy", compat_mode=mode) == newer
    assert choose("libcuda.so.470.1.1", injection="legacy", compat_mode=mode) == older
    assert choose("libcuda.so.535.1.1", injection="legacy", compat_mode=mode) is None


@pytest.mark.parametrize(
    ("name", "host", "ldconfig", "mount"),
    [
        pytest.param("libcuda.so.999.1", "1000.1", ROOT, ROOT, id="majors are compared as text"),
        pytest.param("libcuda.so.1000.1", "999.1", None, ROOT, id="in both directions"),
        pytest.param("libcuda.so.535.1", "5355.1", None, None, id="only as far as the file's major goes"),
        pytest.param("libcuda.so.535.1", "53.1", ROOT, ROOT, id="a shorter host major is smaller"),
        pytest.param("libcuda.so.x.1", "535.1", None, None, id="no digits: always equal"),
        pytest.param("libcuda.so.575.1", "", ROOT, ROOT, id="no host version is smaller than all"),
    ],
)
def test_the_c_filter(name: str, host: str, ldconfig: str | None, mount: str | None) -> None:
    got = [choose(name, injection="legacy", host_driver=host, compat_mode=mode) for mode in ("ldconfig", "mount")]
    assert got == [ldconfig, mount]


def test_the_command_line_tool_follows_symlinks_and_the_hook_does_not() -> None:
    tree: dict[str, Any] = {
        "files": [CACHE, "/opt/real/libcuda.so.575.57.08"],
        "links": {f"{ROOT}/libcuda.so.1": "/opt/real/libcuda.so.575.57.08"},
    }
    assert choose(**tree, injection="legacy") == "/opt/real"
    assert choose(**tree, injection="cdi") is None
    tree["links"] = {f"{ROOT}/libcuda.so.1": "libcuda.so.575.57.08"}
    assert choose(**tree, injection="legacy") is None


def test_several_versions_stop_the_hook_alone() -> None:
    names = ("libcuda.so.470.1.1", "libcuda.so.575.57.08")
    assert choose(*names, injection="legacy") == ROOT
    assert choose(*names, injection="cdi") is None


@pytest.mark.parametrize(
    "name",
    ["libcuda.so.1", "libcuda.so", "lib/libcuda.so.575.57.08", "libnvidia-ml.so.575.57.08", "xlibcuda.so.575.1.1"],
)
def test_names_that_the_hook_does_not_count(name: str) -> None:
    assert choose(name) is None
    assert choose(name, "libcuda.so.575.57.08") == ROOT


@pytest.mark.parametrize(
    ("links", "found"),
    [
        ({"/usr/local/cuda": "cuda-12.9"}, "/usr/local/cuda-12.9/compat"),
        ({"/usr/local/cuda": "/etc/alternatives/cuda", "/etc/alternatives/cuda": "/usr/local/cuda-12.9"}, "/usr/local/cuda-12.9/compat"),
        ({"/usr/local/cuda": "../../../../usr/local/cuda-12.9"}, "/usr/local/cuda-12.9/compat"),
        ({"/usr/local": "/usr/local"}, None),
        ({"/usr/local/cuda": "a", "/usr/local/a": "cuda"}, None),
        ({"/usr/local/cuda": ""}, None),
    ],
    ids=["relative", "by the alternatives", "out of the root", "a loop", "a longer loop", "an empty target"],
)  # fmt: skip
def test_symlinks_on_the_way(links: dict[str, str], found: str | None) -> None:
    files = ["/usr/local/cuda-12.9/compat/libcuda.so.575.57.08"]
    assert choose(files=files, links=links) == found
    assert choose(files=files, links=links, injection="legacy") == found


@pytest.mark.parametrize(
    ("files", "links", "found"),
    [
        ([], {}, None),
        ([CACHE], {}, ROOT),
        (["/var/cache/ld.so.cache"], {CACHE: "/var/cache/ld.so.cache"}, ROOT),
        ([], {CACHE: "/nowhere"}, None),
        (["/usr/etc/ld.so.cache"], {"/etc": "usr/etc"}, ROOT),
    ],
    ids=["no cache", "a cache", "behind a link", "a dangling link", "below a link"],
)
def test_releases_before_1_18_want_a_linker_cache(files: list[str], links: dict[str, str], found: str | None) -> None:
    given = {"files": [*files, f"{ROOT}/libcuda.so.575.57.08"], "links": links}
    assert choose(**given, toolkit="1.17.8") == found
    assert choose(**given, toolkit="1.18.0") == ROOT


@pytest.mark.parametrize(
    ("version", "host", "before", "since"),
    [
        pytest.param("575.57.08", "575.10.10", None, ROOT, id="the full version counts since 1.20"),
        pytest.param("575.57.08", "575.57.8", None, None, id="equal but for zeros"),
        pytest.param("575.57.08", "550.1-grid", ROOT, ROOT, id="a suffix of the host's"),
        pytest.param("575.57.08", "v550.1", None, ROOT, id="a letter before it"),
        pytest.param("575.57.08", "550.1 ", ROOT, None, id="a blank after it"),
        pytest.param("575.57.08", "550.1.2.3", ROOT, None, id="four parts"),
        pytest.param("575.57.08", "560.1", ROOT, None, id="a branch that the note leaves out"),
        pytest.param("575.57.08-b", "575.57.08-a", None, ROOT, id="suffixes are ordered"),
        pytest.param("575.57.08-01", "535.1", ROOT, None, id="a suffix with a leading zero"),
        pytest.param("99999999999999999999.1", "535.1", None, None, id="more than 64 bits"),
        pytest.param(f"{'9' * 5000}.1", "535.1", None, None, id="more digits than Python converts"),
        pytest.param("-1.1", "-2.1", ROOT, None, id="a sign is a number to Go"),
    ],
)
def test_versions_of_the_hook(version: str, host: str, before: str | None, since: str | None) -> None:
    got = [choose(f"libcuda.so.{version}", host_driver=host, note=NOTE, toolkit=tool) for tool in ("1.19.1", "1.20.0")]
    assert got == [before, since]


def with_note(note: str | None, **options: Any) -> str | None:
    return choose("libcuda.so.575.57.08", note=note, **options)


@pytest.mark.parametrize(
    "note",
    [
        '{"driver":[550]}',
        '{"driver":[535],"DRIVER":[550]}',
        '{"driver":[535],"driver":null}',
        '{"driver":null}',
        "{}",
        "null",
    ],
)
def test_a_note_that_leaves_the_branch_out_decides(note: str) -> None:
    assert with_note(note) is None


@pytest.mark.parametrize(
    "note",
    [
        NOTE,
        '{"driver":[550],"Driver":[535]}',
        '{"format":99,"driver":[535],"x":{"driver":[]}}',
        '{"driver":[null,535]}',
        ' {"driver":[535]}\n',
    ],
)
def test_a_note_that_names_the_branch_decides(note: str) -> None:
    assert with_note(note) == ROOT
    assert with_note(note, host_driver="580.65.06") is None


@pytest.mark.parametrize(
    "note",
    [
        None,
        "",
        "(other vendor)",
        "[]",
        '"x"',
        "1",
        '{"driver":["550"]}',
        '{"driver":[550.0]}',
        '{"driver":[true]}',
        '{"driver":550}',
        '{"driver":[550],"device":["1"]}',
        '{"driver":[550],"format":"1"}',
        '{"driver":[550],"CUDA version":12.9}',
        '{"driver":[9223372036854775808]}',
        '{"driver":["550"],"driver":[550]}',
        '{"driver":[550],"x":NaN}',
        '{"driver":[550]',
        '{"driver":[' + "9" * 5000 + "]}",
        "[" * 100_000,
    ],
    ids=lambda note: str(note)[:40],
)
def test_a_note_that_upstream_cannot_read_is_no_note(note: str | None) -> None:
    assert with_note(note) == ROOT
    assert with_note(note, host_driver="575.10.10") is None


@pytest.mark.parametrize("toolkit", ["1.19.1", "1.20.0"])
@pytest.mark.parametrize(
    ("host_cuda", "found"), [("12.8", ROOT), ("12.9", None), ("12.10", None), ("v12.2", ROOT), ("13", None), ("", None)]
)
def test_the_csv_mode_compares_cuda_versions(toolkit: str, host_cuda: str, found: str | None) -> None:
    given = {"injection": "csv", "host_driver": "", "host_cuda": host_cuda, "toolkit": toolkit}
    assert with_note(NOTE, **given) == found
    assert with_note("{}", **given) is None
    assert with_note(None, **given) is None


def test_a_host_cuda_version_that_is_none_sorts_below_all_at_1_19_only() -> None:
    given = {"injection": "csv", "host_driver": "", "host_cuda": "12.9.0.1"}
    assert with_note(NOTE, **given, toolkit="1.19.1") == ROOT
    assert with_note(NOTE, **given, toolkit="1.20.0") is None


def test_an_unreadable_library_version_leaves_the_cuda_versions_at_1_20() -> None:
    name = "libcuda.so.575.57.08.1"
    assert choose(name, note=NOTE, host_cuda="12.8") == ROOT
    assert choose(name, note=NOTE) is None


def test_another_compat_root() -> None:
    given = {
        "files": [CACHE, "/usr/local/cuda/compat_orin/libcuda.so.1.1"],
        "compat_root": "/usr/local/cuda/compat_orin",
    }
    tegra = {"injection": "csv", "host_driver": "", "host_cuda": "12.6", "note": '{"CUDA version":"13.2"}'}
    assert choose(**given, **tegra) == "/usr/local/cuda/compat_orin"
    assert choose(**given, toolkit="1.17.8", host_driver="0.1") is None


@pytest.mark.parametrize(
    ("injection", "toolkit", "mounted"),
    [
        ("enroot", None, True),
        ("apptainer-nvccli", "1.20.0", True),
        ("legacy", "1.17.3", True),
        ("legacy", "1.17.4", False),
        ("legacy", None, False),
        ("cdi", "1.17.3", False),
    ],
)
def test_where_files_are_mounted_among_the_drivers_own(injection: str, toolkit: str | None, mounted: bool) -> None:
    assert compat_is_mounted(injection=injection, toolkit=toolkit) is mounted
