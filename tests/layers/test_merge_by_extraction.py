"""The merged view against real folders: each layer unpacked by itself, then laid over the one below."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.layers.test_merge import seen
from tests.support.tars import folder, member, symlink

Operation = tuple[str, str, str]

NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.tuples(st.just("file"), NAMES, st.integers(0, 99).map(str)),
    st.tuples(st.just("folder"), NAMES, st.just("")),
    st.tuples(st.just("link"), NAMES, NAMES),
    st.tuples(st.just("whiteout"), NAMES, st.just("")),
    st.tuples(st.just("opaque"), NAMES, st.just("")),
)


def unpack(operations: list[Operation], root: Path) -> list[bytes]:
    """Unpack one layer into its own folder and return the members that could be made.

    A path of which a part is already something else than a folder is left out, as is a second entry of
    one path: engines refuse such layers.
    """
    members = []
    for kind, name, value in operations:
        path = root / name
        if kind == "whiteout":
            path = path.with_name(f".wh.{path.name}")
        if kind == "opaque":
            path /= ".wh..wh..opq"
        if os.path.lexists(path) and not (kind == "folder" and path.is_dir() and not path.is_symlink()):
            continue
        if any(part.is_symlink() or part.is_file() for part in parents(path, root)):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        inside = str(path.relative_to(root))
        if kind == "folder":
            path.mkdir(exist_ok=True)
            members.append(folder(inside))
        elif kind == "link":
            path.symlink_to(value)
            members.append(symlink(inside, value))
        else:
            path.write_text(value)
            members.append(member(inside, value))
    return members


def parents(path: Path, root: Path) -> list[Path]:
    return [part for part in path.parents if part != root and root in part.parents]


def lay_over(upper: Path, lower: Path) -> None:
    """What mounting ``upper`` over ``lower`` shows, made in ``lower``."""
    names = sorted(path.name for path in upper.iterdir())
    if ".wh..wh..opq" in names:
        for item in lower.iterdir():
            remove(item)
    for name in names:
        if name.startswith(".wh.") and name != ".wh..wh..opq":
            remove(lower / name[4:])
    for name in names:
        if name.startswith(".wh."):
            continue
        source, target = upper / name, lower / name
        if source.is_dir() and not source.is_symlink():
            if target.is_symlink() or not target.is_dir():
                remove(target)
                target.mkdir()
            lay_over(source, target)
        else:
            remove(target)
            shutil.copy2(source, target, follow_symlinks=False)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def listed(root: Path) -> dict[str, str]:
    found = {}
    for folder_name, folders, files in os.walk(root):
        for name in folders + files:
            path = Path(folder_name, name)
            inside = "/" + str(path.relative_to(root))
            if path.is_symlink():
                found[inside] = f"-> {path.readlink()}"
            elif path.is_file():
                found[inside] = path.read_text()
    return found


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(OPERATIONS, max_size=6), min_size=2, max_size=4))
def test_the_merged_view_is_what_real_folders_show(stack: list[list[Operation]]) -> None:
    with tempfile.TemporaryDirectory() as folder_name:
        merged = Path(folder_name, "merged")
        merged.mkdir()
        layers = []
        for number, operations in enumerate(stack):
            upper = Path(folder_name, str(number))
            upper.mkdir()
            layers.append(unpack(operations, upper))
            lay_over(upper, merged)
        assert seen(*layers) == listed(merged)
