"""Package databases: Debian's, Alpine's, conda's."""

from __future__ import annotations

import json

import pytest

from tests.support.evidence import brief, notes, observed, parts, stanza

STATUS = "/var/lib/dpkg/status"
APK = "/lib/apk/db/installed"

DEBIAN = [
    ("cuda-cudart-12-4", "12.4.127-1", ("cudart", "12.4.127", "12.4")),
    ("cuda-compat-12-4", "550.54.15-1", ("libcuda-compat", "550.54.15", "12.4")),
    ("cuda-compat-orin-12-2", "12.2.34086590-1", ("libcuda-compat", "12.2.34086590", "12.2")),
    ("libcudnn9-cuda-12", "9.1.0.70-1", ("cudnn", "9.1.0.70", "12")),
    ("libcudnn8", "8.9.7.29-1+cuda12.2", ("cudnn", "8.9.7.29", "12.2")),
    ("libnccl2", "2.21.5-1+cuda12.4", ("nccl", "2.21.5", "12.4")),
    ("cuda-nvrtc-12-4", "12.4.127-1", ("nvrtc", "12.4.127", "12.4")),
    ("libnvjitlink-12-4", "12.4.127-1", ("nvjitlink", "12.4.127", "12.4")),
    ("libcublas-12-4", "12.4.5.8-1", ("cublas", "12.4.5.8", "12.4")),
    ("libcusparse-11-8", "11.7.5.86-1", ("cusparse", "11.7.5.86", "11.8")),
    ("cuda-toolkit-13-0", "13.0.2-1", ("cuda-toolkit", "13.0.2", "13.0")),
    ("libnvinfer10", "10.0.1.6-1+cuda12.4", ("tensorrt", "10.0.1.6", "12.4")),
    ("libcudart12", "12.0.146~12.0.1-4build4", ("cudart", "12.0.146", "12.0")),
    ("libcudart11.0", "11.8.89~11.8.0-5~deb12u1", ("cudart", "11.8.89", "11.8")),
    ("libcudart10.1", "10.1.243-3", ("cudart", "10.1.243", "10.1")),
    ("libcuda1", "535.183.01-1~deb12u1", ("driver", "535.183.01", None)),
    ("libnvidia-compute-550", "550.54.15-0ubuntu1", ("driver", "550.54.15", None)),
    ("libnvidia-compute-535-server", "535.183.06-0ubuntu0.22.04.1", ("driver", "535.183.06", None)),
    ("nvidia-utils-535-server", "535.183.06-0ubuntu0.22.04.1", ("driver", "535.183.06", None)),
    ("nvidia-driver-550-open", "550.54.15-0ubuntu1", ("driver", "550.54.15", None)),
]
NO_CUDA = [
    "libcudnn9-dev-cuda-12",
    "cuda-keyring",
    "libc6",
    "cuda-cudart-dev-12-4",
    "barracuda-12-4",
    "cuda-cudart-12-4-dbg",
    "nvidia-container-toolkit",
    "libcuda",
]


@pytest.mark.parametrize(("package", "version", "expected"), DEBIAN, ids=[row[0] for row in DEBIAN])
def test_a_debian_package_is_a_component(package: str, version: str, expected: tuple[str, str, str | None]) -> None:
    text = stanza("base-files", "12.4+deb12u5") + stanza(package, version) + stanza("zlib1g", "1:1.2.13")
    (part,) = parts(STATUS, text)
    assert (part.name, part.version, part.cuda) == expected
    assert (part.found_by, part.path, part.layer) == ("dpkg", None, "sha256:layer")
    assert (part.evidence.kind, part.evidence.where) == ("package", STATUS)
    assert part.evidence.value == f"{package} {version}"
    assert part.linkage == ("dynamic" if part.name == "cudart" else None)


@pytest.mark.parametrize("package", NO_CUDA)
def test_other_debian_packages_are_none(package: str) -> None:
    assert parts(STATUS, stanza(package, "12.4.127-1")) == []


@pytest.mark.parametrize(
    ("status", "there"),
    [
        ("install ok installed", True),
        ("hold ok installed", True),
        ("install ok triggers-pending", True),
        ("install ok triggers-awaited", True),
        ("install ok unpacked", True),
        ("deinstall ok config-files", False),
        ("install ok half-installed", False),
        ("purge ok not-installed", False),
        (None, True),
    ],
    ids=str,
)
def test_a_package_counts_when_its_files_are_there(status: str | None, there: bool) -> None:
    assert bool(parts(STATUS, stanza("cuda-cudart-12-4", "12.4.127-1", status))) is there


@pytest.mark.parametrize(
    "text",
    [
        "Package: cuda-cudart-12-4\nVersion: 12.4.127-1",
        "Package: cuda-cudart-12-4\nVersion: 12.4.127-1\n",
        "\n\n\nPackage: cuda-cudart-12-4\nVersion: 12.4.127-1\n\n\n\n",
        "Version: 12.4.127-1\nArchitecture: amd64\nPackage: cuda-cudart-12-4\n\n",
        "Package:cuda-cudart-12-4  \nVersion:\t12.4.127-1 \n",
    ],
    ids=["no end", "one line end", "many blank lines", "version first", "odd blanks"],
)
def test_paragraphs_in_every_shape(text: str) -> None:
    assert brief(parts(STATUS, text)) == [("cudart", "12.4.127", "12.4")]


