"""Digests as OCI writes them: "sha256:" and lower-case hexadecimal."""

from __future__ import annotations

import hashlib
import re

from cudacompat.errors import TargetError

_DIGEST = re.compile(r"(sha256):([0-9a-f]{64})|(sha384):([0-9a-f]{96})|(sha512):([0-9a-f]{128})")


def algorithm_of(digest: str, where: str) -> str:
    """The hash algorithm of a well-formed digest. Raises TargetError for anything else."""
    match = _DIGEST.fullmatch(digest)
    if not match:
        raise TargetError(f"{where} has {digest[:200]!r} for a digest, which is none that can be checked.")
    return digest.partition(":")[0]


def digest_of(data: bytes, algorithm: str = "sha256") -> str:
    """The digest of ``data``."""
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


def check_digest(data: bytes, digest: str, where: str) -> bytes:
    """``data`` itself when it hashes to ``digest``, else TargetError."""
    if digest_of(data, algorithm_of(digest, where)) != digest:
        raise TargetError(f"{where} does not match its digest {digest}.")
    return data
