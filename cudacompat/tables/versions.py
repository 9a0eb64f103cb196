"""Version texts of NVIDIA's world, compared as numbers and never as text or float."""

from __future__ import annotations

import re
from functools import lru_cache

from packaging.version import Version

from cudacompat.errors import UsageError

_NUMBERS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,12}){0,5}", re.ASCII)
# A branch alone may be written as NVIDIA does: R535.
_DRIVER = re.compile(r"[0-9]{2,4}(?:\.[0-9]{1,6}){0,3}|[rR][0-9]{2,4}", re.ASCII)
_OLDEST_BRANCH = 100


@lru_cache(maxsize=4096)
def parse_version(text: str) -> Version:
    """A version's numbers: "12.10" > "12.9", "450.80.02" = "450.80.2", four parts are fine.

    An epoch ("1:") and a package revision ("-1", "-1ubuntu1") are cut off. Raises UsageError.
    """
    bare = re.sub(r"^\d{1,9}:", "", text[:200].strip())
    bare = re.split(r"[-+~]", bare, maxsplit=1)[0].removeprefix("v")
    if not _NUMBERS.fullmatch(bare):
        raise UsageError(f"{text[:60]!r} is not a version: expected numbers with dots, such as 12.4 or 550.54.15")
    return Version(bare)


@lru_cache(maxsize=4096)
def parse_driver(text: str) -> Version:
    """A driver version. A bare branch ("535", "R535") stands for some release of that branch.

    Raises UsageError for anything else, with an example of what was expected.
    """
    bare = text[:200].strip()
    if _DRIVER.fullmatch(bare):
        version = Version(bare.lstrip("rR"))
        if version.release[0] >= _OLDEST_BRANCH:
            return version
    raise UsageError(f"{text[:60]!r} is not an NVIDIA driver version: expected one such as 535.183.01")


@lru_cache(maxsize=4096)
def driver_branch(driver: str) -> int:
    """The first number of a driver version. Raises UsageError."""
    return parse_driver(driver).release[0]


def is_branch_only(driver: str) -> bool:
    """Whether a driver is given as its branch alone ("535"). Raises UsageError."""
    return len(parse_driver(driver).release) == 1


@lru_cache(maxsize=4096)
def cuda_pair(cuda: str) -> tuple[int, int]:
    """A CUDA version as (major, minor); missing minor numbers are zero. Raises UsageError."""
    release = parse_version(cuda).release
    return release[0], release[1] if len(release) > 1 else 0
