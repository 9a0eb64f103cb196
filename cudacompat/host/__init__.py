"""Learning host facts: from options, from a file, from the machine itself.

A file format is one file here and one line in ``file.FORMATS``; a way of asking this machine is one file
and one line in ``local.WAYS``. What nobody said stays None.
"""

from __future__ import annotations

from cudacompat.host.file import read_host_file
from cudacompat.host.local import local_host
from cudacompat.host.options import HostOptions, with_options

__all__ = ["HostOptions", "local_host", "read_host_file", "with_options"]
