"""Answers to a registry's challenge: Basic, or a token from the service it names."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from cudacompat.errors import TargetError
from cudacompat.layers.documents import parse_object
from cudacompat.sources.credentials import Credentials, Login
from cudacompat.sources.transport import Transport, read_body
from cudacompat.sources.trust import host_name, is_loopback

if TYPE_CHECKING:
    import requests

_MAX_TOKEN = 1 << 20
_CLIENT_ID = "cudacompat"
_PARAMETER = re.compile(r'([A-Za-z][A-Za-z0-9_-]{0,30})\s*=\s*(?:"((?:[^"\\]|\\.){0,2000})"|([^\s,"]{1,2000}))')
_CHALLENGE = re.compile(r"(?:^|,)\s*(basic|bearer)(?:\s+|$)", re.IGNORECASE)
_SENDABLE = re.compile(r"[\x21-\x7e]+")


class Authorization:
    """The Authorization header for one repository of one registry; ``header`` is "" before any challenge."""

    def __init__(self, transport: Transport, repository: str, find_login: Callable[[], Login]) -> None:
        self.header = ""
        self.login: Login | None = None
        self._transport = transport
        self._repository = repository
        self._find_login = find_login

    def answer(self, challenge: str, url: str) -> bool:
        """Take up the challenge that ``url`` answered with; False when there is nothing to answer with.

        Raises TargetError when the token service refuses or cannot be trusted with a login.
        """
        if self.login is None:
            self.login = self._find_login()
        known = self.login.credentials
        challenges = parse_challenges(challenge)
        if (bearer := challenges.get("bearer")) is not None:
            self.header = f"Bearer {self._token(bearer, url, known)}"
            return True
        if "basic" in challenges and known is not None and known.username:
            self.header = basic(known)
            return True
        return False

    def _token(self, challenge: Mapping[str, str], url: str, known: Credentials | None) -> str:
        realm = challenge.get("realm", "")
        host = urlsplit(url).netloc
        if urlsplit(realm).scheme not in {"http", "https"}:
            raise TargetError(f"{host} asks for a token but does not say where to get one.")
        if known is not None:
            _check_realm(realm, url)
        fields = {"service": challenge["service"]} if challenge.get("service") else {}
        fields["scope"] = challenge.get("scope") or f"repository:{self._repository}:pull"
        if known is not None and known.identity_token:
            form = {"grant_type": "refresh_token", "client_id": _CLIENT_ID, "refresh_token": known.identity_token}
            response = self._transport.post(realm, fields | form)
        else:
            headers = {"Authorization": basic(known)} if known is not None else {}
            joint = "&" if urlsplit(realm).query else "?"
            response = self._transport.get(f"{realm}{joint}{urlencode(fields)}", headers)
        return _read_token(response, urlsplit(realm).netloc, known)


def parse_challenges(header: str) -> dict[str, dict[str, str]]:
    """A WWW-Authenticate header by scheme: {"bearer": {"realm": ..., "service": ..., "scope": ...}}."""
    header = header[:8000]
    starts = list(_CHALLENGE.finditer(header))
    found: dict[str, dict[str, str]] = {}
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(header)
        parameters = _PARAMETER.findall(header[start.end() : end])
        values = {name.lower(): re.sub(r"\\(.)", r"\1", quoted) or bare for name, quoted, bare in parameters}
        found.setdefault(start.group(1).lower(), values)
    return found


def basic(credentials: Credentials) -> str:
    """The Basic header of a login."""
    pair = f"{credentials.username}:{credentials.password}".encode()
    return "Basic " + base64.b64encode(pair).decode("ascii")


def _check_realm(realm: str, url: str) -> None:
    """A login goes to a token service only over TLS, or back to where the challenge came from."""
    service, registry = urlsplit(realm), urlsplit(url)
    if service.scheme == "https" or host_name(service.netloc) == host_name(registry.netloc) != "":
        return
    if is_loopback(service.netloc) and is_loopback(registry.netloc):
        return
    raise TargetError(
        f"{registry.netloc} wants the login sent to {service.netloc.rpartition('@')[2]} without TLS; it was not sent."
    )


def _read_token(response: requests.Response, host: str, known: Credentials | None) -> str:
    host = host.rpartition("@")[2]
    where = f"The token from {host}"
    body = read_body(response, _MAX_TOKEN, where)
    if response.status_code in {400, 401, 403} and known is not None:
        raise TargetError(f"{host} refused the login from {known.origin}; log in again with docker login.")
    if response.status_code != 200:
        raise TargetError(f"{host} gave no token: it answered {response.status_code}.")
    document = parse_object(body, where)
    token = document.get("token") or document.get("access_token")
    if not isinstance(token, str) or not _SENDABLE.fullmatch(token):
        raise TargetError(f"{where} is none.")
    return token
