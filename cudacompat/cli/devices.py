"""``cudacompat devices``: which GPU is which index of a program, under CUDA_VISIBLE_DEVICES and its kin."""

from __future__ import annotations

import click

from cudacompat import api
from cudacompat.cli.options import OUTPUT_OPTIONS, Command, option
from cudacompat.cli.output import check_output, emit, style_for
from cudacompat.host import HostOptions


@click.command(
    cls=Command,
    short_help="Which GPU each index of CUDA_VISIBLE_DEVICES is.",
    epilog="Exit codes: 0 the program sees a GPU, 1 it sees none, 2 wrong usage, 4 host not readable.",
)
@option(
    "--cuda-visible-devices", "cuda", metavar="VALUE", help="The program's value; not given: the variable is unset."
)
@option("--cuda-device-order", "order", metavar="VALUE", help="The program's CUDA_DEVICE_ORDER.")
@option("--nvidia-visible-devices", "nvidia", metavar="VALUE", help="In a container: the value it is started with.")
@option(
    "--slurm-gpus",
    "granted",
    metavar="LIST",
    help="In a Slurm job: the node's GPU numbers it was given; 'none' for none.",
)
@option(
    "--constrain-devices",
    "constrain",
    type=click.Choice(("yes", "no")),
    help="ConstrainDevices in the site's cgroup.conf; needed with --slurm-gpus.",
)
@option("--gpus", "count", type=click.IntRange(0, 256), metavar="N", help="The host has N GPUs; nothing else is known.")
@option(
    "--host", metavar="FILE", help="The host's GPUs from a file: JSON of 'cudacompat host', or of 'nvidia-smi -q -x'."
)
@OUTPUT_OPTIONS
def command(
    *,
    cuda: str | None,
    order: str | None,
    nvidia: str | None,
    granted: str | None,
    constrain: str | None,
    count: int | None,
    host: str | None,
    format_: str,
    output: str | None,
) -> int:
    """Show which physical GPU each index of a program is.

    \b
    cudacompat devices --cuda-visible-devices 2,3 --gpus 4
    cudacompat devices --cuda-visible-devices 2,3 --nvidia-visible-devices 2,3 --gpus 4
    cudacompat devices --slurm-gpus 1,2 --constrain-devices yes --gpus 4
    """
    from cudacompat.workloads.devices_report import Setting, answer, document, render

    check_output(output)
    if granted is not None and nvidia is not None:
        raise click.UsageError("--slurm-gpus and --nvidia-visible-devices exclude each other: ask for one at a time.")
    if count is not None and host is not None:
        raise click.UsageError("--gpus and --host exclude each other: both say which GPUs there are.")
    if granted is not None and constrain is None:
        raise click.UsageError("--slurm-gpus needs --constrain-devices yes or no: the numbers differ.")
    gpus = None if count is not None else api.learned_host(host, HostOptions()).gpus
    setting = Setting(cuda, order, nvidia, granted, constrain == "yes")
    found = answer(setting, count, gpus)
    if format_ == "json":
        from cudacompat.report.json import text

        emit(text(document(found)), output)
    else:
        emit(render(found, style_for(output)), output)
    return 0 if found.visibility.seen else 1
