"""``--host ssh://user@node``: another machine, asked through the system's ssh."""

from __future__ import annotations

import re
import secrets
import shutil
from dataclasses import dataclass, replace

from cudacompat.errors import HostError, UsageError
from cudacompat.host import host_json
from cudacompat.host.local import local_host
from cudacompat.host.machine import Answer
from cudacompat.host.options import with_driver_cuda
from cudacompat.host.process import run
from cudacompat.host.remote import RemoteMachine, read_answers
from cudacompat.host.remote_script import script
from cudacompat.model import HostFacts

SCHEME = "ssh://"
_CONNECT_SECONDS = 10
_ALL_SECONDS = 120.0
_OPTIONS = (
    "-T",
    *("-o", "BatchMode=yes"),
    *("-o", f"ConnectTimeout={_CONNECT_SECONDS}"),
    *("-o", "ControlMaster=no"),
    *("-o", "ForwardAgent=no"),
    *("-o", "ForwardX11=no"),
    *("-o", "ClearAllForwardings=yes"),
)
# Neither may begin with a dash: ssh would read it as an option, and an option can run a program here.
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@\\-]{0,63}", re.ASCII)
_NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}", re.ASCII)
_ADDRESS = re.compile(r"\[([0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9._-]{1,32})?)\]", re.ASCII)
_ADVICE = (
    ("host key verification failed", "connect once by hand, so that ssh knows the host's key"),
    ("permission denied", "ssh must get in without a password: add a key, or load it into the agent"),
    ("could not resolve", "check the name, or give it in ~/.ssh/config"),
    ("connection refused", "check that sshd runs there, and its port"),
    ("timed out", "check that the machine is up and reachable"),
)
_OWN_FAILURE = 255


@dataclass(frozen=True, slots=True)
class Node:
    """A parsed address. ``user`` and ``port`` None: as ssh's own config says."""

    host: str
    user: str | None = None
    port: int | None = None


def is_address(text: str) -> bool:
    """Whether ``--host`` names a machine instead of a file."""
    return text.startswith(SCHEME)


def parse_address(address: str) -> Node:
    """ "ssh://user@node:2222" in its parts. Raises UsageError for anything that is not exactly that."""
    rest = address.removeprefix(SCHEME).removesuffix("/")
    user, at, place = rest.rpartition("@")
    bracketed = _ADDRESS.match(place)
    host, port = (bracketed[1], place[bracketed.end() :]) if bracketed else _split_port(place)
    good_host = bracketed is not None or _NODE.fullmatch(host) is not None
    if not good_host or (at and _USER.fullmatch(user) is None) or not re.fullmatch(r"(?::\d{1,5})?", port, re.ASCII):
        raise UsageError(
            f"{address[:120]!r} is no ssh address: expected ssh://node, ssh://user@node or ssh://user@node:port"
        )
    number = int(port[1:]) if port else None
    if number is not None and not 0 < number < 65536:
        raise UsageError(f"{address[:120]!r}: {number} is no port")
    return Node(host, user or None, number)


def _split_port(place: str) -> tuple[str, str]:
    host, colon, port = place.partition(":")
    return host, colon + port


def ssh_host(address: str) -> HostFacts:
    """Host facts of the machine behind an address.

    Raises UsageError for an address that is none, HostError when ssh does not get in or the machine has no driver.
    """
    node = parse_address(address)
    token = secrets.token_hex(16)
    answers = read_answers(_asked(node, address, script(token)).out, token)
    ready = answers.get(("cmd", "cudacompat host --format json"))
    if ready is not None and ready.code == 0 and host_json.matches(ready.text):
        return with_driver_cuda(host_json.parse(ready.text, address))
    if not answers:
        raise HostError(f"{address}: the machine ran no POSIX shell: nothing was learned")
    return replace(local_host(machine=RemoteMachine(address, answers)), origin=address)


def _asked(node: Node, address: str, text: str) -> Answer:
    program = shutil.which("ssh")
    if program is None:
        raise HostError(f"{address}: ssh is not installed here; save 'nvidia-smi -q -x' of that machine in a file")
    command = [program, *_OPTIONS]
    command += ["-l", node.user] if node.user is not None else []
    command += ["-p", str(node.port)] if node.port is not None else []
    answer = run(address, [*command, "--", node.host, "sh -s"], seconds=_ALL_SECONDS, stdin=text.encode())
    if answer.code == _OWN_FAILURE:
        raise HostError(f"{address}: {_why(answer.err)}")
    return answer


def _why(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    words = (lines[-1] if lines else "ssh failed and said nothing")[:300].rstrip(".")
    # The decisive line may be followed by one that only says that the connection is closed.
    for sign, advice in _ADVICE:
        told = next((line for line in lines if sign in line.lower()), None)
        if told is not None:
            return f"{told[:300].rstrip('.')}; {advice}"
    return words
