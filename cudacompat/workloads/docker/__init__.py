"""`docker run` and podman lines: what they ask for, and the rules on them."""
