"""Command-line arguments as getopt reads them: options with values, and where the rest begins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?:\[[@*]\])?(?::?[-+][^}]*)?\}|(\w+))")
_OPTIONS_NAME = re.compile(
    r"(?:ARGS|OPTS|OPTIONS|FLAGS|PARAMS|MOUNTS)$|(?:^|_)(?:ARG|OPT|FLAG|PARAM|MOUNT|ENV)$", re.IGNORECASE
)
_PROGRAM_NAME = re.compile(
    r"CMD|COMMAND|PYTHON|EXE|LAUNCH|RUN|PROG|SCRIPT|BIN|APP|IMAGE|IMG|CONTAINER|REPO|TAG|NAME", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Options:
    """Parsed options in the order given, the rest of the words, and where the rest starts."""

    pairs: tuple[tuple[str, str | None], ...]
    rest: tuple[str, ...]

    def last(self, *names: str) -> str | None:
        """The last value given under one of the names, None when not given ("" for a bare flag)."""
        for name, value in reversed(self.pairs):
            if name in names:
                return value or ""
        return None

    def all(self, *names: str) -> tuple[str, ...]:
        """Every value given under one of the names."""
        return tuple(value or "" for name, value in self.pairs if name in names)


@dataclass(frozen=True, slots=True)
class Grammar:
    """Which options a program has.

    ``short`` maps a short letter to the long name. ``flags`` are long names without a value;
    ``optional`` those whose value must follow "=". Every other long name takes a value. ``known`` allows
    unique abbreviations of long names, as getopt does; empty: names are taken as written.
    """

    short: Mapping[str, str]
    flags: frozenset[str]
    optional: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()

    def full_name(self, written: str) -> str:
        """The long name that an abbreviation stands for, or the text as written."""
        if not self.known or written in self.known | self.flags | self.optional:
            return written
        matches = {name for name in self.known | self.flags | self.optional if name.startswith(written)}
        return matches.pop() if len(matches) == 1 else written

    def takes_value(self, name: str) -> bool:
        """Whether the option takes the next word as its value."""
        return name not in self.flags and name not in self.optional


def parse(words: Sequence[str], grammar: Grammar, *, permute: bool = False) -> Options:
    """Parse ``words`` (without the program). Options end at the first other word, unless ``permute``."""
    pairs: list[tuple[str, str | None]] = []
    rest: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            rest.extend(words[index:])
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = grammar.full_name(name)
            if equals:
                pairs.append((name, value))
            elif grammar.takes_value(name) and index < len(words):
                pairs.append((name, words[index]))
                index += 1
            else:
                pairs.append((name, None))
        elif word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            index += _short(word, words[index] if index < len(words) else None, grammar, pairs)
        elif not permute and _holds_options(word, words[index] if index < len(words) else None, grammar):
            continue
        else:
            rest.append(word)
            if not permute:
                rest.extend(words[index:])
                break
    return Options(tuple(pairs), tuple(rest))


def _holds_options(word: str, following: str | None, grammar: Grammar) -> bool:
    """Whether a variable that nobody set stands where options go, so that the program comes after it."""
    match = _VARIABLE.fullmatch(word)
    if match is None or following is None:
        return False
    name = match[1] or match[2]
    if _OPTIONS_NAME.search(name):
        return True
    if following.startswith("--"):
        long_names = grammar.known | grammar.flags | grammar.optional | frozenset(grammar.short.values())
        option = not grammar.known or following[2:].partition("=")[0] in long_names
    else:
        option = following.startswith("-") and following[1:2] in grammar.short
    return option and _PROGRAM_NAME.search(name) is None


def _short(word: str, following: str | None, grammar: Grammar, pairs: list[tuple[str, str | None]]) -> int:
    """Read a group of short options; returns how many further words it used."""
    for position, letter in enumerate(word[1:], start=1):
        name = grammar.short.get(letter)
        if name is None:
            # Unknown letters are taken for flags: better than to swallow the program's name.
            pairs.append((letter, None))
            continue
        if not grammar.takes_value(name):
            pairs.append((name, None))
            continue
        attached = word[position + 1 :]
        if attached:
            pairs.append((name, attached.removeprefix("=")))
            return 0
        pairs.append((name, following))
        return 0 if following is None else 1
    return 0
