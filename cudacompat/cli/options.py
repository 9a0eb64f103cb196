"""Options that several commands share. Each has its variable CUDACOMPAT_<OPTION>."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.types import StringParamType
from platformdirs import user_cache_path

from cudacompat import api
from cudacompat.cli.config import FILE, META, VARIABLE, default_map, named_in
from cudacompat.cli.progress import progress_line
from cudacompat.host import HostOptions
from cudacompat.model import ImageFacts
from cudacompat.model.host import INJECTIONS
from cudacompat.report import FORMATS, PLAIN_FORMATS
from cudacompat.report.style import WIDTH

Function = TypeVar("Function", bound=Callable[..., Any])


class Listed(StringParamType):
    """A text whose variable may hold several, separated by commas: GPU names have spaces in them."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """The variable's parts."""
        return [part.strip() for part in rv.split(",") if part.strip()]


LISTED = Listed()


class Mirror(Listed):
    """ "REGISTRY=HOST"; what has another form is refused before anything is read."""

    name = "registry=host"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text, once it is known to have both sides."""
        text = str(super().convert(value, param, ctx))
        registry, _, host = text.partition("=")
        if not registry.strip() or not host.strip():
            self.fail(f"{text!r} is not REGISTRY=HOST, such as docker.io=mirror.example.com", param, ctx)
        return text


MIRROR = Mirror()


def mirror_map(given: Sequence[str]) -> dict[str, str]:
    """The mirrors by registry."""
    pairs = (text.partition("=") for text in given)
    return {registry.strip(): host.strip() for registry, _, host in pairs}


class Command(click.Command):
    """A command that takes its defaults from the config file's table of its name."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        text = f"Config file to read instead of {FILE} in the current folder."
        self.params.append(click.Option(["--config"], metavar="FILE", envvar=VARIABLE, expose_value=False, help=text))

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context with the file's values below options and variables."""
        named = named_in(args)
        extra.setdefault("default_map", default_map(self, info_name or "", named))
        extra.setdefault("max_content_width", WIDTH)
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[META] = named
        return context


def option(*names: str, **attributes: Any) -> Callable[[Function], Function]:
    """A click option with its variable."""
    long = next(name for name in names if name.startswith("--"))
    variable = "CUDACOMPAT_" + long.removeprefix("--").upper().replace("-", "_")
    return click.option(*names, envvar=variable, **attributes)


