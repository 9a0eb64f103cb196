"""``cudacompat check``: will these images run on that host?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from cudacompat import api
from cudacompat.cli import workload_targets
from cudacompat.cli.app import unexpected
from cudacompat.cli.codes import DEFAULT_THRESHOLD, THRESHOLDS, UNREADABLE, exit_code, heaviest
from cudacompat.cli.options import (
    PROGRESS_OPTIONS,
    REPORT_OPTIONS,
    Command,
    ImageOptions,
    host_options,
    image_options,
    option,
)
from cudacompat.cli.output import check_output, complain, emit, style_for
from cudacompat.cli.profiles import PROFILE_OPTIONS, profile_hosts
from cudacompat.errors import Error
from cudacompat.host import HostOptions
from cudacompat.model import HostFacts, ImageFacts
from cudacompat.report import PLAIN_FORMATS, Result, Unread, renderer


@dataclass(frozen=True, slots=True)
class Reading:
    """How images are read."""

    images: ImageOptions
    progress: bool
    nodes: str | None
    here: bool


@dataclass(frozen=True, slots=True)
class Run:
    """What all targets of one run share. ``hosts`` holds an error for a profile that did not answer.

    ``alone``: there will be one result. ``plain``: the format has no place for a target that was not read alone.
    """

    hosts: Sequence[HostFacts | Error]
    reading: Reading
    fail_on: str
    alone: bool
    plain: bool


Answer = tuple[Result, int]


@click.command(
    cls=Command,
    short_help="Will these images run on that host?",
    epilog="Exit codes: 0 nothing at or above --fail-on, 1 predicted failure, 2 wrong usage, 3 unknown, "
    "4 a target could not be read. Each option has a variable: CUDACOMPAT_DRIVER for --driver and so on; "
    "defaults may stand in cudacompat.toml under [check].",
)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@host_options
@PROFILE_OPTIONS
@image_options
@REPORT_OPTIONS
@option(
    "--fail-on",
    type=click.Choice(THRESHOLDS),
    default=DEFAULT_THRESHOLD,
    show_default=True,
    help="The mildest outcome that makes the exit code other than 0.",
)
@option(
    "--nodes",
    metavar="FILE",
    help="For workloads: the cluster's nodes, from 'kubectl get nodes -o json', 'scontrol show node' or "
    "'sinfo -N -o %N|%G|%f|%P|%c'.",
)
@PROGRESS_OPTIONS
def command(
    *,
    targets: Sequence[str],
    options: HostOptions,
    host: str | None,
    profiles: Sequence[str],
    all_profiles: bool,
    images: ImageOptions,
    nodes: str | None,
    format_: str,
    output: str | None,
    fail_on: str,
    verbose: bool,
    quiet: bool,
    no_progress: bool,
) -> int:
    """Say whether images will run on a host, how, or what fails and what mends it.

    \b
    cudacompat check pytorch/pytorch:latest --driver 535.183.01 --gpu A100
    cudacompat check app.tar                   the GPU machine you are on is asked
    cudacompat check IMAGE --host node7.xml    from 'nvidia-smi -q -x' on node7
    cudacompat check IMAGE --host ssh://node7  node7 is asked
    cudacompat check IMAGE --profile prod      [profiles.prod] of cudacompat.toml
    cudacompat check train.sbatch pod.yaml     job scripts and manifests, with their images
    cudacompat check -- docker run --gpus all IMAGE

    TARGET is an image: name:tag (local engine first, then registry), registry:..., docker:..., podman:...,
    a docker or OCI archive, an OCI layout folder, a SIF or squashfs file, or a root file system folder.
    Nothing of it is executed.
    """
    check_output(output)
    hosts = (
        profile_hosts(profiles, all_profiles, host, options)
        if profiles or all_profiles
        else [api.host_or_unknown(host, options)]
    )
    for error in (item for item in hosts if isinstance(item, Error)):
        complain(str(error))
    here = not (host or profiles or all_profiles or options.describes_a_host())
    reading = Reading(images, not (quiet or no_progress), nodes, here)
    # The words of a command line are one target.
    chosen = [list(targets)] if workload_targets.is_command_line(targets) else list(targets)
    run = Run(hosts, reading, fail_on, alone=len(chosen) * len(hosts) == 1, plain=format_ in PLAIN_FORMATS)
    answers = [answer for target in chosen for answer in _check(target, run)]
    emit(renderer(format_)([result for result, _ in answers], style_for(output, verbose=verbose, quiet=quiet)), output)
    return heaviest(code for _, code in answers)


def _check(target: str | Sequence[str], run: Run) -> list[Answer]:
    """One target's results, one for each host; its images are read once for all of them."""
    name = target if isinstance(target, str) else " ".join(target)
    images: dict[str, ImageFacts] = {}

    def inspect(image: str) -> ImageFacts:
        if image not in images:
            images[image] = run.reading.images.inspect(image, progress=run.reading.progress)
        return images[image]

    try:
        judge = _judge(target, inspect, run)
    except Exception as error:
        return [_unread(name, error, run)]
    answers = []
    for host in run.hosts:
        try:
            answers.append((Unread(name, str(host)), UNREADABLE) if isinstance(host, Error) else judge(host))
        except Exception as error:
            answers.append(_unread(name, error, run))
    return answers


def _judge(
    target: str | Sequence[str], inspect: Callable[[str], ImageFacts], run: Run
) -> Callable[[HostFacts], Answer]:
    """What answers for one host. An image is read before, so that a broken one is one error for all hosts."""
    if not isinstance(target, str) or workload_targets.is_workload(target):

        def workload(host: HostFacts) -> Answer:
            other, outcome = workload_targets.check(target, host, inspect, run.reading.nodes, here=run.reading.here)
            return other, exit_code(outcome, run.fail_on)

        return workload
    image = inspect(target)

    def single(host: HostFacts) -> Answer:
        report = api.report_on(image, host)
        return report, exit_code(report.verdict.outcome, run.fail_on)

    return single


def _unread(name: str, error: Exception, run: Run) -> Answer:
    """One result that cannot be had, beside the others or where a CI job looks for it; else the error itself."""
    code = error.exit_code if isinstance(error, Error) else UNREADABLE
    if run.alone and (run.plain or code != UNREADABLE):
        raise error
    sentence = str(error) if isinstance(error, Error) else unexpected(error)
    complain(f"{name}: {sentence}")
    return Unread(name, sentence), UNREADABLE
