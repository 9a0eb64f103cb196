"""Which kind of workload a text is, by its content; the path's name decides only between equals."""

from __future__ import annotations

import re
from collections.abc import Callable

from cudacompat.workloads.interface import WorkloadKind

_HEAD = 64 << 10
_SBATCH = re.compile(r"^\s{0,3}#{1,2}\s?S[A-Z]{3,7}\s+-", re.MULTILINE)
_SLURM_LINE = re.compile(r"^\s*(?:\w+=\S*\s+)*(?:srun|salloc)\s+-", re.MULTILINE)
_SLURM_COMMAND = re.compile(r"^\s*(?:\w+=\S*\s+)*(?:srun|salloc)\s", re.MULTILINE)
_RUN_LINE = re.compile(
    r"^\s*(?:[\w$({]\S*\s+){0,6}?(?:docker|podman|nvidia-docker|nerdctl)\s+(?:container\s+)?(?:run|create)\b",
    re.MULTILINE,
)
_KUBERNETES = re.compile(r"^[ \t{\"']*apiVersion[\"']?\s*:", re.MULTILINE)
_KIND = re.compile(r"[\"']?\bkind[\"']?\s*:")
_SERVICES = re.compile(r"^[{ ]*[\"']?services[\"']?\s*:", re.MULTILINE)
_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*\S+(?:\s+AS\s+\S+)?\s*$", re.MULTILINE | re.IGNORECASE)
_INSTRUCTION = re.compile(r"^\s*(?:RUN|ENV|COPY|CMD|ENTRYPOINT|WORKDIR)\s", re.MULTILINE)
_DOCKERFILE_NAME = re.compile(r"(?:^|/)(?:[\w.-]+\.)?(?:Dockerfile|Containerfile)(?:\.[\w.-]+)?$", re.IGNORECASE)


def recognise(path: str, text: str) -> WorkloadKind | None:
    """The kind of workload, None when the text is none of them. Never raises."""
    return next((kind for kind, fits in _TESTS if fits(path, text)), None)


def _named_dockerfile(path: str, text: str) -> bool:
    return _DOCKERFILE_NAME.search(path) is not None and _FROM.search(text) is not None


def _batch_script(_path: str, text: str) -> bool:
    return _SBATCH.search(text, 0, _HEAD) is not None


def _manifest(_path: str, text: str) -> bool:
    return _KUBERNETES.search(text) is not None and _KIND.search(text) is not None


def _compose(_path: str, text: str) -> bool:
    return _SERVICES.search(text) is not None and not text.startswith("#!")


def _srun_lines(path: str, text: str) -> bool:
    named = path.endswith((".sh", ".sbatch", ".slurm", ".job"))
    return _SLURM_LINE.search(text) is not None or (named and _SLURM_COMMAND.search(text) is not None)


def _run_lines(_path: str, text: str) -> bool:
    return _RUN_LINE.search(text) is not None and _FROM.search(text, 0, _HEAD) is None


def _dockerfile(_path: str, text: str) -> bool:
    return _FROM.search(text) is not None and _INSTRUCTION.search(text) is not None


_TESTS: tuple[tuple[WorkloadKind, Callable[[str, str], bool]], ...] = (
    ("dockerfile", _named_dockerfile),
    ("slurm", _batch_script),
    ("kubernetes", _manifest),
    ("compose", _compose),
    ("slurm", _srun_lines),
    ("docker-run", _run_lines),
    ("dockerfile", _dockerfile),
)
