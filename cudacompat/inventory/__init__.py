"""Many machines at once: what schedulers and lists say about a cluster's nodes.

A form is one file here and one line in ``read.FORMATS``. ``kubernetes`` and ``slurm`` read what the
scheduler says; ``facts`` makes host facts of it; ``lists`` reads host facts that are there already.
"""
