"""Which hosts may be spoken to without TLS, or with TLS that is not verified: loopback and those the user named."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

Scheme = Literal["https", "http"]


@dataclass(frozen=True, slots=True)
class Trust:
    """``insecure`` are hosts, each with its port or for all its ports."""

    insecure: frozenset[str] = frozenset()

    @classmethod
    def of(cls, hosts: Collection[str]) -> Trust:
        """Trust in the hosts a user named."""
        return cls(frozenset(host.lower() for host in hosts))

    def names(self, host: str) -> bool:
        """Whether the user named ``host`` (with or without its port) as one to trust without TLS."""
        return host.lower() in self.insecure or host_name(host) in self.insecure

    def schemes(self, host: str) -> tuple[Scheme, ...]:
        """What to try on a host, in order."""
        if self.names(host):
            return ("https", "http")
        return ("http", "https") if is_loopback(host) else ("https",)

    def allows(self, url: str) -> bool:
        """Whether a request may go to ``url``: TLS, or a host that may do without."""
        parts = urlsplit(url)
        if parts.scheme == "http":
            return self.names(parts.netloc) or is_loopback(parts.netloc)
        return parts.scheme == "https"


def host_name(host: str) -> str:
    """A host without its port, in lower case: "[::1]:5000" is "::1"."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host, with or without port, is this machine."""
    name = host_name(host)
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
