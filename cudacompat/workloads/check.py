"""Check a workload file: read it, judge it by its format's rules, have its images checked, silence what is to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cudacompat.errors import Error, TargetError
from cudacompat.model import Finding, Report
from cudacompat.workloads.formats import open_format
from cudacompat.workloads.interface import (
    MAX_SCRIPT_BYTES,
    MAX_YAML_BYTES,
    ImageUse,
    Inventory,
    Workload,
    WorkloadKind,
    WorkloadReport,
    check_size,
)
from cudacompat.workloads.recognise import recognise
from cudacompat.workloads.suppress import Ignore, split_suppressed

#: Checks one image: it gets the use, and answers with its report or raises an Error.
CheckImage = Callable[[ImageUse], Report]

_LEVELS = {"error": 0, "warning": 1, "note": 2}


def check_workload(
    path: str | Path,
    *,
    inventory: Inventory | None = None,
    check_image: CheckImage | None = None,
    ignores: Sequence[Ignore] = (),
    submit_env: Mapping[str, str] | None = None,
) -> WorkloadReport:
    """Check the workload file at ``path``.

    ``submit_env`` are SBATCH_* variables of the shell that submits a Slurm script: they win over its #SBATCH lines.
    ``check_image`` is called once for each image that can be read from here; without it no image is
    looked at, and rules that need an image's content are named as not judged. Raises TargetError when the
    file cannot be read or is no workload.
    """
    name = str(path)
    return check_text(
        read_text(name), name, inventory=inventory, check_image=check_image, ignores=ignores, submit_env=submit_env
    )


def read_text(path: str) -> str:
    """The file's text, bounded. Raises TargetError when it is missing, too large or no text."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MAX_YAML_BYTES + 1)
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror or error}") from error
    if b"\0" in raw[:4096]:
        raise TargetError(f"{path} is no text file, so it is no workload")
    text = raw.decode("utf-8-sig", "replace")
    check_size(text, path, MAX_YAML_BYTES, "file")
    if not text.strip():
        raise TargetError(f"{path} is empty: there is no workload in it")
    return text


def check_text(
    text: str,
    path: str,
    *,
    inventory: Inventory | None = None,
    check_image: CheckImage | None = None,
    ignores: Sequence[Ignore] = (),
    submit_env: Mapping[str, str] | None = None,
) -> WorkloadReport:
    """The same for a text that was read already; ``path`` names it in findings."""
    kind = recognise(path, text)
    if kind is None:
        raise TargetError(
            f"{path}, line 1: no workload is recognised (a Slurm script, Kubernetes or Compose YAML, "
            "a docker run line, a Dockerfile)"
        )
    return _check(
        kind,
        text,
        path,
        inventory=inventory or Inventory(),
        check_image=check_image,
        ignores=ignores,
        submit_env=submit_env,
    )


def check_command(
    words: Sequence[str],
    *,
    inventory: Inventory | None = None,
    check_image: CheckImage | None = None,
    ignores: Sequence[Ignore] = (),
) -> WorkloadReport:
    """Check one command line (`docker run ...`, `podman run ...`, `srun ...`), split into words by the shell."""
    import shlex

    from cudacompat.workloads.docker.command import is_engine_run

    kind: WorkloadKind = "docker-run" if is_engine_run(words) else "slurm"
    if kind == "slurm" and words[:1] not in (["srun"], ("srun",), ["salloc"], ("salloc",)):
        raise TargetError(f"{shlex.join(words)[:80]!r} is no `docker run`, `podman run` or `srun` line")
    return _check(
        kind,
        shlex.join(words),
        "command line",
        inventory=inventory or Inventory(),
        check_image=check_image,
        ignores=ignores,
    )


def _check(
    kind: WorkloadKind,
    text: str,
    path: str,
    *,
    inventory: Inventory,
    check_image: CheckImage | None,
    ignores: Sequence[Ignore],
    submit_env: Mapping[str, str] | None = None,
) -> WorkloadReport:
    if kind in ("slurm", "docker-run", "dockerfile"):
        check_size(text, path, MAX_SCRIPT_BYTES, "script")
    found = open_format(kind, text, path, submit_env)
    reports, unread = _images(found.workloads, check_image)
    facts = {use.reference: report.image for use, report in reports}
    findings, waiting = found.judge(replace(inventory, images={**inventory.images, **facts}))
    kept, silenced = split_suppressed(_sorted(findings), text, path, ignores)
    return WorkloadReport(path, kind, found.workloads, kept, silenced, tuple(waiting), tuple(reports), tuple(unread))


def _sorted(findings: list[Finding]) -> list[Finding]:
    return sorted(
        dict.fromkeys(findings), key=lambda f: ((f.location.line or 0) if f.location else 0, _LEVELS[f.level], f.rule)
    )


def _images(
    workloads: tuple[Workload, ...], check_image: CheckImage | None
) -> tuple[list[tuple[ImageUse, Report]], list[tuple[ImageUse, str]]]:
    reports: list[tuple[ImageUse, Report]] = []
    unread: list[tuple[ImageUse, str]] = []
    seen: set[tuple[str | None, str | None]] = set()
    for use in (use for workload in workloads for use in workload.images):
        if (use.target or use.reference, use.injection) in seen:
            continue
        seen.add((use.target or use.reference, use.injection))
        if use.target is None:
            unread.append((use, use.why_not))
        elif check_image is not None:
            try:
                reports.append((use, check_image(use)))
            except Error as error:
                unread.append((use, str(error)))
    return reports, unread
