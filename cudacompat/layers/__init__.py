"""A layer's bytes to its entries, and the layers' entries to what a container sees."""
