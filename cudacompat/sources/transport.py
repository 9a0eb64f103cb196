"""HTTP to registries: bounded bodies, bounded retries, redirects that leave credentials behind, plain words."""

from __future__ import annotations

import re
import socket
import ssl
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from cudacompat._version import __version__
from cudacompat.errors import TargetError
from cudacompat.sources.contract import UnavailableError
from cudacompat.sources.trust import Trust, is_loopback

if TYPE_CHECKING:
    import requests

CONNECT_SECONDS = 10
READ_SECONDS = 60
_ATTEMPTS = 3
_MAX_REDIRECTS = 5
_MAX_WAIT = 30.0
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_RETRIED = frozenset((429, 500, 502, 503, 504))
# What requests takes for "none, whatever the environment says".
_NO_PROXY: Mapping[str, str] = {"http": "", "https": ""}


class Transport:
    """A session with one registry and the hosts it sends us to. Errors name ``trust``'s rules and hosts only."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._session = _new_session()
        self._session.headers.update({"User-Agent": f"cudacompat/{__version__}", "Accept-Encoding": "identity"})

    def close(self) -> None:
        """Close all connections."""
        self._session.close()

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> requests.Response:
        """The answer to a GET, redirects followed, its body not yet read.

        An Authorization header goes to the first URL's origin only. Raises UnavailableError when the host
        cannot be reached or keeps failing, TargetError for a redirect to where we may not go.
        """
        sent = dict(headers or {})
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._retried("GET", url, sent, None)
            location = response.headers.get("Location")
            if response.status_code not in _REDIRECTS or location is None:
                return response
            response.close()
            following = _joined(url, location)
            if _origin(following) != _origin(url):
                sent.pop("Authorization", None)
            url = following
        raise TargetError(f"{_host(url)} redirects in circles.")

    def post(self, url: str, data: Mapping[str, str]) -> requests.Response:
        """The answer to a form; redirects are not followed."""
        return self._retried("POST", url, {}, data)

    def _retried(
        self, method: str, url: str, headers: Mapping[str, str], data: Mapping[str, str] | None
    ) -> requests.Response:
        for attempt in range(1, _ATTEMPTS + 1):
            last = attempt == _ATTEMPTS
            try:
                response = self._once(method, url, headers, data)
            except ConnectionResetError as error:
                if last:
                    raise UnavailableError(f"{_host(url)} broke off the connection {_ATTEMPTS} times.") from error
                time.sleep(0.25 * attempt)
                continue
            if response.status_code not in _RETRIED or last:
                return response
            response.close()
            time.sleep(_wait(response.headers.get("Retry-After"), attempt, url))
        raise AssertionError("the last attempt returns or raises")

    def _once(
        self, method: str, url: str, headers: Mapping[str, str], data: Mapping[str, str] | None
    ) -> requests.Response:
        import requests

        if not self._trust.allows(url):
            raise TargetError(f"{_host(url)} is to be asked without TLS; name it as an insecure host to allow that.")
        host = urlsplit(url).netloc
        try:
            with _quiet():
                return self._session.request(
                    method,
                    url,
                    headers=dict(headers),
                    data=data,
                    # Without an auth of ours, requests would put one from ~/.netrc over our header.
                    auth=_as_it_is,
                    stream=True,
                    allow_redirects=False,
                    timeout=(CONNECT_SECONDS, READ_SECONDS),
                    verify=False if self._trust.names(host) else None,
                    proxies=dict(_NO_PROXY) if is_loopback(host) else None,
                )
        except requests.exceptions.SSLError as error:
            raise UnavailableError(_tls_words(host, error)) from error
        except requests.exceptions.Timeout as error:
            raise UnavailableError(f"{host} did not answer in time.") from error
        except requests.exceptions.ConnectionError as error:
            if _cause(error, ConnectionResetError) or _cause(error, _remote_disconnected()):
                raise ConnectionResetError from error
            raise UnavailableError(f"{host} could not be reached: {reason_of(error)}.") from error
        except requests.exceptions.RequestException as error:
            raise TargetError(f"{_host(url)} could not be asked: {type(error).__name__}.") from error


def read_body(response: requests.Response, limit: int, where: str) -> bytes:
    """A whole small body. Raises TargetError when it is longer than ``limit`` bytes or breaks off."""
    with body_errors(where):
        parts = []
        size = 0
        while size <= limit and (piece := response.raw.read(min(limit + 1 - size, 1 << 18))):
            parts.append(piece)
            size += len(piece)
    response.close()
    if size > limit:
        raise TargetError(f"{where} is longer than {limit >> 10} KiB; it was not read further.")
    return b"".join(parts)


@contextmanager
def body_errors(where: str) -> Iterator[None]:
    """Errors while a body is read, as TargetErrors that name ``where``."""
    import urllib3

    try:
        yield
    except (urllib3.exceptions.HTTPError, OSError) as error:
        broken = isinstance(error, urllib3.exceptions.ProtocolError)
        reason = "the connection broke off" if broken else reason_of(error)
        raise TargetError(f"{where} could not be read to its end: {reason}; try again.") from error


def _new_session() -> requests.Session:
    import requests

    class OneHop(requests.Session):
        """Knows no redirects: even unfollowed ones have their bodies read, whatever their size."""

        def get_redirect_target(self, _resp: requests.Response) -> None:
            return None

    return OneHop()


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


@contextmanager
def _quiet() -> Iterator[None]:
    """The user has named the host: urllib3 need not warn about it once more."""
    import urllib3

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)
        yield


def _wait(retry_after: str | None, attempt: int, url: str) -> float:
    if retry_after is None or not re.fullmatch(r"[0-9]{1,9}", retry_after.strip()):
        return float(attempt)
    seconds = float(retry_after)
    if seconds > _MAX_WAIT:
        raise UnavailableError(
            f"{_host(url)} has had too many requests and asks to wait {seconds:.0f} seconds; "
            "log in there or try again later."
        )
    return seconds


def _joined(url: str, location: str) -> str:
    """Where a redirect leads."""
    try:
        following = urljoin(url, location)
        _origin(following)
    except ValueError as error:
        raise TargetError(f"{_host(url)} redirects to an address that is none.") from error
    return following


def _origin(url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)


def _host(url: str) -> str:
    """Scheme and host, without anything that could be secret: signed URLs carry secrets in their query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"[:200]


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was made from, in any of the ways that requests and urllib3 keep it."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop(0)
        if isinstance(found, BaseException) and id(found) not in seen:
            seen.add(id(found))
            yield found
            waiting += [getattr(found, "reason", None), found.__cause__, found.__context__, *found.args]


def _cause(error: BaseException, kind: type[BaseException]) -> bool:
    return any(isinstance(found, kind) for found in _chain(error))


def _remote_disconnected() -> type[BaseException]:
    from http.client import RemoteDisconnected

    return RemoteDisconnected


def reason_of(error: BaseException) -> str:
    """Why a connection failed, in the operating system's words where it has some."""
    for found in _chain(error):
        if isinstance(found, socket.gaierror):
            return "its name is not known"
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
    return type(error).__name__


def _tls_words(host: str, error: BaseException) -> str:
    for found in _chain(error):
        if isinstance(found, ssl.SSLCertVerificationError):
            return (
                f"The certificate of {host} was not accepted ({found.verify_message}); name your own authority's "
                "file in REQUESTS_CA_BUNDLE, or name the host as an insecure host."
            )
    return f"{host} does not speak TLS as it should; a registry without TLS must be named as an insecure host."
