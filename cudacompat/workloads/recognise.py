"""Which kind of workload a text is, by its content; the path's name decides only between equals."""

from __future__ import annotations

import re

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
_DOCKERFILE_NAME = re.compile(r"(?:^|/)(?:[\w.-]+\.)?(?:Dockerfile|Containerfile)(?:\.[\w.-]+)?$", re.IGNORECASE)


def recognise(path: str, text: str) -> WorkloadKind | None:
    """The kind of workload, None when the text is none of them. Never raises."""
    head = text[:_HEAD]
    if _DOCKERFILE_NAME.search(path) and _FROM.search(text):
        return "dockerfile"
    if _SBATCH.search(head):
        return "slurm"
    if _KUBERNETES.search(text) and _KIND.search(text):
        return "kubernetes"
    if _SERVICES.search(text) and not head.startswith("#!"):
        return "compose"
    if _SLURM_LINE.search(text) or (
        _SLURM_COMMAND.search(text) and path.endswith((".sh", ".sbatch", ".slurm", ".job"))
    ):
        return "slurm"
    if _RUN_LINE.search(text) and not _FROM.search(head):
        return "docker-run"
    instructions = re.search(r"^\s*(?:RUN|ENV|COPY|CMD|ENTRYPOINT|WORKDIR)\s", text, re.MULTILINE)
    return "dockerfile" if _FROM.search(text) and instructions else None
