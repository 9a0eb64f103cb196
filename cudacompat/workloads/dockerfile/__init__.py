"""Dockerfiles: base images and the lines that bring or break CUDA. Nothing is built."""