@pytest.mark.parametrize(
    "text",
    ["", "Package: cuda-cudart-12-4\n", "Version: 12.4.127-1\n", "Package: cuda-cudart-12-4\n\nVersion: 12.4.127-1\n"],
    ids=["nothing", "no version", "no name", "name and version in two paragraphs"],
)
def test_half_a_record_is_none(text: str) -> None:
    assert parts(STATUS, text) == []


def test_a_distroless_image_has_a_file_for_each_package() -> None:
    text = stanza("cuda-cudart-12-4", "12.4.127-1", None)
    assert brief(parts("/var/lib/dpkg/status.d/cuda-cudart-12-4", text)) == [("cudart", "12.4.127", "12.4")]
    assert parts("/var/lib/dpkg/status.d/cuda-cudart-12-4.md5sums", "d41d8cd98f00b204e9800998ecf8427e usr/x\n") == []


def test_alpine() -> None:
    text = "C:Q1abc=\nP:musl\nV:1.2.4-r2\nA:x86_64\n\nC:Q1def=\nP:nvidia-driver\nV:550.54.15-r0\n\nP:half\n\n"
    assert brief(parts(APK, text)) == [("driver", "550.54.15", None)]
    assert brief(parts("/usr" + APK, "P:libnccl\nV:2.21.5-r1\n")) == [("nccl", "2.21.5", None)]


CONDA = [
    ("cuda-version", "12.4", "h3060b56_3", ("cuda-version", "12.4", "12.4", None)),
    ("cudatoolkit", "11.8.0", "h4ba93d1_13", ("cudart", "11.8.0", "11.8", None)),
    ("cuda-cudart", "12.4.127", "0", ("cudart", "12.4.127", "12.4", None)),
    ("pytorch-cuda", "12.4", "hc786d27_7", ("pytorch-cuda", "12.4", "12.4", None)),
    ("pytorch", "2.4.0", "py3.11_cuda12.4_cudnn9.1.0_0", ("torch", "2.4.0", "12.4", None)),
    ("pytorch", "1.4.0", "py3.7_cuda10.0.130_cudnn7.6.3_0", ("torch", "1.4.0", "10.0", None)),
    ("pytorch", "2.5.1", "cuda126_mkl_py311_h54ad7b3_300", ("torch", "2.5.1", "12.6", None)),
    ("pytorch", "2.1.0", "cuda112_py311h13fee9e_303", ("torch", "2.1.0", "11.2", None)),
    ("pytorch", "2.1.0", "cuda120_generic_py311_h3ab2b2e_1", ("torch", "2.1.0", "12.0", None)),
    ("pytorch", "2.4.0", "py3.11_cpu_0", ("torch", "2.4.0", None, "cpu")),
    ("pytorch", "2.5.1", "cpu_generic_py311_hdd8aaf8_5", ("torch", "2.5.1", None, "cpu")),
    ("tensorflow", "2.16.1", "cuda120py311hdbfa3a9_0", ("tensorflow", "2.16.1", "12.0", None)),
    ("tensorflow", "2.16.1", "cpu_py311h50f0ba6_0", ("tensorflow", "2.16.1", None, "cpu")),
    ("jaxlib", "0.4.31", "cuda120py311h4c5d3a5_200", ("jaxlib", "0.4.31", "12.0", None)),
    ("jaxlib", "0.4.31", "cpu_py311h7ba93e6_0", ("jaxlib", "0.4.31", None, "cpu")),
    ("cudnn", "9.3.0.75", "h3f2d84a_0", ("cudnn", "9.3.0.75", None, None)),
    ("nccl", "2.23.4.1", "h52f6c39_2", ("nccl", "2.23.4.1", None, None)),
]


@pytest.mark.parametrize(
    ("name", "version", "build", "expected"), CONDA, ids=[f"{row[0]} {row[1]} {row[2]}" for row in CONDA]
)
def test_a_conda_record(name: str, version: str, build: str, expected: tuple[str, ...]) -> None:
    path = f"/opt/conda/conda-meta/{name}-{version}-{build}.json"
    (part,) = parts(path, json.dumps({"build": build, "build_number": 0, "name": name, "version": version}))
    assert (part.name, part.version, part.cuda, part.variant) == expected
    assert (part.found_by, part.path) == ("conda", path)
    assert part.evidence.value == f"{name} {version} {build}"


@pytest.mark.parametrize(
    "record",
    [
        "[]",
        "{}",
        "null",
        "7",
        '{"name": "cudatoolkit"}',
        '{"name": 7, "version": "1"}',
        '{"name": "zlib", "version": "1"}',
    ],
)
def test_a_conda_record_of_nothing(record: str) -> None:
    assert parts("/opt/conda/conda-meta/pytorch-1-0.json", record) == []


def test_a_conda_record_without_a_build_or_with_an_odd_one() -> None:
    path = "/opt/conda/conda-meta/pytorch-2.4.0-7.json"
    assert brief(parts(path, '{"name": "pytorch", "version": "2.4.0"}')) == [("torch", "2.4.0", None)]
    assert brief(parts(path, '{"name": "pytorch", "version": "2.4.0", "build": [7]}')) == [("torch", "2.4.0", None)]


def test_a_conda_record_that_is_no_json_is_noted() -> None:
    path = "/opt/conda/conda-meta/pytorch-2.4.0-7.json"
    for text in ("{", "[]", "null", "7", "[" * 200_000, '{"version": ' + "9" * 5000 + "}", b"\xff{}"):
        (note,) = notes(path, text)
        assert note.startswith(f"{path} was not read: ")


def test_only_the_conda_records_that_matter_are_taken_apart() -> None:
    assert observed("/opt/conda/conda-meta/zlib-1.2.13-h4ab18f5_6.json", "{") == []
