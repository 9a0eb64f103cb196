"""Errors that carry one clear sentence for a person. The command line prints it and nothing else."""

from __future__ import annotations


class Error(Exception):
    """Base of every error that cudacompat raises on purpose. ``str(error)`` is one sentence or two."""

    exit_code = 4


class TargetError(Error):
    """The target could not be read: missing, refused, broken, of an unknown type, network."""

    exit_code = 4


class HostError(Error):
    """The host's facts could not be learned or read from the named file or machine."""

    exit_code = 4


class DataError(Error):
    """A table or an edition file is broken: says which file and row."""

    exit_code = 4


class UsageError(Error):
    """A value the user gave makes no sense: a driver version that is none, an ambiguous GPU name ..."""

    exit_code = 2
