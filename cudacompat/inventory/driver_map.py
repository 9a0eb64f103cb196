"""``--driver-map FILE``: which driver which machines have, where the scheduler does not say it.

A line is PATTERN = VERSION; the first that fits a machine counts, and "#" begins a comment. A pattern is a
node's name with "*" and "?", Slurm's short list ("gpu[01-08]"), "feature:NAME", "gpu:TYPE", or
"label:KEY=VALUE".
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache

from cudacompat.errors import Error, HostError
from cudacompat.host.values import driver_version
from cudacompat.model.inventory import Node
from cudacompat.model.names import expand_names

_MOST_RULES = 10_000
_KINDS = ("feature", "gpu", "label")
Test = Callable[[Node], bool]


def parse(text: str, where: str) -> Callable[[Node], str | None]:
    """The look-up that a map's text stands for. Raises HostError naming the line that is wrong."""
    rules = [rule for number, line in enumerate(text.splitlines(), 1) if (rule := _rule(line, f"{where}:{number}"))]
    if not rules:
        raise HostError(f"{where}: no line PATTERN = DRIVER in it, such as gpu[01-08] = 535.183.01")
    if len(rules) > _MOST_RULES:
        raise HostError(f"{where}: more than {_MOST_RULES} lines")

    def driver_of(node: Node) -> str | None:
        return next((driver for fits, driver in rules if fits(node)), None)

    return driver_of


def _rule(line: str, where: str) -> tuple[Test, str] | None:
    bare = line.partition("#")[0].strip()
    if not bare:
        return None
    pattern, equals, driver = (part.strip().strip('"') for part in bare.rpartition("="))
    if not equals or not pattern:
        raise HostError(f"{where}: {bare[:60]!r} is not PATTERN = DRIVER, such as gpu[01-08] = 535.183.01")
    try:
        return _test(pattern, where), driver_version(driver)
    except HostError:
        raise
    except Error as error:
        raise HostError(f"{where}: {error}") from error


def _test(pattern: str, where: str) -> Test:
    kind, colon, name = pattern.partition(":")
    if not colon:
        return _named(pattern)
    if kind not in _KINDS or not name:
        raise HostError(f"{where}: {pattern[:60]!r} begins with none of feature:, gpu:, label:")
    if kind == "label":
        key, _, value = name.partition("=")
        return lambda node: node.labels.get(key) == value
    if kind == "feature":
        return lambda node: name in node.features
    return lambda node: name in node.gpu_types


def _named(pattern: str) -> Test:
    if "[" not in pattern and "," not in pattern:
        return lambda node: fnmatchcase(node.name, pattern)
    names = _names(pattern)
    return lambda node: node.name in names


@cache
def _names(pattern: str) -> frozenset[str]:
    return frozenset(expand_names(pattern))
