"""Workload files: Slurm scripts, Kubernetes and Compose YAML, docker run lines, Dockerfiles.

``check_workload(path)`` reads one, judges it before submission, and names the images in it.
"""

from cudacompat.workloads.check import check_command, check_text, check_workload
from cudacompat.workloads.formats import rule_cards
from cudacompat.workloads.interface import ImageUse, Inventory, RuleInfo, Workload, WorkloadReport
from cudacompat.workloads.recognise import recognise
from cudacompat.workloads.suppress import Ignore, ignores_from_config

__all__ = [
    "Ignore",
    "ImageUse",
    "Inventory",
    "RuleInfo",
    "Workload",
    "WorkloadReport",
    "check_command",
    "check_text",
    "check_workload",
    "ignores_from_config",
    "recognise",
    "rule_cards",
]
