"""The directories that an image's ld.so.conf names, in ldconfig's order (glibc's elf/ldconfig.c)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

_MAIN = "/etc/ld.so.conf"
_DEEPEST = 8
_MOST_PATTERNS = 1000
_LONGEST_PATTERN = 256
# Distributions' main file; where a reduced image has only the folder, the folder is taken as given.
_USUAL = "include /etc/ld.so.conf.d/*.conf"


def directories(texts: Mapping[str, str]) -> tuple[str, ...]:
    """Each directory once, as written but normalised. ``texts`` are the files by path, included ones too."""
    reader = _Reader({_MAIN: _USUAL, **texts})
    return tuple(dict.fromkeys(reader.directories(_MAIN, 0)))


class _Reader:
    """Reads each file once: a second time would name the same directories again, and includes may go in circles."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._paths = [(path, path.split("/")) for path in sorted(texts)]
        self._seen: set[str] = set()
        self._patterns: set[str] = set()

    def directories(self, path: str, depth: int) -> Iterator[str]:
        """What a file names, with what it includes in the place of the include line."""
        self._seen.add(path)
        for raw in self._texts[path].splitlines():
            line = raw.partition("#")[0].strip()
            words = line.split()
            if words and words[0] == "include":
                for pattern in words[1:]:
                    for included in self._matching(posixpath.join(posixpath.dirname(path), pattern)):
                        if depth < _DEEPEST and included not in self._seen:
                            yield from self.directories(included, depth + 1)
            elif line.startswith("/"):
                # "=type" behind a directory is libc5's; ldconfig still drops it.
                yield posixpath.normpath("/" + line.partition("=")[0].strip().lstrip("/"))

    def _matching(self, pattern: str) -> Iterator[str]:
        """The files of a shell pattern, sorted; a hidden file needs a dot in the pattern."""
        if pattern in self._patterns or len(self._patterns) >= _MOST_PATTERNS or len(pattern) > _LONGEST_PATTERN:
            return
        self._patterns.add(pattern)
        wanted = posixpath.normpath(pattern).split("/")
        for path, parts in self._paths:
            if len(parts) == len(wanted) and all(map(_part_matches, parts, wanted)):
                yield path


def _part_matches(part: str, pattern: str) -> bool:
    return fnmatchcase(part, pattern) and (pattern.startswith(".") or not part.startswith("."))
