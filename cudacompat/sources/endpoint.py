"""One repository on one registry host: scheme, login and status codes dealt with, bytes handed on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cudacompat.errors import TargetError, UsageError
from cudacompat.sources.auth import Authorization
from cudacompat.sources.contract import Options, UnavailableError
from cudacompat.sources.credentials import find_login
from cudacompat.sources.manifests import DOCKER_INDEX, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST
from cudacompat.sources.reference import DOCKER_HUB, Reference, parse_reference
from cudacompat.sources.transport import Transport, read_body
from cudacompat.sources.trust import Trust

if TYPE_CHECKING:
    import requests

MANIFEST_LIMIT = 4 << 20

_HUB_API = "registry-1.docker.io"
# Schema 1 is asked for as well, so that an old image is told from a missing one.
_ACCEPTED = (OCI_INDEX, DOCKER_INDEX, OCI_MANIFEST, DOCKER_MANIFEST)
_SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1+prettyjws;q=0.5"
_ACCEPT = ", ".join((*_ACCEPTED, _SCHEMA_1))
_ERROR_CODE = re.compile(rb'"code"\s*:\s*"([A-Z_]{1,40})"')
_WANTS_TLS = re.compile(rb"https server|https port|plain http to an ssl", re.IGNORECASE)
_MAX_ERROR = 64 << 10


class Endpoint:
    """Where one repository is read: a registry, or a mirror of it."""

    def __init__(self, host: str, repository: str, trust: Trust) -> None:
        self.host = host
        self._repository = repository
        self._trust = trust
        self._address = _HUB_API if host == DOCKER_HUB else host
        self._scheme: str | None = None
        self._transport = Transport(trust)
        self._authorization = Authorization(self._transport, repository, lambda: find_login(host, repository))

    def manifest(self, wanted: str) -> tuple[bytes, str]:
        """A manifest or index by tag or digest, and the media type it was sent with."""
        what = f"{self.host}/{self._repository}{'@' if ':' in wanted else ':'}{wanted}"
        response = self._get(f"manifests/{wanted}", what, {"Accept": _ACCEPT})
        media_type = response.headers.get("Content-Type", "").partition(";")[0].strip()
        return read_body(response, MANIFEST_LIMIT, f"The manifest of {what}"), media_type

    def blob(self, digest: str) -> requests.Response:
        """The answer that carries a blob, its body not yet read."""
        return self._get(f"blobs/{digest}", f"The blob {digest} of {self.host}/{self._repository}", {})

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def _get(self, path: str, what: str, headers: dict[str, str]) -> requests.Response:
        response = self._send(path, headers)
        if response.status_code == 401 and self._is_ours(response):
            # Twice at most: at first there was no token, or the one there was has expired.
            challenge = response.headers.get("WWW-Authenticate", "")
            if self._authorization.answer(challenge, response.url):
                response.close()
                response = self._send(path, headers)
        if response.status_code != 200:
            raise self._refusal(response, what)
        return response

    def _send(self, path: str, headers: dict[str, str]) -> requests.Response:
        if self._authorization.header:
            headers = headers | {"Authorization": self._authorization.header}
        rest = f"{self._address}/v2/{self._repository}/{path}"
        if self._scheme is not None:
            return self._transport.get(f"{self._scheme}://{rest}", headers)
        return self._find_scheme(rest, headers)

    def _find_scheme(self, rest: str, headers: dict[str, str]) -> requests.Response:
        """The first request of all: it shows which of the schemes allowed here the host speaks."""
        first_error: UnavailableError | None = None
        for scheme in self._trust.schemes(self._address):
            try:
                response = self._transport.get(f"{scheme}://{rest}", headers)
            except UnavailableError as error:
                first_error = first_error or error
                continue
            if response.status_code == 400 and scheme == "http" and self._wants_tls(response):
                continue
            self._scheme = scheme
            return response
        raise first_error or UnavailableError(f"{self.host} could not be asked.")

    def _wants_tls(self, response: requests.Response) -> bool:
        """Whether a server says that its port is one for TLS; common servers all answer 400 and say so."""
        body = read_body(response, _MAX_ERROR, f"The answer of {self.host}")
        if _WANTS_TLS.search(body):
            return True
        raise UnavailableError(f"{self.host} answered 400.")

    def _is_ours(self, response: requests.Response) -> bool:
        """Whether an answer is this registry's own and not that of a host it sent us to."""
        return urlsplit(response.url).netloc == self._address

    def _refusal(self, response: requests.Response, what: str) -> TargetError:
        status = response.status_code
        if not self._is_ours(response):
            response.close()
            elsewhere = urlsplit(response.url).netloc.rpartition("@")[2][:200]
            return UnavailableError(f"{what} lies at {elsewhere}, which answered {status}.")
        body = read_body(response, _MAX_ERROR, f"The answer of {self.host}")
        code = _ERROR_CODE.search(body)
        if status in {401, 403}:
            return UnavailableError(self._login_words(what))
        if status == 404:
            return UnavailableError(f"{what} does not exist in the registry {self.host}.")
        if status == 429:
            return UnavailableError(f"{self.host} has had too many requests; log in there or try again later.")
        said = f" ({code.group(1).decode()})" if code else ""
        return UnavailableError(f"{self.host} answered {status}{said} when asked for {what}.")

    def _login_words(self, what: str) -> str:
        login = self._authorization.login
        if login is not None and login.credentials is not None:
            return (
                f"{self.host} does not let the login from {login.credentials.origin} read {what}: "
                "it does not exist, or another login is needed."
            )
        problems = "".join(f" {problem}" for problem in login.problems) if login else ""
        name = "" if self.host == DOCKER_HUB else f" {self.host}"
        return f"{what} does not exist or needs a login: docker login{name}.{problems}"


def endpoints(reference: Reference, options: Options) -> Iterator[Endpoint]:
    """Where to ask for an image, in order: the mirror the user named for its registry, then the registry."""
    mirror = options.mirrors.get(reference.host)
    if mirror:
        scheme, _, place = mirror.rpartition("://")
        host, _, prefix = place.rstrip("/").partition("/")
        trust = options.trust
        if scheme == "http":
            trust = Trust(trust.insecure | {host.lower()})
        elif scheme not in {"", "https"}:
            raise UsageError(f"The mirror of {reference.host} is none; write it like mirror.example:5000.")
        repository = f"{prefix}/{reference.repository}" if prefix else reference.repository
        parse_reference(f"{host}/{repository}")
        yield Endpoint(host, repository, trust)
    yield Endpoint(reference.host, reference.repository, options.trust)
