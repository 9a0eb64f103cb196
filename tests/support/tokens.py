"""Tokens that a docker-registry in token mode believes, signed with openssl."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

ISSUER, SERVICE = "tests", "registry"


def settings(realm: str, certificate: Path) -> Mapping[str, str]:
    """The registry's side: whom it sends people to and whose signature it believes."""
    return {"realm": realm, "service": SERVICE, "issuer": ISSUER, "rootcertbundle": str(certificate)}


def signed_token(scopes: Iterable[str], certificate: Path, key: Path) -> str:
    """A token for scopes like "repository:app:pull"."""
    parts = [scope.split(":") for scope in scopes]
    access = [{"type": kind, "name": name, "actions": actions.split(",")} for kind, name, actions in parts]
    now = int(time.time())
    body = "".join(line for line in certificate.read_text().splitlines() if "-----" not in line)
    header = {"typ": "JWT", "alg": "RS256", "x5c": [body]}
    claims = {"iss": ISSUER, "sub": "reader", "aud": SERVICE, "nbf": now - 60, "iat": now, "exp": now + 600}
    signed = ".".join(_base64(json.dumps(part).encode()) for part in (header, claims | {"jti": "1", "access": access}))
    command = ["openssl", "dgst", "-sha256", "-sign", str(key)]
    signature = subprocess.run(command, input=signed.encode(), capture_output=True, check=True).stdout
    return f"{signed}.{_base64(signature)}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
