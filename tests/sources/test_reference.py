"""Image references as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudacompat.errors import UsageError
from cudacompat.sources.reference import Reference, parse_reference

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("ubuntu", Reference("docker.io", "library/ubuntu", "latest", None), id="a name of Docker Hub"),
        pytest.param("ubuntu:22.04", Reference("docker.io", "library/ubuntu", "22.04", None), id="with a tag"),
        pytest.param("nvidia/cuda:12.4.1-base", Reference("docker.io", "nvidia/cuda", "12.4.1-base", None), id="user"),
        pytest.param("docker.io/ubuntu", Reference("docker.io", "library/ubuntu", "latest", None), id="with Hub's host"),
        pytest.param("index.docker.io/a/b", Reference("docker.io", "a/b", "latest", None), id="Hub's old host"),
        pytest.param("registry-1.docker.io/a/b", Reference("docker.io", "a/b", "latest", None), id="Hub's API host"),
        pytest.param("localhost/app", Reference("localhost", "app", "latest", None), id="localhost is a host"),
        pytest.param("localhost:5000/app:1", Reference("localhost:5000", "app", "1", None), id="a port and a tag"),
        pytest.param("[::1]:5000/app", Reference("[::1]:5000", "app", "latest", None), id="an IPv6 host"),
        pytest.param("nvcr.io/nvidia/pytorch:24.05-py3", Reference("nvcr.io", "nvidia/pytorch", "24.05-py3", None), id="NGC"),
        pytest.param("GHCR.io/a", Reference("GHCR.io", "a", "latest", None), id="hosts may have capitals"),
        pytest.param(f"app@{DIGEST}", Reference("docker.io", "library/app", None, DIGEST), id="a digest"),
        pytest.param(f"r.io/app:1@{DIGEST}", Reference("r.io", "app", "1", DIGEST), id="tag and digest"),
        pytest.param("a/b__c--d.e_f/g", Reference("docker.io", "a/b__c--d.e_f/g", "latest", None), id="separators"),
    ],
)  # fmt: skip
def test_references(text: str, expected: Reference) -> None:
    assert parse_reference(text) == expected
    assert parse_reference(str(expected)) == expected


def test_a_digest_decides() -> None:
    assert parse_reference(f"app:1@{DIGEST}").wanted == DIGEST
    assert parse_reference("app:1").wanted == "1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("Ubuntu", "repository names are lower-case", id="capitals"),
        pytest.param("app:", "'' is no tag", id="an empty tag"),
        pytest.param("app:a/b", "is no registry host", id="a path behind the tag"),
        pytest.param("app:" + "x" * 129, "is no tag", id="a long tag"),
        pytest.param("app:-x", "'-x' is no tag", id="a tag that looks like an option"),
        pytest.param("/app", "write it like", id="no host"),
        pytest.param("a//b", "write it like", id="an empty part"),
        pytest.param("a/../b", "write it like", id="a part of dots"),
        pytest.param("host.io/", "write it like", id="nothing behind the host"),
        pytest.param("-host.io/app", "is no registry host", id="a host that looks like an option"),
        pytest.param("host.io:99999/app", "is no registry host", id="a port that is none"),
        pytest.param("a" * 256, "longer than 255", id="a long name"),
        pytest.param("app@sha256:123", "no digest like", id="a short digest"),
        pytest.param("app@md5:" + "a" * 32, "no digest like", id="a digest that proves nothing"),
        pytest.param("app\n", "write it like", id="a line's end"),
        pytest.param("äpp", "write it like", id="letters beyond ASCII"),
        pytest.param("a b", "write it like", id="a space"),
    ],
)
def test_what_is_no_reference(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_reference(text)
    assert said in str(caught.value)


def test_a_login_in_a_reference_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        parse_reference("user:pass@host.io/app:1")
    assert "pass" not in str(caught.value).replace("password", "")


@given(st.text(max_size=300))
def test_any_text_is_a_reference_or_a_usage_error(text: str) -> None:
    try:
        found = parse_reference(text)
    except UsageError as error:
        assert "\n" not in str(error)
    else:
        assert parse_reference(str(found)) == found
