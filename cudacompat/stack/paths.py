"""Paths inside an image, resolved through its symlinks and never outside its root."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

_MAX_LINKS = 40


def resolve(path: str, links: Mapping[str, str]) -> str:
    """Where an absolute path leads when every symlink in it is followed inside the root.

    ``links`` maps a link's own absolute path to its target as written. A loop ends where it was noticed,
    as the kernel's limit of 40 links does; ".." stops at the root.
    """
    pending = [part for part in path.split("/") if part not in ("", ".")][::-1]
    done: list[str] = []
    followed = 0
    while pending:
        part = pending.pop()
        if part == "..":
            if done:
                done.pop()
            continue
        here = "/" + "/".join([*done, part])
        target = links.get(here)
        if target is None or followed >= _MAX_LINKS:
            done.append(part)
            continue
        followed += 1
        if posixpath.isabs(target):
            done.clear()
        pending.extend(piece for piece in reversed(target.split("/")) if piece not in ("", "."))
    return "/" + "/".join(done)
