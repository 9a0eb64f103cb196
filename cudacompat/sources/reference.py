"""Image references as people write them: ``[host[:port]/]path[:tag][@digest]``.

The grammar is the one of github.com/distribution/reference, with Docker Hub's short forms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cudacompat.errors import UsageError

DOCKER_HUB = "docker.io"

_HUB_NAMES = frozenset((DOCKER_HUB, "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"))
_LABEL = r"(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{{1,5}})?")
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}")
_MAX_NAME = 255


@dataclass(frozen=True, slots=True)
class Reference:
    """One image in one registry.

    ``host`` is the registry as users name it ("docker.io", "localhost:5000"), ``repository`` the full path
    there ("library/ubuntu"). A ``digest`` decides; a ``tag`` beside it is only what people read.
    """

    host: str
    repository: str
    tag: str | None
    digest: str | None

    @property
    def wanted(self) -> str:
        """What the registry is asked for: the digest, else the tag."""
        return self.digest or self.tag or "latest"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.host}/{self.repository}{tag}{digest}"


def parse_reference(text: str) -> Reference:
    """The reference in ``text``; a name without tag and digest means the tag "latest".

    Raises UsageError. The message repeats the text only where it cannot hold a password.
    """
    name, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise UsageError(
            "The image reference has something behind its '@' that is no digest like sha256:<64 hex digits>; "
            "logins do not belong into references, use docker login."
        )
    host, path = _split_host(name)
    repository, colon, tag = path.partition(":")
    if colon and not _TAG.fullmatch(tag):
        raise UsageError(f"{text[:300]!r} is not an image reference: {tag[:150]!r} is no tag.")
    _check_repository(text, host, repository)
    if host in _HUB_NAMES:
        host = DOCKER_HUB
        repository = repository if "/" in repository else f"library/{repository}"
    return Reference(host, repository, tag or (None if digest else "latest"), digest or None)


def _split_host(name: str) -> tuple[str, str]:
    """A first part counts as a host when it has a dot or a port, or is "localhost"."""
    first, slash, rest = name.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost" or first.lower() != first):
        return DOCKER_HUB, name
    return first, rest


def _check_repository(text: str, host: str, repository: str) -> None:
    shown = repr(text[:300])
    if not _HOST.fullmatch(host) or _port_of(host) > 65535:
        raise UsageError(f"{shown} is not an image reference: {host[:150]!r} is no registry host.")
    if len(repository) > _MAX_NAME:
        raise UsageError(f"{shown} is not an image reference: its name is longer than {_MAX_NAME} characters.")
    if _REPOSITORY.fullmatch(repository):
        return
    if _REPOSITORY.fullmatch(repository.lower()):
        raise UsageError(f"{shown} is not an image reference: repository names are lower-case.")
    raise UsageError(f"{shown} is not an image reference; write it like ubuntu:22.04 or host:5000/team/app:1.0.")


def _port_of(host: str) -> int:
    port = host.rpartition("]")[2].rpartition(":")[2]
    return int(port) if port.isdigit() and ":" in host else 0
