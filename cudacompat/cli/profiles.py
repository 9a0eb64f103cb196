"""``--profile`` and ``--all-profiles``: the named hosts of the config file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import click
from click.core import ParameterSource

from cudacompat import api
from cudacompat.cli.config import config_file, profile_tables
from cudacompat.cli.options import LISTED, option, together
from cudacompat.errors import Error
from cudacompat.host import HostOptions
from cudacompat.model import HostFacts

# Fields of HostOptions whose option has another name.
_PARAMETERS = {"os": "host_os"}
PROFILE_OPTIONS = together(
    option(
        "--profile",
        "profiles",
        multiple=True,
        type=LISTED,
        metavar="NAME",
        help="A host of the config file, [profiles.NAME]; several times for several.",
    ),
    option("--all-profiles", is_flag=True, help="Every host of the config file."),
)


def profile_hosts(names: Sequence[str], every: bool, host: str | None, options: HostOptions) -> list[HostFacts | Error]:
    """The facts of the chosen profiles, options laid over each; an error in the place of one that does not answer.

    Raises UsageError and click.UsageError for names, tables and values that make no sense. One profile alone
    raises its error.
    """
    from cudacompat.host import profiles

    plainness = max(_plainness("profiles"), _plainness("all_profiles"))
    if host is not None and _plainness("host") >= plainness:
        raise click.UsageError("--host and --profile exclude each other: a profile names its own host.")
    file = config_file()
    known = () if file is None else profiles.read_profiles(profile_tables(file), file.path, trusted=file.named)
    path = None if file is None else file.path
    wanted = profiles.every(known, path) if every else profiles.chosen(known, names, path)
    options = _as_plain_as(plainness, options)
    found: list[HostFacts | Error] = []
    for profile in wanted:
        try:
            base = None if profile.host is None else api.learned_host(profile.host, HostOptions())
            found.append(api.learned_host(profiles.profile_host(profile, base), options))
        except Error as error:
            if len(wanted) == 1 or error.exit_code == click.UsageError.exit_code:
                raise
            found.append(type(error)(f"profile {profile.name}: {error}"))
    return found


def _plainness(parameter: str) -> int:
    """How plainly a value was given: by option, by variable, in the file, or not at all."""
    source = click.get_current_context().get_parameter_source(parameter)
    order = (ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT, ParameterSource.COMMANDLINE)
    return order.index(source) + 1 if source in order else 0


def _as_plain_as(least: int, options: HostOptions) -> HostOptions:
    """The options without those that were given less plainly."""
    empty = HostOptions()
    weak = [field.name for field in fields(HostOptions) if _plainness(_PARAMETERS.get(field.name, field.name)) < least]
    return replace(options, **{name: getattr(empty, name) for name in weak})
