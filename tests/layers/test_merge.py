"""What a container sees of a stack of layers. The rows are what Docker's overlay2 driver shows for the same
layers (Docker 20.10, ``docker load``, ``docker create``, ``docker export``), where Docker loads them at all.
"""

from __future__ import annotations

import pytest

from cudacompat.errors import TargetError
from cudacompat.layers.interface import Entry
from cudacompat.layers.merge import Merged, merge
from cudacompat.layers.record import LayerRecord, LayerRecorder, PathSet, path_hash
from cudacompat.layers.tar import open_layer
from tests.support.tars import END, blob, folder, hardlink, member, symlink


def record(digest: str, *members: bytes) -> LayerRecord[str]:
    """A layer's record with every file's text as its finding."""
    recorder: LayerRecorder[str] = LayerRecorder(digest)
    for entry, content in open_layer(blob(b"".join(members) + END)):
        recorder.add(entry)
        if entry.kind == "file" and not entry.path.rpartition("/")[2].startswith(".wh."):
            recorder.keep(entry.path, content.read().decode())
    return recorder.finish()


def view(*layers: list[bytes]) -> Merged[str]:
    return merge([record(f"layer{number}", *members) for number, members in enumerate(layers)])


def seen(*layers: list[bytes]) -> dict[str, str]:
    merged = view(*layers)
    return {item.path: item.payload for item in merged.items} | {k: f"-> {v}" for k, v in merged.links.items()}


BASE = [
    folder("usr"),
    folder("usr/lib"),
    member("usr/lib/a", "a"),
    symlink("lib", "usr/lib"),
    member("f", "file"),
    folder("d"),
    member("d/in", "in"),
    folder("w"),
    member("w/low", "low"),
]
ALL = {"/usr/lib/a": "a", "/lib": "-> usr/lib", "/f": "file", "/d/in": "in", "/w/low": "low"}


def without(*paths: str) -> dict[str, str]:
    return {path: what for path, what in ALL.items() if path not in paths}


