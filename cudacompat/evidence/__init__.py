"""Detectors, and the one pass that feeds them."""
