"""Compose files: services, the GPUs they ask for, and the rules on them."""
