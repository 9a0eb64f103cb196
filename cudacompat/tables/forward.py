"""Which cuda-compat package works on which driver branch, by NVIDIA's published editions."""

from __future__ import annotations

from cudacompat.tables.drivers import branch, branches, driver_cuda
from cudacompat.tables.store import Row, remembered, rows, sources
from cudacompat.tables.types import Known
from cudacompat.tables.versions import cuda_pair, driver_branch


@remembered
def forward_compat(compat_driver: str, host_driver: str) -> Known:
    """Whether a compat libcuda of one driver version works on a kernel driver of another.

    ``value`` is "yes", "no", "native" (the branch brings the same CUDA itself) or None where no source
    decides. The newest edition of NVIDIA's guide that has the branch as a column counts first, then older
    editions, then the branches that published images of that CUDA version accept. Raises UsageError.
    """
    cuda = _cuda_of(compat_driver)
    host = driver_branch(host_driver)
    if driver_branch(compat_driver) == host:
        return Known("native", "high", f"both are of branch {host}")
    if cuda is None:
        return Known(None, "low", f"the CUDA version of compat libcuda {compat_driver} is not known")
    for answer in (_by_matrix(cuda, host), _by_third_party(cuda, host), _by_images(cuda, host)):
        if answer is not None:
            return answer
    return _by_branches(cuda, host, compat_driver)


def _cuda_of(compat_driver: str) -> str | None:
    """The release whose package carries a library of this version, else the branch's CUDA version."""
    for row in rows("forward_compat", "package"):
        if row["driver_file_version"] == compat_driver:
            return str(row["cuda"])
    known = branch(driver_branch(compat_driver))
    return known.cuda if known is not None else driver_cuda(compat_driver).value


def _by_matrix(cuda: str, host: int) -> Known | None:
    matrix = [row for row in rows("forward_compat", "matrix") if cuda_pair(row["cuda"]) == cuda_pair(cuda)]
    for row in sorted(matrix, key=lambda row: int(row["edition"]), reverse=True):
        source, basis = sources("forward_compat", row), f"NVIDIA's guide, edition {row['edition']}"
        if host in row["compatible"]:
            return Known("yes", "high", basis, source)
        if host in row["not_applicable"]:
            return Known("native", "high", basis, source)
        if host in row["not_compatible"]:
            return Known("no", "high", basis, source)
    return None


def _by_third_party(cuda: str, host: int) -> Known | None:
    for row in rows("forward_compat", "matrix_thirdparty"):
        same = cuda_pair(row["cuda"]) == cuda_pair(cuda)
        if same and any(driver_branch(driver) == host for driver in row["min_drivers"]):
            return Known("yes", "medium", "a copy of an older edition", sources("forward_compat", row))
    return None


def _by_images(cuda: str, host: int) -> Known | None:
    row = _image_row(cuda)
    if row is not None and host in row["branches_union"]:
        basis = f"branches that NVIDIA's CUDA {cuda} images accept"
        return Known("yes", "medium", basis, sources("forward_compat", row))
    return None


def _image_row(cuda: str) -> Row | None:
    found = rows("forward_compat", "require_branches")
    return next((row for row in found if cuda_pair(row["cuda"]) == cuda_pair(cuda)), None)


def _by_branches(cuda: str, host: int, compat_driver: str) -> Known:
    """No source lists the pair: a branch that sources on this CUDA version leave out is not supported."""
    named = [row for row in rows("forward_compat", "matrix") if cuda_pair(row["cuda"]) == cuda_pair(cuda)]
    image = _image_row(cuda)
    if named or image is not None:
        basis = f"branch {host} is in no list for CUDA {cuda}"
        source = sources("forward_compat", named[0] if named else image or {})
        return Known("no", "medium", basis, source)
    if host not in {row.branch for row in branches()}:
        return Known(None, "low", f"neither branch {host} nor compat libcuda {compat_driver} is in the table")
    return Known(None, "low", f"no source lists compat packages of CUDA {cuda}")
