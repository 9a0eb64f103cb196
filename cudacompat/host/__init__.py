"""Learning host facts: from options, from a file, from the machine itself.

A file format is one file here and one line in ``file.FORMATS``; a way of asking this machine is one file
and one line in ``local.WAYS``. What nobody said stays None. ``file`` and ``local`` are imported where they
are needed: a check that names its host pays for neither.
"""

from __future__ import annotations

from cudacompat.host.options import HostOptions, with_options

__all__ = ["HostOptions", "with_options"]