def together(*decorators: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several options as one decorator, shown in this order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


_HOST = together(
    option("--driver", metavar="VERSION", help="The host's driver version, such as 535.183.01."),
    option(
        "--gpu",
        "gpus",
        multiple=True,
        type=LISTED,
        metavar="NAME",
        help="A GPU of the host, as nvidia-smi prints it, such as A100; several times for several; 'none' for none.",
    ),
    option("--compute-capability", metavar="X.Y", help="The GPU's compute capability, such as 8.0."),
    option(
        "--host",
        metavar="FILE|ssh://NODE",
        help="Host facts from a file (JSON of 'cudacompat host', output of 'nvidia-smi -q -x'), or from a machine "
        "that ssh reaches: ssh://user@node:port.",
    ),
    option("--driver-cuda", metavar="X.Y", help="The CUDA version that nvidia-smi prints; needed for Jetson only."),
    option("--host-os", type=click.Choice(("linux", "wsl2", "jetson")), help="What the host runs; default linux."),
    option("--injection", type=click.Choice(INJECTIONS), help="How GPUs get into containers on this host."),
    option("--toolkit-version", "toolkit", metavar="VERSION", help="The NVIDIA container toolkit's version."),
    option("--docker-version", "docker", metavar="VERSION", help="The Docker engine's version."),
)


def host_options(function: Callable[..., int]) -> Callable[..., int]:
    """All options that describe a host; the command gets them as one ``options``, and the file as ``host``."""

    @functools.wraps(function)
    def gathered(**values: Any) -> int:
        host_os = values.pop("host_os")
        given = {field.name: values.pop(field.name) for field in fields(HostOptions) if field.name != "os"}
        return function(options=HostOptions(os=host_os, **given), **values)

    return _HOST(gathered)


_IMAGE = together(
    option("--platform", metavar="OS/ARCH", help="Which image of a multi-platform index, such as linux/arm64."),
    option("--quick", is_flag=True, help="Read manifest and config only: one second, less certain."),
    option(
        "--insecure",
        multiple=True,
        type=LISTED,
        metavar="HOST",
        help="A registry (host:port) to speak to without TLS or its verification.",
    ),
    option(
        "--mirror",
        "mirrors",
        multiple=True,
        type=MIRROR,
        metavar="REGISTRY=HOST",
        help="A host to ask before a registry, such as docker.io=mirror.example.com.",
    ),
    option(
        "--cache-dir",
        metavar="DIR",
        help="Where to keep what was learned of each layer, so that it is read once; default the user's cache folder.",
    ),
    option("--no-cache", is_flag=True, help="Read every layer anew, and keep nothing."),
)


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """How images are read. ``cache_dir`` None keeps nothing."""

    platform: str | None
    quick: bool
    insecure: Sequence[str]
    mirrors: Mapping[str, str]
    cache_dir: str | Path | None

    def inspect(self, target: str, *, progress: bool) -> ImageFacts:
        """Read an image, with a progress line on the terminal where it is wanted."""
        with progress_line(target, wanted=progress) as told:
            return api.inspect(
                target,
                platform=self.platform,
                quick=self.quick,
                insecure_hosts=self.insecure,
                mirrors=self.mirrors,
                cache_dir=self.cache_dir,
                progress=told,
            )


def image_options(function: Callable[..., int]) -> Callable[..., int]:
    """All options on how images are read; the command gets them as one ``images``."""

    @functools.wraps(function)
    def gathered(**values: Any) -> int:
        mirrors = mirror_map(values.pop("mirrors"))
        cache_dir = _cache_dir(values.pop("cache_dir"), no_cache=values.pop("no_cache"))
        read = {name: values.pop(name) for name in ("platform", "quick", "insecure")}
        return function(images=ImageOptions(mirrors=mirrors, cache_dir=cache_dir, **read), **values)

    return _IMAGE(gathered)


def _cache_dir(named: str | None, *, no_cache: bool) -> str | Path | None:
    """The folder for results, None for none: of two contradicting wishes the one from the nearer place counts."""
    if named is not None and no_cache:
        source = click.get_current_context().get_parameter_source
        places = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP)
        near = next(place for place in places if place in (source("cache_dir"), source("no_cache")))
        if source("cache_dir") == source("no_cache"):
            raise click.UsageError("--cache-dir and --no-cache contradict each other: give one of them.")
        no_cache = source("no_cache") == near
    if no_cache:
        return None
    return named if named is not None else user_cache_path("cudacompat", appauthor=False)


def output_options(formats: Sequence[str]) -> Callable[[Function], Function]:
    """``--format`` with these choices, and ``--output``."""
    return together(
        option(
            "--format",
            "format_",
            type=click.Choice(tuple(formats)),
            default="text",
            show_default=True,
            help="For a person, for a program by a published schema, or for what shows a CI job's results.",
        ),
        option("--output", "-o", metavar="FILE", help="Write the report there instead of to stdout."),
    )


REPORT_OPTIONS = output_options(tuple(FORMATS))
OUTPUT_OPTIONS = output_options(PLAIN_FORMATS)

PROGRESS_OPTIONS = together(
    option("--verbose", "-v", is_flag=True, help="Show the evidence behind every statement."),
    option("--quiet", "-q", is_flag=True, help="One line for each target, and no progress."),
    option("--no-progress", is_flag=True, help="No progress line on the terminal."),
)
