"""Release numbers of Docker and the NVIDIA container toolkit, as upstreams and distributions write them."""

from __future__ import annotations

import re

_RELEASE = re.compile(r"\s*(?:[0-9]{1,9}:)?v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,9})", re.ASCII)


def release(text: str | None) -> tuple[int, ...] | None:
    """The leading numbers of a version, or None where it does not begin with one.

    Package suffixes and pre-release marks are left out ("5:29.2.0-1~debian.12" is (29, 2, 0), "1.18.0-rc.1"
    is (1, 18, 0)): the toolkit's packages carry what their release carries.
    """
    match = _RELEASE.match(text or "")
    return tuple(int(number) for number in match[1].split(".")) if match else None