@pytest.mark.parametrize(
    ("upper", "expected"),
    [
        pytest.param([], ALL, id="an empty layer changes nothing"),
        pytest.param([member("f", "new")], {**ALL, "/f": "new"}, id="a file replaces a file"),
        pytest.param([symlink("f", "d")], {**ALL, "/f": "-> d"}, id="a symlink replaces a file"),
        pytest.param([member("lib", "x")], {**ALL, "/lib": "x"}, id="a file replaces a symlink"),
        pytest.param([symlink("lib", "d")], {**ALL, "/lib": "-> d"}, id="a symlink replaces a symlink"),
        pytest.param([folder("f")], without("/f"), id="a folder replaces a file"),
        pytest.param([folder("lib")], without("/lib"), id="a folder replaces a symlink"),
        pytest.param([member("d", "now")], {**without("/d/in"), "/d": "now"}, id="a file replaces a folder"),
        pytest.param([symlink("d", "w")], {**without("/d/in"), "/d": "-> w"}, id="a symlink replaces a folder"),
        pytest.param([folder("d"), member("d/x", "x")], {**ALL, "/d/x": "x"}, id="a folder joins a folder"),
        pytest.param([member(".wh.f")], without("/f"), id="a whiteout deletes a file"),
        pytest.param([member("d/.wh.in")], without("/d/in"), id="a whiteout below the root"),
        pytest.param([member(".wh.d")], without("/d/in"), id="a whiteout deletes a folder"),
        pytest.param([member(".wh.usr")], without("/usr/lib/a"), id="a whiteout deletes everything below"),
        pytest.param([member(".wh.lib")], without("/lib"), id="a whiteout deletes a symlink, not what it leads to"),
        pytest.param([member(".wh.absent")], ALL, id="a whiteout of nothing"),
        pytest.param([member(".wh.f"), member("f", "new")], {**ALL, "/f": "new"}, id="a whiteout before its own file"),
        pytest.param([member("f", "new"), member(".wh.f")], {**ALL, "/f": "new"}, id="a whiteout after its own file"),
        pytest.param(
            [folder("d"), member("d/new", "n"), member(".wh.d")],
            {**without("/d/in"), "/d/new": "n"},
            id="a whiteout of a folder that the same layer fills",
        ),
        pytest.param(
            [member("w/.wh..wh..opq"), member("w/up", "up")],
            {**without("/w/low"), "/w/up": "up"},
            id="an opaque folder, the mark first",
        ),
        pytest.param(
            [member("w/up", "up"), member("w/.wh..wh..opq")],
            {**without("/w/low"), "/w/up": "up"},
            id="an opaque folder, the mark last",
        ),
        pytest.param([member(".wh..wh..opq"), member("x", "x")], {"/x": "x"}, id="an opaque root"),
        pytest.param([member("usr/.wh..wh..opq")], without("/usr/lib/a"), id="opaque reaches all depths"),
        pytest.param([member(".wh..wh.plnk", "x")], ALL, id="a storage driver's bookkeeping"),
        pytest.param([member(".wh."), member(".wh..."), member(".wh..")], ALL, id="whiteouts of no name"),
        pytest.param(
            [member("lib/x", "x")],
            {**without("/lib"), "/lib/x": "x"},
            id="a file below a symlink turns it into a folder",
        ),
        pytest.param(
            [member("lib/.wh.a")], without("/lib"), id="a whiteout below a symlink turns it into a folder as well"
        ),
        pytest.param(
            [member("f/x", "x")], {**without("/f"), "/f/x": "x"}, id="a file below a file turns it into a folder"
        ),
        pytest.param([member("../../esc", "e")], {**ALL, "/esc": "e"}, id="a path out of the root"),
        pytest.param([member("q", "1"), member("q", "2")], {**ALL, "/q": "2"}, id="the last of two files wins"),
        pytest.param([member("q", "1"), symlink("q", "f")], {**ALL, "/q": "-> f"}, id="a symlink after a file"),
        pytest.param([symlink("q", "f"), member("q", "1")], {**ALL, "/q": "1"}, id="a file after a symlink"),
        pytest.param(
            [folder("n"), member("n/i", "i"), symlink("n", "d")],
            {**ALL, "/n": "-> d"},
            id="a symlink after a folder takes what was in it",
        ),
        pytest.param([member("n", "i"), folder("n")], ALL, id="a folder after a file"),
        pytest.param([hardlink("h", "f")], {**ALL, "/h": "file"}, id="a hard link to a lower file"),
        pytest.param(
            [member("x", "x"), hardlink("h", "x"), hardlink("i", "h")],
            {**ALL, "/x": "x", "/h": "x", "/i": "x"},
            id="hard links in a chain",
        ),
        pytest.param([hardlink("h", "lib")], {**ALL, "/h": "-> usr/lib"}, id="a hard link to a symlink"),
        pytest.param([hardlink("h", "absent")], ALL, id="a hard link to nothing"),
        pytest.param([hardlink("h", "h")], ALL, id="a hard link to itself"),
        pytest.param([hardlink("f", "d/in")], {**ALL, "/f": "in"}, id="a hard link replaces a file"),
    ],
)
def test_two_layers(upper: list[bytes], expected: dict[str, str]) -> None:
    assert seen(BASE, upper) == expected


def test_what_was_hidden_stays_hidden() -> None:
    assert seen(BASE, [symlink("d", "w")], [member("d/deep", "deep")]) == {**without("/d/in"), "/d/deep": "deep"}
    assert seen(BASE, [member(".wh.d")], [folder("d")]) == without("/d/in")
    assert seen(BASE, [member(".wh.f")], [member("f", "again")]) == {**ALL, "/f": "again"}


def test_a_hard_link_outlives_its_target() -> None:
    merged = view([member("x", "x"), hardlink("h", "x"), hardlink("i", "x")], [member(".wh.x")])
    assert {item.path: item.payload for item in merged.items} == {"/h": "x", "/i": "x"}
    assert merged.names_of("/h") == ("/i",)


def test_items_name_the_layer_they_come_from() -> None:
    merged = view(BASE, [member("f", "new"), hardlink("h", "d/in")])
    layers = {item.path: item.layer for item in merged.items}
    assert layers["/f"] == layers["/h"] == "layer1"
    assert layers["/d/in"] == "layer0"


