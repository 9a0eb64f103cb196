"""Running one program: never longer than told, never more output than told, and no child of it left behind."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO

from cudacompat.errors import HostError
from cudacompat.host.machine import Answer

_MOST_BYTES = 16 << 20
_CHUNK = 1 << 16
_GRACE_SECONDS = 1.0


def run(
    name: str,
    command: Sequence[str],
    *,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    most_bytes: int = _MOST_BYTES,
) -> Answer:
    """What a command printed. ``name`` is its name in sentences.

    Raises HostError when it cannot be run, does not end within ``seconds``, or prints more than ``most_bytes``.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise HostError(f"{name} cannot be run: {reason or error}") from error
    try:
        out, err = _collect(process, name, seconds, stdin, most_bytes)
    finally:
        _end(process)
    return Answer(process.returncode or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def _collect(
    process: subprocess.Popen[bytes], name: str, seconds: float, stdin: bytes | None, most_bytes: int
) -> tuple[bytes, bytes]:
    """Both streams until the program has ended and its stdout is closed."""
    deadline = time.monotonic() + seconds
    texts = {"out": bytearray(), "err": bytearray()}
    with selectors.DefaultSelector() as waiting:
        _register(waiting, process.stdout, "out")
        _register(waiting, process.stderr, "err")
        _write(process, stdin)
        while waiting.get_map():
            _read(waiting, texts, min(0.05, max(deadline - time.monotonic(), 0)))
            if max(map(len, texts.values())) > most_bytes:
                raise HostError(f"{name} printed more than {most_bytes >> 20} MiB: that is no answer")
            # A child in the background may hold stderr open long after the program has ended.
            if "out" not in {key.data for key in waiting.get_map().values()} and process.poll() is not None:
                _read(waiting, texts, 0)
                break
            if time.monotonic() >= deadline:
                raise HostError(f"{name} did not answer within {seconds:g} seconds")
    try:
        process.wait(max(deadline - time.monotonic(), 0.01))
    except subprocess.TimeoutExpired as error:
        raise HostError(f"{name} did not end within {seconds:g} seconds") from error
    return bytes(texts["out"]), bytes(texts["err"])


def _register(waiting: selectors.BaseSelector, stream: IO[bytes] | None, key: str) -> None:
    if stream is not None:
        os.set_blocking(stream.fileno(), False)
        waiting.register(stream, selectors.EVENT_READ, key)


def _write(process: subprocess.Popen[bytes], stdin: bytes | None) -> None:
    """Small inputs only: a pipe holds 64 KiB, so this does not block."""
    if stdin is None or process.stdin is None:
        return
    try:
        process.stdin.write(stdin)
        process.stdin.close()
    except BrokenPipeError:
        return


def _read(waiting: selectors.BaseSelector, texts: Mapping[str, bytearray], wait: float) -> None:
    for key, _ in waiting.select(wait):
        chunk = os.read(key.fd, _CHUNK)
        texts[key.data].extend(chunk)
        if not chunk:
            waiting.unregister(key.fileobj)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of the program stays behind, except a process that the kernel itself cannot end."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
