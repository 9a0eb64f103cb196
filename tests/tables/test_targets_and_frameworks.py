"""Targets, PTX versions, architectures, framework wheels and errors."""

from __future__ import annotations

import pytest

from cudacompat import tables


@pytest.mark.parametrize(
    ("driver", "isa", "confidence"),
    [
        ("535.183.01", "8.2", "high"),
        ("545.23.06", "8.3", "high"),
        ("620.70.06", "9.5", "medium"),
        ("430.14", "6.5", "medium"),
        ("430.40", "6.4", "medium"),
        ("556.10", "8.5", "low"),
        ("700.10", "9.5", "low"),
        ("190.10", "1.5", "low"),
        ("120.10", None, "low"),
    ],
)
def test_newest_ptx_of_a_driver(driver: str, isa: str | None, confidence: str) -> None:
    known = tables.newest_ptx_isa_for_driver(driver)
    assert (known.value, known.confidence) == (isa, confidence)


def test_ptx_beyond_the_table() -> None:
    assert tables.cuda_for_ptx_isa("9.9").value is None
    newest = tables.ptx_isa_for_cuda("13.9")
    assert (newest.value, newest.confidence) == ("9.5", "low")
    assert tables.cuda_for_ptx_isa("8.5").value == "12.5"
    assert tables.ptx_isa_for_cuda("12.6").value == "8.5"


def test_toolkit_targets() -> None:
    targets = tables.toolkit_targets("12.9")
    assert targets is not None
    assert {"50", "90a", "100f", "121"} <= set(targets)
    assert "50" not in (tables.toolkit_targets("13.0") or ())
    assert tables.toolkit_targets("12.7") is None
    assert tables.toolkit_targets("99.0") is None


def test_architectures() -> None:
    volta = tables.architecture("7.0")
    assert volta is not None
    assert (volta.first_toolkit, volta.last_toolkit) == ("9.0", "12.9")
    assert (volta.first_driver_branch, volta.last_driver_branch) == (384, 580)
    assert tables.architecture("7.1") is None


WHEELS = [
    ("the list of a minor release", "torch", "2.7.0", "12.8", "amd64", ("120",), ("120",)),
    ("a build without PTX", "torch", "2.8.0", "12.8", "amd64", ("120",), ()),
    ("another machine", "torch", "2.11.0", "13.0", "arm64", ("110",), ("120",)),
    ("PTX that sources dispute", "torch", "2.11.0", "13.0", "amd64", ("120",), None),
    ("a wheel whose objects were listed", "onnxruntime-gpu", "1.31.1", "13.0", "amd64", ("120a",), ()),
    ("TensorFlow's PTX", "tensorflow", "2.18.0", "12.5", "amd64", ("89",), ("90",)),
]


@pytest.mark.parametrize(
    ("framework", "release", "cuda", "machine", "sass", "ptx"), [row[1:] for row in WHEELS], ids=[r[0] for r in WHEELS]
)
def test_wheel(
    framework: str, release: str, cuda: str, machine: str, sass: tuple[str, ...], ptx: tuple[str, ...]
) -> None:
    found = tables.wheel_kernels(framework, release, cuda, machine=machine)
    assert found is not None
    assert set(sass) <= set(found.sass)
    assert found.ptx == ptx


@pytest.mark.parametrize(
    ("framework", "release", "cuda", "machine"),
    [
        ("torch", "2.7.1", "11.8", "amd64"),
        ("torch", "2.7.1", "12.6", "arm64"),
        ("torch", "2.7.1", "9.0", "amd64"),
        ("torch", "99.0", "13.0", "amd64"),
        ("tensorflow", "2.17.1", "12.3", "amd64"),
    ],
)
def test_a_wheel_without_a_row(framework: str, release: str, cuda: str, machine: str) -> None:
    assert tables.wheel_kernels(framework, release, cuda, machine=machine) is None


def test_a_measured_wheel_keeps_its_own_ptx_version() -> None:
    found = tables.wheel_kernels("tensorflow", "2.18.0", "12.5")
    assert found is not None
    assert (found.ptx_isa, found.confidence) == ("8.3", "high")


@pytest.mark.parametrize(
    ("framework", "release", "machine", "cuda", "confidence"),
    [
        ("torch", "2.4.1", "amd64", "12.1", "high"),
        ("torch", "2.7.0", "amd64", "12.6", "medium"),
        ("torch", "2.10.0", "arm64", "cpu", "high"),
        ("torch", "2.11.0", "arm64", "13.0", "high"),
        ("torch", "1.9.1", "amd64", "10.2", "medium"),
        ("torch", "1.9.1", "arm64", None, "medium"),
        ("vllm", "0.11.0", "amd64", "12.8", "high"),
        ("tensorflow", "2.15.0", "amd64", "12.2", "medium"),
        ("onnxruntime-gpu", "1.22.0", "amd64", "12", "medium"),
        ("onnxruntime-gpu", "1.16.3", "amd64", "11.8", "medium"),
        ("torch", "99.0", "amd64", None, "low"),
    ],
)
def test_default_of_pypi(framework: str, release: str, machine: str, cuda: str | None, confidence: str) -> None:
    known = tables.default_cuda(framework, release, machine=machine)
    assert (known.value, known.confidence) == (cuda, confidence)


def test_variants_are_newest_first() -> None:
    assert tables.wheel_variants("torch", "2.9.1") == ("13.0", "12.9", "12.8", "12.6")
    assert tables.wheel_variants("torch", "2.10.0", machine="arm64") == ("13.0",)


@pytest.mark.parametrize(
    "name", [804, "804", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "cudaerrorcompatnotsupportedondevice"]
)
def test_error(name: int | str) -> None:
    entry = tables.error(name)
    assert entry is not None
    assert entry.code == 804
    assert entry.advice.endswith(".")
    assert tables.error("12345") is None


def test_the_driver_interface_has_no_error_35() -> None:
    entry = tables.error(35)
    assert entry is not None
    assert entry.driver_name is None
