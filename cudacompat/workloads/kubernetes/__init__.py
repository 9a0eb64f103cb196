"""Kubernetes manifests: every pod that a file makes, and the rules on them."""
