"""The config file: cudacompat.toml in the current folder, or the one that --config or CUDACOMPAT_CONFIG names.

A table for each command ([check], [inspect], ...) with its options by their long names, and one for each named
host ([profiles.NAME]). Options and variables win over it.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

VARIABLE = "CUDACOMPAT_CONFIG"
FILE = "cudacompat.toml"
# Where a command's context keeps the file that was named.
META = "cudacompat.config"
_OPTION = "--config"
_LONGEST = 1 << 20
# A checkout that somebody else wrote may bring a file of that name. It must not choose what gets
# overwritten, whose results are believed, nor which registry is trusted without TLS, nor which machine is
# connected to.
_ONLY_WHEN_NAMED = frozenset({"output", "insecure", "mirror", "cache-dir"})


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The file in use. ``named`` tells that the user named it, instead of its lying in the current folder."""

    path: Path
    named: bool


def named_in(args: Sequence[str]) -> str | None:
    """The file that ``--config`` names in a command's arguments, else the variable's."""
    named = os.environ.get(VARIABLE) or None
    for index, arg in enumerate(args):
        if arg == "--":
            break
        if arg == _OPTION and index + 1 < len(args):
            named = args[index + 1]
        elif arg.startswith(f"{_OPTION}="):
            named = arg.partition("=")[2]
    return named


def config_file() -> ConfigFile | None:
    """The file of the command that runs, None where there is none."""
    context = click.get_current_context(silent=True)
    named = context.meta.get(META) if context is not None else os.environ.get(VARIABLE)
    return _file(named)


def _file(named: str | None) -> ConfigFile | None:
    if named:
        return ConfigFile(Path(named), named=True)
    path = Path(FILE)
    return ConfigFile(path, named=False) if path.is_file() else None


def default_map(command: click.Command, name: str, named: str | None) -> dict[str, Any]:
    """The command's defaults from the file, by parameter name. Raises click.UsageError."""
    file = _file(named)
    if file is None:
        return {}
    table = _load(file.path).get(name, {})
    if not isinstance(table, dict):
        raise click.UsageError(f"{file.path}: [{name}] must be a table.")
    return _by_parameter(command, name, table, file)


def profile_tables(file: ConfigFile) -> object:
    """The ``[profiles.NAME]`` tables of the file. Raises click.UsageError."""
    return _load(file.path).get("profiles", {})


def ignore_entries() -> list[Mapping[str, object]]:
    """The ``[[ignore]]`` entries of the file: findings of workloads that are silenced, with reasons."""
    file = config_file()
    if file is None:
        return []
    entries = _load(file.path).get("ignore", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise click.UsageError(f"{file.path}: ignore must be a list of tables: [[ignore]] with rule and reason.")
    return entries


def _load(path: Path) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
        if len(data) > _LONGEST:
            raise click.UsageError(f"the config file {path} is longer than 1 MiB.")
        return tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise click.UsageError(f"the config file {path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"the config file {path} is no TOML: {error}.") from error


def _by_parameter(command: click.Command, name: str, table: Mapping[str, Any], file: ConfigFile) -> dict[str, Any]:
    options, path = _options(command), file.path
    found = {}
    for key, value in table.items():
        wanted = key.replace("_", "-")
        if wanted not in options:
            raise click.UsageError(f"{path}: [{name}] has no option {key!r}{_near(wanted, options)}.")
        opens = wanted == "host" and str(value).startswith("ssh://")
        if (wanted in _ONLY_WHEN_NAMED or opens) and not file.named:
            raise click.UsageError(
                f"{path}: {key!r} counts only in a file that {_OPTION} or {VARIABLE} names, or as an option."
            )
        found[options[wanted].name or ""] = _value(options[wanted], value, f"{path}: [{name}] {key}")
    return found


def _options(command: click.Command) -> dict[str, click.Option]:
    return {
        text.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option) and option.expose_value
        for text in option.opts
        if text.startswith("--")
    }


def _near(key: str, options: Mapping[str, click.Option]) -> str:
    near = difflib.get_close_matches(key, options, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _value(option: click.Option, value: Any, where: str) -> Any:
    """The value in the shape that the option takes: a list for repeatable ones, true or false for flags."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise click.UsageError(f"{where} must be true or false.")
        return value
    items = value if isinstance(value, list) and option.multiple else [value]
    if not all(isinstance(item, str) for item in items):
        kind = "a text in quotes, or a list of them" if option.multiple else "a text in quotes"
        raise click.UsageError(f"{where} must be {kind}: 12.10 and 12.1 are the same number.")
    return items if option.multiple else value
