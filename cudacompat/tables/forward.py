"""Which cuda-compat package works on which driver branch, by NVIDIA's published editions."""

from __future__ import annotations

from cudacompat.tables.drivers import driver_cuda
from cudacompat.tables.store import Row, remembered, rows, rules, sources
from cudacompat.tables.types import Known
from cudacompat.tables.versions import cuda_pair, driver_branch, is_branch_only, parse_driver


@remembered
def forward_compat(compat_driver: str, host_driver: str) -> Known:
    """Whether NVIDIA supports a compat libcuda of one driver version on a kernel driver of another.

    ``value`` is "yes", "no", "native" (the branch brings the same CUDA itself) or None where no source
    decides. The newest edition of NVIDIA's guide with the branch as a column counts first, then older
    editions, then copies of editions that are gone, then the branches that published images of that CUDA
    version name. Raises UsageError.
    """
    host = driver_branch(host_driver)
    if driver_branch(compat_driver) == host:
        return Known("native", "high", f"both are of branch {host}")
    known = _cuda_of(compat_driver)
    if known.value is None:
        return Known(None, "low", f"the CUDA version of compat libcuda {compat_driver} is not known")
    cuda = known.value
    if known.confidence == "low":
        return _newer_host(compat_driver, host) or Known(None, "low", known.basis)
    return (
        _by_matrix(cuda, host)
        or _newer_host(compat_driver, host)
        or _by_copies(cuda, host_driver)
        or _by_images(cuda, host)
        or _left_out(cuda, host)
    )


def _cuda_of(compat_driver: str) -> Known:
    """The release whose package carries a library of this version, else what the branch reports."""
    if not is_branch_only(compat_driver):
        for row in rows("forward_compat", "package"):
            if parse_driver(row["driver"]) == parse_driver(compat_driver):
                return Known(row["cuda"], "high", f"package of CUDA {row['cuda']}", sources("forward_compat", row))
    return driver_cuda(compat_driver)


def _of_cuda(kind: str, cuda: str) -> list[Row]:
    return [row for row in rows("forward_compat", kind) if cuda_pair(row["cuda"]) == cuda_pair(cuda)]


def _by_matrix(cuda: str, host: int) -> Known | None:
    for row in sorted(_of_cuda("matrix", cuda), key=lambda row: int(row["edition"]), reverse=True):
        basis = f"NVIDIA's compatibility guide, edition {row['edition']}"
        for value, listed in (("yes", "compatible"), ("native", "not_applicable"), ("no", "not_compatible")):
            if host in row[listed]:
                return Known(value, "high", basis, sources("forward_compat", row))
    return None


def _newer_host(compat_driver: str, host: int) -> Known | None:
    if host < driver_branch(compat_driver):
        return None
    basis = f"branch {host} is newer than compat libcuda {compat_driver}: NVIDIA's guide supports only older ones"
    source = "; ".join(sources("forward_compat", rule) for rule in rules("forward_compat") if rule["id"] == "naming")
    return Known("no", "medium", basis, source)


def _by_copies(cuda: str, host_driver: str) -> Known | None:
    """Tables that others copied from editions of the guide that are no longer published."""
    for row in _of_cuda("third_party", cuda):
        if any(_is_at_least(host_driver, least) for least in row["min_drivers"]):
            return Known("yes", "medium", "a copy of an older edition of the guide", sources("forward_compat", row))
    for row in rows("forward_compat", "base_branch"):
        reach = cuda_pair(row["max_cuda"])
        if _is_at_least(host_driver, row["min_driver"]) and cuda_pair(cuda) <= reach:
            basis = f"a copy of older editions: branch {row['branch']} takes packages up to CUDA {row['max_cuda']}"
            return Known("yes", "medium", basis, sources("forward_compat", row))
    return None


def _is_at_least(driver: str, least: str) -> bool:
    """Whether a driver is of the branch of ``least`` and not older."""
    if driver_branch(driver) != driver_branch(least):
        return False
    return is_branch_only(driver) or parse_driver(driver) >= parse_driver(least)


def _by_images(cuda: str, host: int) -> Known | None:
    for row in _of_cuda("require_branches", cuda):
        if host in row["branches"]:
            disputed = "contradiction" in row
            basis = f"branches that published images of CUDA {cuda} name" + (", disputed" if disputed else "")
            return Known("yes", "low" if disputed else "medium", basis, sources("forward_compat", row))
    return None


def _left_out(cuda: str, host: int) -> Known:
    """A branch that every source on this CUDA version leaves out is not supported."""
    named = [*_of_cuda("matrix", cuda), *_of_cuda("require_branches", cuda)]
    if not named:
        return Known(None, "low", f"no source lists the branches for compat packages of CUDA {cuda}")
    basis = f"branch {host} is in no list for compat packages of CUDA {cuda}"
    return Known("no", "medium", basis, sources("forward_compat", named[0]))
