"""``cudacompat check``: will these images run on that host?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from cudacompat import api
from cudacompat.cli import workload_targets
from cudacompat.cli.app import unexpected
from cudacompat.cli.codes import DEFAULT_THRESHOLD, THRESHOLDS, UNREADABLE, exit_code, heaviest
from cudacompat.cli.options import (
    IMAGE_OPTIONS,
    OUTPUT_OPTIONS,
    PROGRESS_OPTIONS,
    Command,
    host_options,
    mirror_map,
    option,
)
from cudacompat.cli.output import check_output, complain, emit, style_for
from cudacompat.cli.progress import progress_line
from cudacompat.errors import Error
from cudacompat.host import HostOptions
from cudacompat.model import HostFacts, ImageFacts
from cudacompat.report import Result, Unread, renderer


@dataclass(frozen=True, slots=True)
class Reading:
    """How images are read."""

    platform: str | None
    quick: bool
    insecure: Sequence[str]
    mirrors: Sequence[str]
    progress: bool
    nodes: str | None = None


@click.command(
    cls=Command,
    short_help="Will these images run on that host?",
    epilog="Exit codes: 0 nothing at or above --fail-on, 1 predicted failure, 2 wrong usage, 3 unknown, "
    "4 a target could not be read. Each option has a variable: CUDACOMPAT_DRIVER for --driver and so on; "
    "defaults may stand in cudacompat.toml under [check].",
)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@host_options
@IMAGE_OPTIONS
@OUTPUT_OPTIONS
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
    platform: str | None,
    quick: bool,
    insecure: Sequence[str],
    mirrors: Sequence[str],
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
    cudacompat check train.sbatch pod.yaml     job scripts and manifests, with their images
    cudacompat check -- docker run --gpus all IMAGE

    TARGET is an image: name:tag (local engine first, then registry), registry:..., docker:..., podman:...,
    a docker or OCI archive, an OCI layout folder, or a root file system folder. Nothing of it is executed.
    """
    check_output(output)
    facts = api.host_or_unknown(host, options)
    reading = Reading(platform, quick, insecure, mirrors, progress=not (quiet or no_progress), nodes=nodes)
    results: list[Result] = []
    codes: list[int] = []
    if workload_targets.is_command_line(targets):
        other, outcome = workload_targets.check(targets, facts, lambda image: _inspect(image, reading), reading.nodes)
        results, codes, targets = [other], [exit_code(outcome, fail_on)], ()
    for target in targets:
        result, code = _check(target, facts, reading, fail_on, alone=len(targets) == 1)
        results.append(result)
        codes.append(code)
    emit(renderer(format_)(results, style_for(output, verbose=verbose, quiet=quiet)), output)
    return heaviest(codes)


def _check(target: str, host: HostFacts, reading: Reading, fail_on: str, *, alone: bool) -> tuple[Result, int]:
    """One target's result. Of several targets, one that cannot be read does not lose the others' reports."""
    try:
        if workload_targets.is_workload(target):
            other, outcome = workload_targets.check(target, host, lambda image: _inspect(image, reading), reading.nodes)
            return other, exit_code(outcome, fail_on)
        report = api.report_on(_inspect(target, reading), host)
    except Exception as error:
        if alone:
            raise
        sentence = str(error) if isinstance(error, Error) else unexpected(error)
        complain(f"{target}: {sentence}")
        return Unread(target, sentence), UNREADABLE
    return report, exit_code(report.verdict.outcome, fail_on)


def _inspect(target: str, reading: Reading) -> ImageFacts:
    with progress_line(target, wanted=reading.progress) as progress:
        return api.inspect(
            target,
            platform=reading.platform,
            quick=reading.quick,
            insecure_hosts=reading.insecure,
            mirrors=mirror_map(reading.mirrors),
            progress=progress,
        )
