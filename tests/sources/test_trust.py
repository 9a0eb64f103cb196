"""Which hosts may do without TLS, and what a challenge asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.sources.auth import parse_challenges
from cudacompat.sources.trust import Trust, is_loopback


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("localhost:5000", True),
        ("registry.localhost:5000", True),
        ("127.0.0.1:5000", True),
        ("127.8.8.8", True),
        ("[::1]:5000", True),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("notlocalhost", False),
        ("10.0.0.1:5000", False),
        ("localhost@evil.example", False),
        ("[oops", False),
        ("", False),
    ],
)
def test_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://anywhere.example/x", True),
        ("http://anywhere.example/x", False),
        ("http://localhost:1/x", True),
        ("http://named.example/x", True),
        ("http://named.example:5000/x", True),
        ("http://port.example:5000/x", True),
        ("http://PORT.example:5000/x", True),
        ("http://port.example:6000/x", False),
        ("http://localhost@evil.example/x", False),
        ("ftp://localhost/x", False),
        ("file:///etc/passwd", False),
    ],
)
def test_where_a_request_may_go(url: str, expected: bool) -> None:
    assert Trust.of(["named.example", "Port.example:5000"]).allows(url) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [("anywhere.example", ("https",)), ("localhost:5000", ("http", "https")), ("named.example", ("https", "http"))],
)
def test_what_is_tried(host: str, expected: tuple[str, ...]) -> None:
    assert Trust.of(["named.example"]).schemes(host) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("", {}, id="none"),
        pytest.param('Basic realm="x"', {"basic": {"realm": "x"}}, id="basic"),
        pytest.param(
            'Bearer realm="https://a/t?x=1,2",service="s",scope="repository:a/b:pull,push"',
            {"bearer": {"realm": "https://a/t?x=1,2", "service": "s", "scope": "repository:a/b:pull,push"}},
            id="commas inside quotes",
        ),
        pytest.param("bearer REALM=https://a/t, service=s", {"bearer": {"realm": "https://a/t", "service": "s"}}, id="bare"),
        pytest.param(
            'Basic realm="x", Bearer realm="https://a/t"',
            {"basic": {"realm": "x"}, "bearer": {"realm": "https://a/t"}},
            id="a choice",
        ),
        pytest.param('Bearer realm="a\\"b"', {"bearer": {"realm": 'a"b'}}, id="escaped quotes"),
        pytest.param("Negotiate", {}, id="another scheme"),
    ],
)  # fmt: skip
def test_challenges(header: str, expected: dict[str, dict[str, str]]) -> None:
    assert parse_challenges(header) == expected


@given(st.text(max_size=500))
def test_any_header_is_taken(header: str) -> None:
    assert isinstance(parse_challenges("Bearer " + header), dict)