LINKS = [
    symlink("lib", "usr/lib"),
    symlink("usr/local/cuda", "/etc/alternatives/cuda"),
    symlink("etc/alternatives/cuda", "/usr/local/cuda-12.4"),
    symlink("usr/local/cuda-12", "cuda-12.4"),
    symlink("usr/local/cuda-12.4/compat/libcuda.so.1", "libcuda.so.550.54.15"),
    symlink("usr/local/cuda-12.4/compat/libcuda.so", "./libcuda.so.1"),
    member("usr/local/cuda-12.4/compat/libcuda.so.550.54.15", "elf"),
    symlink("out", "../../../../etc"),
    symlink("a", "b"),
    symlink("b", "a"),
    symlink("self", "self/x"),
    symlink("grow", "grow/grow/grow"),
    symlink("dotdot", "lib/.."),
    symlink("root", "/"),
    symlink("empty", ""),
]
REAL = "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15"


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("/usr/bin/x", "/usr/bin/x"),
        ("/lib/x", "/usr/lib/x"),
        ("/usr/local/cuda/compat/libcuda.so", REAL),
        ("/usr/local/cuda-12/compat/libcuda.so.1", REAL),
        ("/out/passwd", "/etc/passwd"),
        ("/dotdot/x", "/usr/x"),
        ("/lib/../x", "/usr/x"),
        ("/../../x", "/x"),
        ("/root/root/lib", "/usr/lib"),
        ("/", "/"),
        ("/root", "/"),
        ("/empty", "/"),
        ("/a", None),
        ("/a/x", None),
        ("/self", None),
        ("/grow", None),
    ],
)
def test_resolve(path: str, real: str | None) -> None:
    assert view(LINKS).resolve(path) == real


def test_forty_links_are_followed_and_no_more() -> None:
    chain = [symlink(f"l{n}", f"l{n + 1}") for n in range(50)]
    assert view(chain).resolve("/l10") == "/l50"
    assert view(chain).resolve("/l9") is None


def test_paths_without_end_are_given_up() -> None:
    assert view([symlink(f"l{n}", f"l{n + 1}/" + "x/" * 40) for n in range(30)]).resolve("/l0") is not None
    endless: LayerRecord[str] = LayerRecord("x", links={"/a": "x/" * 4000})
    assert merge([endless]).resolve("/a/b") is None


def test_names_of() -> None:
    merged = view([*LINKS, hardlink("opt/copy", REAL), hardlink("opt/more", REAL)])
    compat = "/usr/local/cuda-12.4/compat"
    links = (f"{compat}/libcuda.so", f"{compat}/libcuda.so.1")
    assert merged.names_of(REAL) == ("/opt/copy", "/opt/more", *links)
    assert merged.names_of("/opt/copy") == ("/opt/more", REAL)
    assert merged.names_of("/usr/local/cuda-12.4") == (
        "/etc/alternatives/cuda",
        "/usr/local/cuda",
        "/usr/local/cuda-12",
    )
    assert merged.names_of("/absent") == ()


def test_path_hashes_are_the_same_everywhere() -> None:
    assert path_hash("/usr/lib") == 0x780053B7566D08D8
    assert path_hash("/a") != path_hash("/b")
    assert isinstance(path_hash("/caf\udce9"), int)


def test_a_path_set_costs_eight_bytes_a_path() -> None:
    recorder: LayerRecorder[str] = LayerRecorder("x")
    for number in range(1000):
        recorder.add(Entry(f"/usr/f{number % 500}", "file"))
    made = recorder.finish()
    assert (len(made.files), len(made.folders)) == (500, 1)
    assert made.files.hashes.itemsize == 8
    assert path_hash("/usr/f7") in made.files
    assert path_hash("/usr/f500") not in made.files
    assert 0 not in PathSet.of(made.files.hashes[:0])


def test_links_without_number_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudacompat.layers.record._MAX_TEXT", 10_000)
    monkeypatch.setattr("cudacompat.layers.record._MAX_PATHS", 200)
    recorder: LayerRecorder[str] = LayerRecorder("x")
    with pytest.raises(TargetError, match=r"^Layer x has too many links"):
        for number in range(100):
            recorder.add(Entry(f"/{number}", "symlink", 0, "y"))
    recorder = LayerRecorder("x")
    with pytest.raises(TargetError, match=r"^Layer x has too many links"):
        for number in range(100):
            recorder.add(Entry(f"/.wh.{number}", "file"))
    recorder = LayerRecorder("x")
    with pytest.raises(TargetError, match=r"^Layer x has more than 200 paths"):
        for number in range(300):
            recorder.add(Entry(f"/{number}", "file"))


def test_many_folders_are_remembered_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudacompat.layers.record._SEEN_FOLDERS", 5)
    recorder: LayerRecorder[str] = LayerRecorder("x")
    for number in range(50):
        recorder.add(Entry(f"/a/b{number}/c/f", "file"))
        assert len(recorder._seen) < 10
    made = recorder.finish()
    assert (len(made.files), len(made.folders)) == (50, 101)
