"""Targets of ``cudacompat check`` that are workloads: files that name images, or a command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cudacompat import api
from cudacompat.cli.config import ignore_entries
from cudacompat.cli.workload_rules import workload_rules
from cudacompat.errors import TargetError
from cudacompat.model import HostFacts, ImageFacts, Report
from cudacompat.model.prediction import Outcome
from cudacompat.report import Other, Style
from cudacompat.report.interface import Nested, Silenced, Waiting

if TYPE_CHECKING:
    from cudacompat.workloads import Inventory, WorkloadReport
    from cudacompat.workloads.interface import WorkloadKind

_HEAD = 4 << 20
_COMMANDS = frozenset({"docker", "podman", "nvidia-docker", "nerdctl", "srun"})


def is_command_line(targets: Sequence[str]) -> bool:
    """Whether the targets are the words of one command (``-- docker run ...``)."""
    return len(targets) > 1 and targets[0] in _COMMANDS


def is_workload(target: str) -> bool:
    """Whether the target is a file whose content is a workload.

    Raises TargetError for a file of text that is none: no image is text.
    """
    return _kind(target) is not None


def _kind(target: str) -> WorkloadKind | None:
    path = Path(target)
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return None
    if b"\0" in head[:4096]:
        return None
    from cudacompat.workloads.recognise import recognise

    kind = recognise(target, head.decode("utf-8-sig", "replace"))
    if kind is not None:
        return kind
    if not head.strip():
        raise TargetError(f"{target}, line 1: the file is empty; there is neither an image nor a workload in it")
    if _is_text(head):
        raise TargetError(
            f"{target}, line 1: this text is no workload: neither a batch script (#SBATCH or srun lines), a Kubernetes "
            "manifest (apiVersion and kind), a Compose file (services), a Dockerfile (FROM image) nor docker run lines"
        )
    return None


def _is_text(head: bytes) -> bool:
    try:
        text = head[:4096].decode("utf-8")
    except UnicodeDecodeError as error:
        # The cut may go through a character.
        if error.start < len(head[:4096]) - 3:
            return False
        text = head[: error.start].decode("utf-8")
    return all(character.isprintable() or character in "\t\n\r\f\v" for character in text)


def check(
    target: str | Sequence[str],
    host: HostFacts,
    inspect: Callable[[str], ImageFacts],
    nodes: str | None,
    *,
    here: bool,
) -> tuple[Other, Outcome]:
    """Check a workload file, or the words of a command line; ``inspect`` reads one image.

    ``nodes`` is a file with the cluster's nodes, from kubectl, scontrol or sinfo. ``here``: the workload is
    meant for this machine, whose Compose and engine are then asked.
    """
    from cudacompat.workloads import ImageUse, check_command, check_workload, ignores_from_config

    inventory = _inventory(nodes)
    if here and isinstance(target, str) and _kind(target) == "compose":
        inventory = _with_engine(inventory)
    ignores = ignores_from_config(ignore_entries())

    def check_image(use: ImageUse) -> Report:
        # The way a workload starts its image decides the injection mode where the user has not.
        facts = replace(host, injection=use.injection) if use.injection and host.injection is None else host
        return api.report_on(inspect(use.target or use.reference), facts)

    found = (
        check_workload(
            target, inventory=inventory, check_image=check_image, ignores=ignores, submit_env=_submit_variables()
        )
        if isinstance(target, str)
        else check_command(target, inventory=inventory, check_image=check_image, ignores=ignores)
    )

    other = _result(found, host, is_file=isinstance(target, str))
    return other, other.verdict.outcome


def _inventory(nodes: str | None) -> Inventory:
    """What the rules may know of the cluster; a plain list of hosts says nothing of its scheduler."""
    from cudacompat.workloads import Inventory

    if nodes is None:
        return Inventory()
    from cudacompat.inventory.read import read_content
    from cudacompat.model.inventory import Fleet, SlurmSite

    content = read_content(nodes)
    return Inventory(
        site=content if isinstance(content, SlurmSite) else None,
        fleet=content if isinstance(content, Fleet) else None,
    )


def _with_engine(inventory: Inventory) -> Inventory:
    """What this machine's Compose and engine say of themselves, added."""
    from cudacompat.host import compose
    from cudacompat.host.machine import LocalMachine

    machine = LocalMachine()
    return replace(inventory, compose_version=compose.compose_version(machine), runtimes=compose.runtimes(machine))


def _submit_variables() -> dict[str, str]:
    """The variables of this shell that sbatch would put before a script's own lines."""
    return {name: value for name, value in os.environ.items() if name.startswith("SBATCH_") and value}


def _result(found: WorkloadReport, host: HostFacts, *, is_file: bool) -> Other:
    """What every output format needs of a workload's report."""
    from cudacompat.workloads import report as form

    # The report names no host, and with profiles there are several of it.
    place = host.origin if host.origin.startswith("profile ") else ""

    def text(style: Style) -> str:
        return style.clean(f"on {place}: " if place else "") + form.text(found, style)

    silenced = tuple(
        Silenced(item.finding, item.reason, item.where, in_file=item.where.startswith(f"{found.path}, line "))
        for item in found.suppressed
    )
    read = [Nested(use.reference, use.line, report) for use, report in found.reports]
    unread = [Nested(use.reference, use.line, None, why) for use, why in found.unread]
    names = {finding.rule for finding in (*found.findings, *(item.finding for item in silenced))}
    return Other(
        found.path,
        found.findings,
        form.document(found, host, api.tool()),
        text,
        form.verdict(found),
        is_file=is_file,
        place=place,
        silenced=silenced,
        images=(*read, *unread),
        waiting=tuple(Waiting(rule.rule, rule.title, rule.waits_for) for rule in found.not_judged),
        rules=workload_rules(names | {rule.rule for rule in found.not_judged}),
    )
