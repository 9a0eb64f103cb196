"""What Singularity, Apptainer and enroot write into a root file system in the place of an image config.

Nothing is executed: of the scripts in /.singularity.d/env only plain assignments are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from types import MappingProxyType

from cudacompat.errors import TargetError
from cudacompat.layers.documents import parse_object

FOLDER = "/.singularity.d"

# A file's bytes by its path, None when it is not there.
ReadFile = Callable[[str], bytes | None]

_LABELS = f"{FOLDER}/labels.json"
_SCRIPTS = f"{FOLDER}/env"
_ENROOT = ("/etc/rc", "/etc/environment")
# What the runtime itself puts there, for itself.
_OWN = frozenset(("01-base.sh", "94-appsbase.sh", "95-apps.sh", "99-base.sh", "99-runtimevars.sh"))
# From the first of these on, whether a line is run depends on what was met before.
_CONTROL = re.compile(r"(?:if|case|for|while|until|function|return|exit)\b|[\w-]+\s*\(\)|[{(]|.*(?:\|\||&&)")
_EXPORT = re.compile(r"export\s+([A-Za-z_]\w*)=(.*)")
_DEFAULT = re.compile(r'"?\$\{(\w+):?-(.*)\}"?')
_QUOTED = re.compile(r'"((?:[^"\\$`]|\\.)*)"')
_LITERAL = re.compile(r"'([^']*)'")
_BARE = re.compile(r"[^\s\"'`$\\;&|<>(){}*?\[\]~!#]*")
_ESCAPED = re.compile(r'\\(["\\$`])')
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)")
_REMARK = re.compile(r"# (\S+) (.*)")
_SET = re.compile(r"\b([A-Za-z_]\w*)=")
_NAMED = re.compile(r"(?:export|unset)\s+([A-Za-z_]\w*)")
# The variables that a prediction may ask for.
_MATTERS = re.compile(r"NVIDIA_|CUDA|NV_|LD_LIBRARY_PATH|LD_PRELOAD")


@dataclass(frozen=True, slots=True)
class Settings:
    """Environment and labels as an image config has them; ``notes`` say what is not known of them."""

    env: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()


def singularity_settings(scripts: Mapping[str, bytes], read: ReadFile) -> Settings:
    """The settings of a root file system with ``scripts``, those of /.singularity.d/env by name."""
    known: dict[str, str] = {}
    unknown: set[str] = set()
    for name in sorted(scripts.keys() - _OWN):
        _read_script(scripts[name].decode("utf-8", "replace"), known, unknown)
    notes = []
    if names := sorted(filter(_MATTERS.match, unknown)):
        shown = ", ".join(names[:10])
        notes.append(f"Scripts in {_SCRIPTS} work out these variables, whose values are not known: {shown}.")
    labels, problem = _labels(read(_LABELS))
    return Settings(
        tuple(f"{name}={value}" for name, value in known.items()), labels, (*notes, *([problem] if problem else []))
    )


def enroot_settings(read: ReadFile) -> Settings | None:
    """The settings of a root file system that enroot made, None when it did not make it."""
    script, environment = (read(path) for path in _ENROOT)
    if script is None or environment is None:
        return None
    pairs = (match for line in _lines(environment) if (match := _ASSIGNED.fullmatch(line)))
    # The labels stand as remarks at the beginning of the script that starts the image.
    labels = (match for line in takewhile(str.strip, _lines(script)) if (match := _REMARK.fullmatch(line)))
    known = MappingProxyType({label[1]: label[2] for label in labels})
    return Settings(tuple(f"{pair[1]}={pair[2]}" for pair in pairs), known)


def _lines(raw: bytes) -> list[str]:
    return raw.decode("utf-8", "replace").split("\n")


def _read_script(text: str, known: dict[str, str], unknown: set[str]) -> None:
    """Take note of what a script sets: ``known`` with a value, ``unknown`` where it must be worked out."""
    sure = True
    for line in map(str.strip, text.split("\n")):
        if line.startswith("#"):
            continue
        sure = sure and not _CONTROL.match(line)
        match = _EXPORT.fullmatch(line.rstrip("; \t"))
        value = _value(match[1], match[2], known) if match and sure else None
        if match and value is not None:
            known[match[1]] = value
            unknown.discard(match[1])
            continue
        for name in (*_SET.findall(line), *_NAMED.findall(line)):
            known.pop(name, None)
            unknown.add(name)


def _value(name: str, written: str, known: Mapping[str, str]) -> str | None:
    """What a plain assignment gives; None where a shell would have to work it out."""
    default = _DEFAULT.fullmatch(written)
    if default is not None:
        # What an earlier script has set stays. The host's own variables may win; they are not the image's.
        return known.get(name, _word(default[2])) if default[1] == name else None
    return _word(written)


def _word(text: str) -> str | None:
    if quoted := _QUOTED.fullmatch(text):
        return _ESCAPED.sub(r"\1", quoted[1])
    if literal := _LITERAL.fullmatch(text):
        return literal[1]
    return text if _BARE.fullmatch(text) else None


def _labels(raw: bytes | None) -> tuple[Mapping[str, str], str | None]:
    if raw is None:
        return MappingProxyType({}), None
    try:
        found = parse_object(raw, _LABELS)
    except TargetError as error:
        return MappingProxyType({}), f"{error} The image's labels are not known."
    return MappingProxyType({str(key): value for key, value in found.items() if isinstance(value, str)}), None
