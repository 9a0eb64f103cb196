"""#SBATCH lines, read as sbatch reads them (measured with Slurm 22.05.8)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from cudacompat.workloads.names import is_near
from cudacompat.workloads.slurm.options import OptionUse, parse_options

MAGIC = "#SBATCH"
NearMiss = Literal["space", "hashes", "indented", "misspelt", "case"]
_NEAR_FORMS: tuple[tuple[NearMiss, re.Pattern[str]], ...] = (
    ("hashes", re.compile(r"##\s*SBATCH\b")),
    ("space", re.compile(r"#\s+SBATCH\b")),
    ("case", re.compile(r"#\s*SBATCH\s+-", re.IGNORECASE)),
)
_OTHER_WORD = re.compile(r"#\s*(S[A-Z]{3,7})\s+-{1,2}[A-Za-z]")


@dataclass(frozen=True, slots=True)
class CutComment:
    """A directive whose text was cut at an unquoted "#": what was kept and what was dropped."""

    line: int
    kept: str
    dropped: str
    option: str


@dataclass(frozen=True, slots=True)
class Directives:
    """A script's directives.

    ``options`` are the ones sbatch takes. ``late`` are lines with a directive after the first command;
    ``near`` lines that look like one and are a comment; ``cut`` values cut by "#"; ``stray`` words that are
    no option and make sbatch refuse the script.
    """

    options: tuple[OptionUse, ...]
    late: tuple[tuple[int, str], ...]
    near: tuple[tuple[int, str, NearMiss], ...]
    cut: tuple[CutComment, ...]
    stray: tuple[tuple[int, str], ...]
    first_command: int | None


def read_directives(text: str) -> Directives:
    """Read the directives of ``text``: those before the first line that is neither comment nor blank."""
    options: list[OptionUse] = []
    late: list[tuple[int, str]] = []
    near: list[tuple[int, str, NearMiss]] = []
    cut: list[CutComment] = []
    stray: list[tuple[int, str]] = []
    first_command: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(MAGIC) and not line[len(MAGIC) :][:1].isalnum():
            if first_command is not None:
                late.append((number, line))
                continue
            words, kept, dropped = split_directive(line[len(MAGIC) :])
            uses, rest = parse_options(words, number)
            options.extend(uses)
            stray.extend((number, word) for word in rest)
            if dropped and not dropped[1:2].isspace() and uses and not _blank_before(kept):
                cut.append(CutComment(number, uses[-1].value, dropped, uses[-1].name))
        elif (miss := near_miss(line)) is not None:
            near.append((number, line.strip(), miss))
        elif first_command is None and line.strip() and not line.lstrip().startswith("#"):
            first_command = number
    return Directives(tuple(options), tuple(late), tuple(near), tuple(cut), tuple(stray), first_command)


def without_lines(directives: Directives, quoted: frozenset[int]) -> Directives:
    """The directives without those that stand in another program's text, such as a script that this one writes."""
    return replace(
        directives,
        late=tuple(item for item in directives.late if item[0] not in quoted),
        near=tuple(item for item in directives.near if item[0] not in quoted),
    )


def _blank_before(kept: str) -> bool:
    return kept[-1:].isspace()


def split_directive(text: str) -> tuple[list[str], str, str]:
    """Split a directive's text into words, honouring quotes and backslashes, up to an unquoted "#".

    Returns the words, the text read and the text dropped (from the "#" on, "" when there is none).
    """
    words: list[str] = []
    word: list[str] = []
    started = False
    quote = ""
    index = 0
    while index < len(text):
        char = text[index]
        if quote:
            if char == quote:
                quote = ""
            else:
                word.append(char)
        elif char in "\"'":
            quote, started = char, True
        elif char == "\\" and index + 1 < len(text):
            index += 1
            word.append(text[index])
            started = True
        elif char == "#":
            break
        elif char.isspace():
            if started:
                words.append("".join(word))
            word, started = [], False
        else:
            word.append(char)
            started = True
        index += 1
    if started:
        words.append("".join(word))
    return words, text[:index], text[index:]


def near_miss(line: str) -> NearMiss | None:
    """How a line fails to be a directive though it looks like one; None when it does not look like one.

    Three and more "#" are taken for a deliberate comment.
    """
    stripped = line.lstrip()
    if stripped.startswith(MAGIC):
        return "indented" if stripped != line else None
    for kind, pattern in _NEAR_FORMS:
        if pattern.match(stripped):
            return kind
    word = _OTHER_WORD.match(stripped)
    return "misspelt" if word is not None and is_near(word[1], MAGIC[1:]) else None
