"""Options as host facts, alone and laid over a file's."""

from __future__ import annotations

import pytest

from cudacompat.errors import UsageError
from cudacompat.host import HostOptions, with_options
from cudacompat.host.values import compute_capability
from cudacompat.model import Gpu, HostFacts

BASE = HostFacts("535.183.01", "12.2", "linux", "amd64", (Gpu("X", "8.0"),), "legacy", "1.17.8", "28.0.1", "node.json")


def test_driver_brings_its_cuda_version() -> None:
    host = with_options(HostOptions(driver=" 535.183.01 "))
    assert (host.driver, host.driver_cuda, host.gpus, host.origin) == ("535.183.01", "12.2", None, "options")


def test_given_cuda_version_wins_over_the_table() -> None:
    assert with_options(HostOptions(driver="540.4.0", driver_cuda="12.6")).driver_cuda == "12.6"


def test_gpu_name_brings_capability_brands_and_class() -> None:
    host = with_options(HostOptions(gpus=("A100", "RTX 4090")))
    assert host.gpus is not None
    assert [(gpu.compute_capability, gpu.forward_compat) for gpu in host.gpus] == [("8.0", True), ("8.9", False)]
    assert all(gpu.brands for gpu in host.gpus)


def test_capability_alone_is_a_gpu_without_a_name() -> None:
    host = with_options(HostOptions(compute_capability="sm_80"))
    assert host.gpus is not None
    (gpu,) = host.gpus
    assert (gpu.name, gpu.compute_capability, gpu.brands, gpu.forward_compat) == (None, "8.0", (), None)


def test_name_that_the_table_lacks_is_fine_beside_a_capability() -> None:
    host = with_options(HostOptions(gpus=("NVIDIA Z999",), compute_capability="8.0"))
    assert host.gpus == (Gpu("NVIDIA Z999", "8.0"),)


def test_none_says_that_there_is_no_gpu() -> None:
    assert with_options(HostOptions(gpus=("none",))).gpus == ()


def test_jetson_module_makes_the_host_a_jetson() -> None:
    assert with_options(HostOptions(gpus=("Jetson AGX Orin",))).os == "jetson"


def test_options_win_over_a_file_and_the_rest_stays() -> None:
    host = with_options(HostOptions(injection="cdi"), BASE)
    assert (host.injection, host.driver, host.toolkit, host.gpus) == ("cdi", "535.183.01", "1.17.8", BASE.gpus)
    assert host.origin == "node.json and options"


def test_another_driver_drops_the_cuda_version_of_the_old_one() -> None:
    assert with_options(HostOptions(driver="580.65.06"), BASE).driver_cuda == "13.0"


def test_no_options_leave_a_file_as_it_is() -> None:
    assert with_options(HostOptions(), BASE) == BASE


@pytest.mark.parametrize(("docker", "toolkit"), [("29.2.0", "1.18.1"), ("5:29.2.0-1~ubuntu.24.04", "v1.18.1-1")])
def test_release_numbers_lose_their_packaging(docker: str, toolkit: str) -> None:
    host = with_options(HostOptions(docker=docker, toolkit=toolkit))
    assert (host.docker, host.toolkit) == ("29.2.0", "1.18.1")


NONSENSE = [
    ("a driver that is a word", HostOptions(driver="latest"), "535.183.01"),
    ("a driver that is a CUDA version", HostOptions(driver="12.4"), "not an NVIDIA driver version"),
    ("an empty driver", HostOptions(driver=""), "not an NVIDIA driver version"),
    ("a GPU of another maker", HostOptions(gpus=("Voodoo 2",)), "not in the table"),
    ("a GPU name of two products", HostOptions(gpus=("RTX",)), "fits several"),
    ("a capability that is none", HostOptions(compute_capability="eight"), "expected one such as 8.0"),
    ("a capability between others", HostOptions(compute_capability="8.3"), "no GPU has"),
    (
        "a capability that contradicts",
        HostOptions(gpus=("A100",), compute_capability="9.0"),
        "has compute capability 8.0",
    ),
    ("no GPU and one", HostOptions(gpus=("none", "A100")), "stands alone"),
    ("an unknown mode", HostOptions(injection="magic"), "none of legacy"),
    ("an unknown system", HostOptions(os="windows"), "none of linux"),
    ("a toolkit that is a word", HostOptions(toolkit="new"), "not a version"),
    ("a Docker that is a word", HostOptions(docker="new"), "not a version"),
    ("a CUDA version that is a word", HostOptions(driver_cuda="new"), "not a version"),
]


@pytest.mark.parametrize(("options", "words"), [row[1:] for row in NONSENSE], ids=[row[0] for row in NONSENSE])
def test_nonsense_is_refused_with_what_was_expected(options: HostOptions, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        with_options(options)


@pytest.mark.parametrize(
    ("text", "value"), [("8.0", "8.0"), ("80", "8.0"), ("sm_120", "12.0"), ("compute_90", "9.0"), ("99.9", "99.9")]
)
def test_compute_capability_spellings(text: str, value: str) -> None:
    assert compute_capability(text) == value
