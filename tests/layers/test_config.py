"""The image config: what builders write, and what they never would."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cudacompat.errors import TargetError
from cudacompat.layers.config import parse_config


def config(**fields: object) -> bytes:
    return json.dumps({"os": "linux", "architecture": "amd64", **fields}).encode()


def test_reads_every_field() -> None:
    raw = config(
        variant="v2",
        config={
            "Env": ["PATH=/bin", "CUDA_VERSION=12.4.1", "PATH=/usr/bin"],
            "Labels": {"maintainer": "NVIDIA"},
            "Entrypoint": ["/opt/nvidia/nvidia_entrypoint.sh"],
            "Cmd": ["bash", "-l"],
        },
        rootfs={"type": "layers", "diff_ids": ["sha256:aa", "sha256:bb"]},
        history=[
            {"created_by": "ADD file"},
            {"created_by": "ENV A=b", "empty_layer": True},
            {"comment": "x"},
        ],
    )
    read = parse_config(raw, "the config")
    assert read.platform == "linux/amd64/v2"
    assert read.env == ("PATH=/bin", "CUDA_VERSION=12.4.1", "PATH=/usr/bin")
    assert dict(read.labels) == {"maintainer": "NVIDIA"}
    assert (read.entrypoint, read.cmd) == (("/opt/nvidia/nvidia_entrypoint.sh",), ("bash", "-l"))
    assert read.history == ("ADD file", "ENV A=b", "")
    assert read.diff_ids == ("sha256:aa", "sha256:bb")


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(config(), id="nothing but a platform"),
        pytest.param(config(config=None, rootfs=None, history=None), id="null objects"),
        pytest.param(config(config={"Env": None, "Labels": None, "Entrypoint": None, "Cmd": None}), id="null fields"),
    ],
)
def test_absent_and_null_count_as_empty(raw: bytes) -> None:
    read = parse_config(raw, "the config")
    assert (read.env, dict(read.labels), read.entrypoint, read.cmd) == ((), {}, (), ())
    assert (read.history, read.diff_ids) == ((), ())


@pytest.mark.parametrize(
    ("fields", "platform"),
    [
        pytest.param({"os": None, "architecture": None}, "unknown/unknown", id="nothing said"),
        pytest.param({"os": "linux", "architecture": "arm64", "variant": "v8"}, "linux/arm64/v8", id="variant"),
        pytest.param({"variant": ""}, "linux/amd64", id="empty variant"),
    ],
)
def test_platform(fields: dict[str, object], platform: str) -> None:
    assert parse_config(config(**fields), "the config").platform == platform


def test_a_lone_string_as_entrypoint_is_a_list_of_one() -> None:
    assert parse_config(config(config={"Entrypoint": "run.sh"}), "the config").entrypoint == ("run.sh",)


def test_half_a_surrogate_pair_does_not_reach_the_output() -> None:
    read = parse_config(b'{"config": {"Env": ["A=\\ud800"]}}', "the config")
    assert read.env[0].encode() == b"A=?"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"\xff\xfe\x00", id="no text"),
        pytest.param(b"<html>", id="a web page"),
        pytest.param(b"[" * 100_000, id="nested without end"),
        pytest.param(b'{"a": ' + b"9" * 10_000 + b"}", id="a number without end"),
        pytest.param(config(config={"Env": {"A": "b"}}), id="Env as an object"),
        pytest.param(config(config={"Env": [1]}), id="Env of numbers"),
        pytest.param(config(config={"Labels": ["a"]}), id="Labels as a list"),
        pytest.param(config(config=[]), id="config as a list"),
        pytest.param(config(os=7), id="os as a number"),
        pytest.param(config(history=["x"]), id="history of strings"),
        pytest.param(config(rootfs={"diff_ids": [None, {}]}), id="diff IDs of objects"),
    ],
)
def test_garbage_is_refused_in_one_sentence(raw: bytes) -> None:
    with pytest.raises(TargetError, match=r"^the config.*\.$"):
        parse_config(raw, "the config")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


FIELDS = ("os", "architecture", "variant", "config", "rootfs", "history")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, json_values)))
def test_any_json_is_read_or_refused(document: object) -> None:
    try:
        parse_config(json.dumps(document).encode(), "the config")
    except TargetError as error:
        assert "\n" not in str(error)
