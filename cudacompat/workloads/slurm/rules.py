"""Every rule of Slurm scripts. A new file of rules is one line here."""

from cudacompat.workloads.slurm import (
    container_rules,
    directive_rules,
    launch_rules,
    request_rules,
    site_rules,
    visible,
)
from cudacompat.workloads.slurm.book import BOOK

__all__ = ["BOOK", "container_rules", "directive_rules", "launch_rules", "request_rules", "site_rules", "visible"]
