"""Slurm batch scripts and srun lines: what they ask for, what they start, and the rules on them."""
