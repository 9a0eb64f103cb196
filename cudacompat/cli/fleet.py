"""``cudacompat fleet``: one image, or a workload's images, on every machine of an inventory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from cudacompat import api
from cudacompat.cli import workload_targets
from cudacompat.cli.codes import DEFAULT_THRESHOLD, THRESHOLDS, exit_code, heaviest
from cudacompat.cli.options import LISTED, Command, ImageOptions, image_options, option, output_options, together
from cudacompat.cli.output import check_output, complain, emit, style_for
from cudacompat.errors import TargetError
from cudacompat.host import HostOptions, with_options
from cudacompat.inventory import driver_map, live
from cudacompat.inventory.facts import with_drivers
from cudacompat.inventory.read import joined, read_nodes
from cudacompat.model import HostFacts, ImageFacts
from cudacompat.model.host import INJECTIONS, Injection
from cudacompat.model.inventory import Nodes
from cudacompat.predict.fleet import FleetPrediction, predict_fleet
from cudacompat.report import PLAIN_FORMATS, Style

_MOST_MAP_BYTES = 1 << 20

_INVENTORY_OPTIONS = together(
    option(
        "--nodes",
        multiple=True,
        type=LISTED,
        metavar="FILE",
        help="The machines: kubectl get nodes -o json (and get resourceslices -o json), sinfo --json, scontrol show "
        "node, a CSV table, host facts as JSON lines, or a folder of host files. Several times for several.",
    ),
    option("--kube-context", metavar="NAME", help="Ask the cluster behind this kubectl context."),
    option("--slurm", is_flag=True, help="Ask the Slurm site that this machine belongs to (sinfo, scontrol)."),
    option("--slurm-srun", is_flag=True, help="With --slurm: ask one node of each type itself, by a short job."),
    option(
        "--driver-map",
        metavar="FILE",
        help="Drivers that the inventory does not name, a line each: gpu[01-08] = 535.183.01, feature:h100 = 550, "
        "label:pool=a = 570.86.15.",
    ),
    option("--injection", type=click.Choice(INJECTIONS), help="How GPUs get into containers on all machines."),
    option("--toolkit-version", "toolkit", metavar="VERSION", help="The NVIDIA container toolkit's version there."),
    option("--docker-version", "docker", metavar="VERSION", help="The Docker engine's version there."),
)


@dataclass(frozen=True, slots=True)
class _Question:
    """An image, and how the workload that names it gets its GPUs; None where it is named by itself."""

    target: str
    injection: Injection | None = None


@click.command(
    cls=Command,
    short_help="One image on all machines of an inventory.",
    epilog="Exit codes: 0 no machine with a GPU at or above --fail-on, 1 predicted failure on one, 2 wrong usage, "
    "3 unknown, 4 image or inventory not readable.",
)
@click.argument("target", metavar="TARGET")
@_INVENTORY_OPTIONS
@image_options
@output_options(PLAIN_FORMATS)
@option(
    "--fail-on",
    type=click.Choice(THRESHOLDS),
    default=DEFAULT_THRESHOLD,
    show_default=True,
    help="The mildest outcome on any machine that makes the exit code other than 0.",
)
@option("--quiet", "-q", is_flag=True, help="The first line only, and no progress.")
@option("--no-progress", is_flag=True, help="No progress line on the terminal.")
def command(
    *,
    target: str,
    nodes: Sequence[str],
    kube_context: str | None,
    slurm: bool,
    slurm_srun: bool,
    driver_map: str | None,
    injection: str | None,
    toolkit: str | None,
    docker: str | None,
    images: ImageOptions,
    format_: str,
    output: str | None,
    fail_on: str,
    quiet: bool,
    no_progress: bool,
) -> int:
    """Say on which machines an image runs, on which not, why, and what helps.

    \b
    kubectl get nodes -o json > nodes.json
    cudacompat fleet app:1.2 --nodes nodes.json
    cudacompat fleet app:1.2 --kube-context prod
    cudacompat fleet train.sbatch --slurm --driver-map drivers.txt

    TARGET is an image or a workload file, as for check.
    """
    check_output(output)
    options = HostOptions(injection=injection, toolkit=toolkit, docker=docker)
    machines = _inventory(nodes, kube_context, slurm=slurm, srun=slurm_srun)
    if driver_map is not None:
        machines = _mapped(machines, driver_map)
    machines = _over_hosts(machines, lambda host: replace(with_options(options, host), origin=host.origin))

    def inspect(name: str) -> ImageFacts:
        return images.inspect(name, progress=not (quiet or no_progress))

    answers = [_answer(question, inspect, machines) for question in _questions(target)]
    emit(_rendered(answers, format_, style_for(output, quiet=quiet)), output)
    return heaviest(exit_code(kind.verdict.outcome, fail_on) for _, _, found in answers for kind in found.gpu_kinds)


_Answer = tuple[ImageFacts, Nodes, FleetPrediction]


def _answer(question: _Question, inspect: Callable[[str], ImageFacts], machines: Nodes) -> _Answer:
    image = inspect(question.target)
    if question.injection is not None:
        mode = question.injection
        machines = _over_hosts(machines, lambda host: host if host.injection else replace(host, injection=mode))
    return image, machines, predict_fleet(image, machines)


def _inventory(files: Sequence[str], context: str | None, *, slurm: bool, srun: bool) -> Nodes:
    if not (files or context or slurm):
        raise click.UsageError("Which machines? Give --nodes FILE, --kube-context NAME or --slurm.")
    if srun and not slurm:
        raise click.UsageError("--slurm-srun needs --slurm.")
    if slurm and (files or context):
        raise click.UsageError("--slurm asks one site: give it without --nodes and --kube-context.")
    if slurm:
        site = joined([live.slurm_site()])
        return live.asked_by_srun(site) if srun else site
    if context is not None and files:
        raise click.UsageError("--kube-context asks one cluster: give it without --nodes.")
    return joined([live.kubernetes_cluster(context)]) if context is not None else read_nodes(files)


def _mapped(machines: Nodes, path: str) -> Nodes:
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_MOST_MAP_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"--driver-map {path} cannot be read: {error.strerror or error}.") from error
    if len(raw) > _MOST_MAP_BYTES:
        raise click.UsageError(f"--driver-map {path} is larger than {_MOST_MAP_BYTES >> 20} MiB.")
    return with_drivers(machines, driver_map.parse(raw.decode("utf-8-sig", "replace"), path))


def _over_hosts(machines: Nodes, change: Callable[[HostFacts], HostFacts]) -> Nodes:
    """The machines with changed facts; machines that share their facts go on sharing them."""
    known: dict[int, HostFacts] = {}

    def changed(host: HostFacts) -> HostFacts:
        if id(host) not in known:
            known[id(host)] = change(host)
        return known[id(host)]

    return replace(machines, nodes=tuple(replace(node, host=changed(node.host)) for node in machines.nodes))


def _questions(target: str) -> list[_Question]:
    """The target itself, or every image that the workload starts with GPUs or may start with them."""
    if not workload_targets.is_workload(target):
        return [_Question(target)]
    from cudacompat.workloads import check_workload

    uses = [use for workload in check_workload(target).workloads for use in workload.images]
    wanted = (use for use in uses if use.gpus is not False)
    found = list(dict.fromkeys(_Question(use.target, use.injection) for use in wanted if use.target))
    for use in uses:
        if use.target is None:
            complain(f"{target}, line {use.line}: {use.reference} is not judged: {use.why_not}")
    if not found:
        raise TargetError(f"{target} starts no image that can be read from here; give fleet the image itself")
    return found


def _rendered(answers: Sequence[_Answer], format_: str, style: Style) -> str:
    tool = api.tool()
    if format_ == "json":
        from cudacompat.report.fleet_document import fleet_document, fleets_document
        from cudacompat.report.json import text

        documents = [fleet_document(image.target, tool, nodes, found) for image, nodes, found in answers]
        return text(documents[0] if len(documents) == 1 else fleets_document(documents))
    from cudacompat.report.fleet_text import render_fleet

    return "\n".join(render_fleet(image.target, tool, nodes, found, style) for image, nodes, found in answers)
