"""Root's power over file permissions, laid down for a while: tests of "permission denied" run for root too."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION_3 = 0x20080522
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2
_BYPASS = 1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


_Data = _Sets * 2


@contextmanager
def permissions_count() -> Iterator[None]:
    """File permissions hold for this thread, whoever runs it."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = _Header(_VERSION_3, 0), _Data()
    _checked(libc.capget(ctypes.byref(header), data))
    before = data[0].effective
    data[0].effective = before & ~_BYPASS
    _checked(libc.capset(ctypes.byref(header), data))
    try:
        yield
    finally:
        data[0].effective = before
        _checked(libc.capset(ctypes.byref(header), data))


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), "the capabilities of this thread cannot be changed")
