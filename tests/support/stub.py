"""A web server that answers what a test says, for what no real registry does: faults and attacks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. ``length`` is the Content-Length that it claims, its body's own when None."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request that came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Reply = Answer | Callable[[Request], Answer]


@dataclass(slots=True)
class Stub:
    """``replies`` by path without query; ``requests`` in the order they came; ``host`` is "127.0.0.1:port"."""

    host: str = ""
    replies: dict[str, Reply] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def serve(self, contents: Mapping[str, tuple[str, bytes]]) -> None:
        """Answer each path with a body of a media type."""
        for path, (media_type, body) in contents.items():
            self.replies[path] = Answer(headers={"Content-Type": media_type}, body=body)

    def paths(self) -> list[str]:
        """The paths that were asked for."""
        return [request.path for request in self.requests]

    def sent(self, header: str) -> set[str]:
        """Every value of a header that came in."""
        return {value for request in self.requests for name, value in request.headers.items() if name == header}


@contextmanager
def stub(name: str = "127.0.0.1") -> Iterator[Stub]:
    """A stub on loopback that calls itself ``name``."""
    state = Stub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(self.command, self.path, dict(self.headers.items()), body)
            state.requests.append(request)
            reply = state.replies.get(self.path.partition("?")[0], Answer(404))
            _send(self, reply if isinstance(reply, Answer) else reply(request))

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test looks at ``requests``."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up early is what many tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.host = f"{name}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _send(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    handler.send_response(answer.status)
    length = len(answer.body) if answer.length is None else answer.length
    for name, value in {"Content-Length": str(length), **answer.headers}.items():
        handler.send_header(name, value)
    if length != len(answer.body):
        handler.send_header("Connection", "close")
        handler.close_connection = True
    handler.end_headers()
    handler.wfile.write(answer.body)
