"""Every rule of Kubernetes manifests. A new file of rules is one line here."""

from cudacompat.workloads.kubernetes import dra_rules, fleet_rules, pod_rules, resource_rules
from cudacompat.workloads.kubernetes.book import BOOK

__all__ = ["BOOK", "dra_rules", "fleet_rules", "pod_rules", "resource_rules"]
