"""Which image of an index is read."""

from __future__ import annotations

import pytest

from cudacompat.errors import TargetError, UsageError
from cudacompat.sources.platforms import choose, fits, normalise

AMD64 = {"digest": "amd64", "platform": {"os": "linux", "architecture": "amd64"}}
ARM64 = {"digest": "arm64", "platform": {"os": "linux", "architecture": "arm64", "variant": "v8"}}
ARMV7 = {"digest": "armv7", "platform": {"os": "linux", "architecture": "arm", "variant": "v7"}}
ARMV5 = {"digest": "armv5", "platform": {"os": "linux", "architecture": "arm", "variant": "v5"}}
AMD64V3 = {"digest": "amd64v3", "platform": {"os": "linux", "architecture": "amd64", "variant": "v3"}}
WINDOWS = {"digest": "windows", "platform": {"os": "windows", "architecture": "amd64"}}
NAMELESS = {"digest": "nameless"}
ATTESTATION = {"digest": "attestation", "platform": {"os": "unknown", "architecture": "unknown"}}
ANNOTATED = {**AMD64, "digest": "x", "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}


@pytest.mark.parametrize(
    ("manifests", "wanted", "digest"),
    [
        pytest.param([ARM64, AMD64], "linux/amd64", "amd64", id="the named platform"),
        pytest.param([ARM64, AMD64], "linux/arm64", "arm64", id="arm64 means v8"),
        pytest.param([ARM64, AMD64], "linux/arm64/v8", "arm64", id="the named variant"),
        pytest.param([AMD64, ARM64], "aarch64", "arm64", id="the machine's own name"),
        pytest.param([ARMV5, ARMV7], "linux/arm", "armv7", id="arm means v7"),
        pytest.param([ARMV5], "linux/arm/v7", "armv5", id="an older variant runs"),
        pytest.param([AMD64V3, AMD64], "linux/amd64", "amd64", id="plain amd64 before v3"),
        pytest.param([AMD64, AMD64V3], "linux/amd64/v3", "amd64v3", id="v3 where it is asked for"),
        pytest.param([AMD64V3], "linux/amd64", "amd64v3", id="v3 where there is nothing else"),
        pytest.param([ARM64, AMD64], None, "amd64", id="amd64 where nobody asks"),
        pytest.param([ARM64], None, "arm64", id="what there is where nobody asks"),
        pytest.param([WINDOWS, ARM64], None, "arm64", id="Linux before Windows"),
        pytest.param([ATTESTATION, AMD64], None, "amd64", id="attestations are no images"),
        pytest.param([ANNOTATED, AMD64], None, "amd64", id="nor are annotated ones"),
        pytest.param([NAMELESS], "linux/arm64", "nameless", id="a lone image without a platform"),
        pytest.param([NAMELESS, AMD64], "linux/amd64", "amd64", id="a stated platform before none"),
    ],
)
def test_choice(manifests: list[object], wanted: str | None, digest: str) -> None:
    assert choose(manifests, wanted, "the index").descriptor["digest"] == digest


def test_says_what_the_index_offers() -> None:
    choice = choose([ARM64, ATTESTATION, AMD64], None, "the index")
    assert choice.available == ("linux/arm64/v8", "linux/amd64")
    assert choice.note == "No platform was named: linux/amd64 was read of linux/arm64/v8, linux/amd64."
    assert choose([AMD64], None, "the index").note is None


@pytest.mark.parametrize(
    ("manifests", "wanted", "message"),
    [
        pytest.param(
            [ARM64, ATTESTATION],
            "linux/amd64",
            r"the index has no image for linux/amd64; it offers linux/arm64/v8\.",
            id="another platform",
        ),
        pytest.param([ARMV7], "linux/arm/v6", "no image for linux/arm/v6", id="a newer variant than asked for"),
        pytest.param([ATTESTATION], None, "the index lists no image", id="nothing but attestations"),
        pytest.param([], None, "the index lists no image", id="an empty index"),
        pytest.param(["x"], None, "the index: an entry should be an object", id="an entry that is a string"),
        pytest.param([{"platform": []}, {"platform": [1]}], None, "should be an object", id="a platform list"),
    ],
)
def test_refusals(manifests: list[object], wanted: str | None, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        choose(manifests, wanted, "the index")


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("linux/amd64", "linux/amd64"),
        ("x86_64", "linux/amd64"),
        ("linux/aarch64", "linux/arm64"),
        ("Linux/ARM64/v8", "linux/arm64/v8"),
        ("armel", "linux/arm/v6"),
    ],
)
def test_spellings(written: str, normal: str) -> None:
    assert normalise(written) == normal


@pytest.mark.parametrize("written", ["", "/", "linux/", "a/b/c/d", "linux amd64", "linux/amd64;"])
def test_no_platform(written: str) -> None:
    with pytest.raises(UsageError, match="is not a platform"):
        normalise(written)


def test_fits_compares_variants() -> None:
    assert fits("linux/arm64/v8", "linux/arm64")
    assert fits("linux/arm64", "linux/arm64/v8")
    assert not fits("linux/amd64", "linux/arm64")
