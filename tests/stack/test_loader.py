"""Which libcuda.so.1 wins, one row per rule of the search order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from cudacompat.model import SharedLibrary
from cudacompat.stack.loader import Container, Search, choose_libcuda, find_needed, split_ld_library_path
from cudacompat.stack.paths import resolve

LIB = "/usr/lib/x86_64-linux-gnu"
COMPAT = "/usr/local/cuda-13.0/compat"
CUDA_LINK = {"/usr/local/cuda": "/usr/local/cuda-13.0"}


def lib(path: str, *names: str, size: int = 100, soname: str | None = "libcuda.so.1") -> SharedLibrary:
    version = path.rpartition("libcuda.so.")[2] if "libcuda.so." in path else None
    return SharedLibrary(path, names, soname, version, size=size)


NEWER = lib(f"{COMPAT}/libcuda.so.580.65.06", f"{COMPAT}/libcuda.so.1")
UNLINKED = lib(f"{COMPAT}/libcuda.so.580.65.06")
BAKED = lib(f"{LIB}/libcuda.so.570.86.10", f"{LIB}/libcuda.so.1")
STUB = lib("/usr/local/cuda-13.0/lib64/stubs/libcuda.so", "/usr/local/cuda-13.0/lib64/stubs/libcuda.so.1")

ROWS = [
    ("the host's library by default", [], [], [], "legacy", None, False, "host", "injection"),
    ("a folder of LD_LIBRARY_PATH comes first", [NEWER], [COMPAT], [], "legacy", None, False, "compat", "LD_LIBRARY_PATH"),
    ("through the /usr/local/cuda link", [NEWER], ["/usr/local/cuda/compat"], [], "cdi", None, False, "compat", "LD_LIBRARY_PATH"),
    ("without its .so.1 name LD_LIBRARY_PATH finds nothing", [UNLINKED], [COMPAT], [], "legacy", None, False, "host", "injection"),
    ("ldconfig needs no .so.1 name", [UNLINKED], [], [COMPAT], "legacy", None, False, "compat", "ld.so.conf"),
    ("ld.so.conf stands before the default folders", [NEWER], [], [COMPAT], "legacy", None, False, "compat", "ld.so.conf"),
    ("what the stack put in front", [NEWER], [], [], "cdi", COMPAT, False, "compat", "injection"),
    ("LD_LIBRARY_PATH beats what the stack put in front", [NEWER, STUB], ["/usr/local/cuda-13.0/lib64/stubs"], [], "cdi", COMPAT, False, "stub", "LD_LIBRARY_PATH"),
    ("mounted compat wins by the higher version", [NEWER], [], [], "legacy", COMPAT, True, "compat", "injection"),
    ("an older library of the image loses to the host's", [lib(f"{LIB}/libcuda.so.470.82.01")], [], [], "legacy", None, False, "host", "injection"),
    ("a newer library of the image wins", [BAKED], [], [], "legacy", None, False, "baked", "default"),
    ("an empty file is skipped", [lib(f"{LIB}/libcuda.so.570.86.10", size=0)], [], [], "legacy", None, False, "host", "injection"),
    ("a stub in ld.so.conf", [STUB], [], ["/usr/local/cuda-13.0/lib64/stubs"], "legacy", None, False, "stub", "ld.so.conf"),
    ("GKE without its folder finds nothing", [], [], [], "gke", None, False, "none", "nowhere"),
    ("GKE with its folder", [], ["/usr/local/nvidia/lib64"], [], "gke", None, False, "host", "LD_LIBRARY_PATH"),
    ("GKE after a compat folder", [NEWER], [COMPAT, "/usr/local/nvidia/lib64"], [], "gke", None, False, "compat", "LD_LIBRARY_PATH"),
    ("/usr/local/nvidia is empty elsewhere", [], ["/usr/local/nvidia/lib64"], [], "legacy", None, False, "host", "injection"),
    ("apptainer appends its folder", [NEWER], [COMPAT], [], "apptainer", None, False, "compat", "LD_LIBRARY_PATH"),
    ("apptainer alone", [], [], [], "apptainer", None, False, "host", "LD_LIBRARY_PATH"),
    ("apptainer before ld.so.conf", [NEWER], [], [COMPAT], "apptainer", None, False, "host", "LD_LIBRARY_PATH"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_search_order(
    row: tuple[str, Sequence[SharedLibrary], Sequence[str], Sequence[str], str, str | None, bool, str, str],
) -> None:
    _, libraries, path, conf, injection, compat, mounted, kind, via = row
    container = Container(libraries, CUDA_LINK, path, conf, injection, "550.54.15", compat, mounted)
    found = choose_libcuda(container)
    assert (found.kind, found.via) == (kind, via)


def test_nothing_injected_and_nothing_there() -> None:
    assert choose_libcuda(Container([], {}, [], [], "none", None)).kind == "none"


@pytest.mark.parametrize(
    ("value", "parts"),
    [(None, ()), ("", ()), ("/a:/b", ("/a", "/b")), ("/a;/b", ("/a", "/b")), (":/a:", ("/a",)), ("x:/a", ("/a",))],
)
def test_splitting_a_library_path(value: str | None, parts: tuple[str, ...]) -> None:
    assert split_ld_library_path(value) == parts


@pytest.mark.parametrize(
    ("path", "links", "real"),
    [
        ("/usr/local/cuda/compat", CUDA_LINK, COMPAT),
        ("/a", {"/a": "b", "/b": "/c"}, "/c"),
        ("/a/x", {"/a": "../../../etc"}, "/etc/x"),
        ("/a", {"/a": "/a"}, "/a"),
        ("/lib/x", {"/lib": "usr/lib"}, "/usr/lib/x"),
        ("/d/../e/./f", {}, "/e/f"),
    ],
)
def test_links_are_followed_inside_the_root(path: str, links: Mapping[str, str], real: str) -> None:
    assert resolve(path, links) == real


WHEEL = "/usr/lib/python3/site-packages"
RUNTIME = SharedLibrary(f"{WHEEL}/nvidia/cu13/lib/libcudart.so.13", size=9)
BASE = SharedLibrary(
    "/usr/local/cuda-13.5/lib64/libcudart.so.13.5.37", ("/usr/local/cuda-13.5/lib64/libcudart.so.13",), size=9
)
ORIGIN = "$ORIGIN/../../nvidia/cu13/lib"


@pytest.mark.parametrize(
    ("rpath", "runpath", "path", "taken"),
    [
        ((ORIGIN,), (), (), RUNTIME),
        ((ORIGIN,), (), ("/usr/local/cuda-13.5/lib64",), RUNTIME),
        ((), (ORIGIN,), (), RUNTIME),
        ((), (ORIGIN,), ("/usr/local/cuda-13.5/lib64",), BASE),
        ((ORIGIN,), ("/nowhere",), (), None),
        ((), (), ("/usr/local/cuda/lib64",), BASE),
        ((), (), (), None),
    ],
    ids=[
        "DT_RPATH",
        "DT_RPATH beats LD_LIBRARY_PATH",
        "DT_RUNPATH",
        "LD_LIBRARY_PATH beats DT_RUNPATH",
        "a DT_RUNPATH switches DT_RPATH off",
        "through a link of the folder",
        "nowhere",
    ],
)
def test_which_runtime_a_library_gets(
    rpath: tuple[str, ...], runpath: tuple[str, ...], path: tuple[str, ...], taken: SharedLibrary | None
) -> None:
    consumer = SharedLibrary(f"{WHEEL}/torch/lib/libtorch_cuda.so", rpath=rpath, runpath=runpath)
    search = Search([RUNTIME, BASE], {"/usr/local/cuda": "/usr/local/cuda-13.5"}, path, ())
    assert find_needed("libcudart.so.13", consumer, search) == taken
