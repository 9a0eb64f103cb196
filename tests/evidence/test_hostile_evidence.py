"""Whatever stands in an image: no detector raises, none takes its time, and what is kept stays small."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudacompat import predict
from cudacompat.evidence import ldconfig, libraries, names
from cudacompat.evidence.collect import collect
from cudacompat.evidence.config import components, environment
from cudacompat.evidence.detectors import DETECTORS, Wanted
from cudacompat.evidence.interface import Note, Observation, Value
from cudacompat.evidence.join import join_components
from cudacompat.layers.config import parse_config
from cudacompat.model import Component, Evidence, ImageConfig
from tests.support.evidence import SITE, MemoryImage, described, files, observed
from tests.support.facts import host
from tests.support.images import build
from tests.support.tars import END, member

PATHS = {
    "dpkg": "/var/lib/dpkg/status",
    "rpm sqlite": "/var/lib/rpm/rpmdb.sqlite",
    "rpm other": "/var/lib/rpm/Packages",
    "apk": "/lib/apk/db/installed",
    "conda": "/opt/conda/conda-meta/pytorch-2.4.0-0.json",
    "pip": f"{SITE}/torch-2.4.0.dist-info/METADATA",
    "torch": f"{SITE}/torch/version.py",
    "tensorflow": f"{SITE}/tensorflow/python/platform/build_info.py",
    "version.json": "/usr/local/cuda-12.4/version.json",
    "version.txt": "/usr/local/cuda-10.2/version.txt",
    "ld.so.conf": "/etc/ld.so.conf",
    "ld.so.cache": "/etc/ld.so.cache",
    "os-release": "/etc/os-release",
}
WORDS = [
    *(
        "Package: ",
        "Version: ",
        "Status: ",
        "Name: ",
        "Requires-Dist: ",
        "P:",
        "V:",
        "\n",
        "\n\n",
        "\r\n",
        " ",
        "\t",
        ":",
    ),
    *("cuda-cudart-12-4", "cuda-compat-12-4", "libcudnn9-cuda-12", "nvidia-cuda-runtime-cu12", "torch", "cupy-cuda12x"),
    *(
        "cuda-toolkit[",
        "cudart]",
        "==",
        "12.4.127",
        "+cu124",
        "1:",
        "-1",
        "~",
        "install ok installed",
        "extra ==",
        "(",
        ")",
    ),
    *(
        "__version__",
        "cuda",
        "hip",
        "xpu",
        "Optional[str]",
        " = ",
        "'",
        '"',
        "None",
        "cuda_version",
        "is_cuda_build",
        "True",
    ),
    *("{", "}", "[", "]", ",", "name", "version", "build", "cuda_cudart", "CUDA Version ", "py3_cuda12.4_0", "9" * 50),
    *(
        "include ",
        "/etc/ld.so.conf.d/*.conf",
        "/etc/ld.so.conf",
        "#",
        "/usr/lib",
        "ID=",
        "VERSION_ID=",
        "\0",
        "\ud7ff",
        "é",
    ),
    *(
        "pip install ",
        "apt-get install ",
        "conda install ",
        "https://download.pytorch.org/whl/cu118",
        "cudatoolkit=11.8",
    ),
]
words = st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=40).map("".join)
each_path = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)


def kept(found: Observation) -> int:
    """Bytes of text that an observation keeps."""
    if isinstance(found, (Note, Value)):
        return len(found.text)
    assert isinstance(found, Component)
    return sum(map(len, (found.name, found.version or "", found.cuda or "", found.variant or "", found.evidence.value)))


def test_every_detector_has_its_path_here() -> None:
    wanted = Wanted()
    assert [wanted.detector(path) for path in PATHS.values()] == list(DETECTORS)


@each_path
@given(data=st.binary(max_size=300) | words.map(str.encode))
def test_no_detector_raises(path: str, data: bytes) -> None:
    for found in observed(path, data):
        assert isinstance(found, (Component, Note, Value))
        assert isinstance(found, Value) or kept(found) < 2000
        if isinstance(found, Component):
            assert found.name
            assert found.version != ""
            assert found.evidence.where == path


@given(
    path=st.text(max_size=60)
    | st.lists(st.sampled_from([*PATHS.values(), "/", ".", "x", "\n"]), max_size=4).map("".join)
)
def test_any_path_is_wanted_by_one_or_none(path: str) -> None:
    found = Wanted().detector(path)
    assert found is None or found in DETECTORS
    libraries.component_of(path)
    libraries.decides(path)
    list(libraries.by_name(path, 1, "sha256:l"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([*WORDS, "12.4.1", "pytorch", "2.4.0"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "version", "build", "cuda", "cuda_cudart"]), inner, max_size=5)
    ),
    max_leaves=10,
)


@given(value=VALUES)
def test_any_json_value(value: object) -> None:
    for path in (PATHS["conda"], PATHS["version.json"]):
        assert all(isinstance(found, (Component, Note)) for found in observed(path, json.dumps(value)))


@given(
    env=st.lists(
        st.text(max_size=20)
        | st.tuples(
            st.sampled_from(["CUDA_VERSION=", "NV_CUDA_CUDART_VERSION=", "PYTORCH_VERSION=", "LD_PRELOAD="]), words
        ).map("".join),
        max_size=6,
    ),
    labels=st.dictionaries(st.sampled_from(["com.nvidia.cuda.version", "com.nvidia.cudnn.version", "x"]), words),
    history=st.lists(words, max_size=5),
)
def test_any_config(env: list[str], labels: dict[str, str], history: list[str]) -> None:
    config = ImageConfig("linux/amd64", tuple(env), labels, history=tuple(history))
    assert all(part.found_by in ("env", "label", "history") for part in components(config))
    assert all(one.kind == "env" for one in environment(config))
    facts = described({"files": {"/x": ""}}, depth="config", env=env, labels=labels)
    assert predict(facts, host("535.104.05", "A100")).verdict.summary


@given(name=st.text(max_size=30) | words, version=st.text(max_size=20) | words)
def test_any_package_name_and_version(name: str, version: str) -> None:
    for named in (names.wheel(name, version), names.system_package(name, version)):
        assert named is None or named.name
    names.cuda_of_tag(version)


@given(
    texts=st.dictionaries(
        st.sampled_from(["/etc/ld.so.conf", *(f"/etc/ld.so.conf.d/{name}.conf" for name in "abc")]), words
    )
)
def test_any_ld_so_conf(texts: dict[str, str]) -> None:
    found = ldconfig.directories(texts)
    assert len(set(found)) == len(found)
    assert all(path.startswith("/") and "\n" not in path for path in found)


PARTS = st.builds(
    lambda name, version, cuda, found_by, path, variant, linkage: Component(
        name, version, cuda, found_by, Evidence("file", path or found_by, str(version)), path, None, linkage, variant
    ),
    st.sampled_from(["cudart", "torch", "tensorflow"]),
    st.sampled_from([None, "12.4.127", "2.4.0"]),
    st.sampled_from([None, "12", "12.4", "11.8"]),
    st.sampled_from(["machine-code", "torch-version-py", "file-name", "pip", "conda", "dpkg", "odd"]),
    st.sampled_from(
        [
            None,
            f"{SITE}/torch/version.py",
            f"{SITE}/a-1.dist-info/METADATA",
            "/opt/conda-meta/x.json",
            "/opt/lib/x",
            "",
            "/",
        ]
    ),
    st.sampled_from([None, "cpu", "cu124"]),
    st.sampled_from([None, "dynamic", "static"]),
)


@given(found=st.lists(PARTS, max_size=8))
def test_joining_never_loses_a_kind_of_part_and_makes_none_up(found: list[Component]) -> None:
    joined = join_components(found, (), trusting=False)
    assert {part.name for part in joined} == {part.name for part in found}
    assert len(joined) <= len(found)
    assert {part.evidence for part in joined} <= {part.evidence for part in found}


@settings(max_examples=60)
@given(
    layers=st.lists(
        st.dictionaries(
            st.sampled_from(
                [*PATHS.values(), "/usr/lib/libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.550.54.15", "/usr/lib/x"]
            ),
            words | st.fixed_dictionaries({"symlink": st.sampled_from([*PATHS.values(), "..", "x", "/"])}),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
        max_size=3,
    )
)
def test_any_image_is_collected_and_predicted(layers: list[dict[str, object]]) -> None:
    texts = [
        {
            path: text.encode("utf-8", "replace").decode() if isinstance(text, str) else text
            for path, text in layer.items()
        }
        for layer in layers
    ]
    facts = files(*texts)
    assert facts.coverage.complete
    assert predict(facts, host("535.104.05", "A100")).verdict.outcome
    assert facts == files(*texts)


MIB = 1 << 20
LONG = {
    "dpkg: blank lines": ("dpkg", "\n", 32 * MIB),
    "dpkg: names without an end": ("dpkg", "\nPackage:", 32 * MIB),
    "dpkg: packages": ("dpkg", "Package: cuda\n\n", 32 * MIB),
    "dpkg: dashes": (
        "dpkg",
        "Package: cuda-cudart-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1\nVersion: 1-1-1-1+1~1\n\n",
        8 * MIB,
    ),
    "dpkg: one name": ("dpkg", "Package: " + "cuda-cudart-1-" * 10000, 8 * MIB),
    "dpkg: blanks in a name": ("dpkg", "Package: " + " " * 100_000 + "x\n", 8 * MIB),
    "apk: blank lines": ("apk", "\n", 32 * MIB),
    "apk: names": ("apk", "\nP:", 32 * MIB),
    "pip: open brackets": ("pip", "Requires-Dist: cuda-toolkit[\n", 4 * MIB),
    "pip: open brackets in a line": ("pip", "Requires-Dist: cuda-toolkit[", 4 * MIB),
    "pip: requirements": ("pip", "Requires-Dist: cuda-toolkit==1.1; extra\n", 4 * MIB),
    "pip: blanks": ("pip", "Name: torch\nVersion: 1\nRequires-Dist: cuda-toolkit" + " " * 100_000 + "\n", 4 * MIB),
    "pip: a name": ("pip", "Name: " + "nvidia-cu1-cu1-" * 1000 + "\nVersion: 1\n", 4 * MIB),
    "pip: carriage returns": ("pip", "\r", 4 * MIB),
    "torch: blanks behind a colon": ("torch", "__version__ = '1'\ncuda:" + " " * 100_000 + "\n", MIB),
    "torch: colons": ("torch", "__version__ = '1'\ncuda" + ":" * 100_000 + "\n", MIB),
    "torch: blanks": ("torch", "__version__" + " " * 100_000 + "\n", MIB),
    "torch: equal signs": ("torch", "__version__ = '1'\ncuda" + "=" * 100_000 + "\n", MIB),
    "torch: a long string": ("torch", "__version__ = '" + "1" * 100_000, MIB),
    "tensorflow: blanks": ("tensorflow", "'cuda_version'" + " " * 100_000, MIB),
    "tensorflow: keys": ("tensorflow", "'cuda_version': '1.1.1.1.1", MIB),
    "version.txt: digits": ("version.txt", "CUDA Version " + "1" * 1000, 1 << 16),
    "version.txt: dots": ("version.txt", "CUDA Version 1." + "." * 1000, 1 << 16),
    "os-release: quotes": ("os-release", 'ID="' + "x" * 300, 1 << 16),
    "ld.so.conf: stars": ("ld.so.conf", "include /etc/*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b\n", 1 << 16),
    "conda: digits": ("conda", '{"name": "pytorch", "version": "1", "build": "' + "cuda1" * 100_000, MIB),
}


@pytest.mark.parametrize(("detector", "unit", "size"), LONG.values(), ids=LONG)
def test_long_input_takes_no_longer_than_reading_it(detector: str, unit: str, size: int) -> None:
    """A pattern that tried every way through one of these would not end within the life of a test run."""
    found = observed(PATHS[detector], (unit * (size // len(unit) + 1))[:size])
    assert sum(map(kept, found)) < 2 * MIB


LINES = [
    "a-",
    "a.",
    "a[",
    "a[a,",
    "a==",
    "a[a]=",
    "cuda-cudart-1",
    "libcudnn1-cuda-",
    "-",
    "=",
    "pip install ",
    "cudatoolkit=1",
    "1.",
    "download.pytorch.org/whl/",
]


@pytest.mark.parametrize(
    "unit", [*LINES, *(one + other for one, other in product(LINES[:4], LINES[:4]) if one != other)]
)
def test_a_long_command_takes_no_longer_than_reading_it(unit: str) -> None:
    line = ("RUN pip apt-get " + unit * 100_000)[:100_000]
    config = ImageConfig("linux/amd64", (f"CUDA_VERSION={line}", f"NV_CUDNN_VERSION={line}"), history=(line,) * 5)
    assert sum(1 for _ in components(config)) <= 5000


@pytest.mark.parametrize(
    "path",
    [
        "/conda-meta/" * 300,
        "/torch" * 600,
        "/x.dist-info" * 300,
        "/site-packages/" * 280,
        "/usr/local/cuda" + "x" * 4000,
        "/libcuda" + ".so" * 1300,
        "/lib" + "cudart-" * 570,
    ],
    ids=lambda path: path[:20],
)
def test_a_long_path_takes_no_longer_than_reading_it(path: str) -> None:
    for _ in range(20):
        Wanted().detector(path)
        libraries.component_of(path)
        libraries.decides(path)
        list(libraries.by_name(path, 1, "l"))


def test_a_hundred_thousand_distributions_end_in_a_note() -> None:
    text = "Name: nvidia-x{0}-cu12\nVersion: 1\n"
    members = (member(f"{SITE[1:]}/n{number}.dist-info/METADATA", text.format(number)) for number in range(100_000))
    facts = collect(MemoryImage(ImageConfig("linux/amd64"), [b"".join(members) + END]))
    assert 0 < len(facts.components) <= 20_000
    assert not facts.coverage.complete
    assert any("left out" in note for note in facts.coverage.notes)
    assert predict(facts, host("535.104.05", "A100")).verdict.outcome == "unknown"


@pytest.mark.parametrize(
    "content",
    [
        {PATHS["version.json"]: {"symlink": "/proc/self/environ"}},
        {PATHS["version.json"]: {"symlink": PATHS["version.json"]}},
        {PATHS["version.json"]: {"dir": True}},
        {PATHS["dpkg"]: {"symlink": "../../../../../../etc/passwd"}},
        {PATHS["pip"]: "Version: 1\n"},
        {PATHS["pip"]: "\0" * 1000},
        {PATHS["torch"]: "__version__ = '2.4.0\0'\ncuda = '12.4\0'\n"},
        {PATHS["os-release"]: "ID=\0\n"},
    ],
    ids=[
        "a symlink out",
        "a symlink to itself",
        "a folder",
        "a database outside",
        "no name",
        "NULs",
        "NULs in values",
        "a NUL",
    ],
)
def test_odd_files_end_as_notes_or_as_nothing(content: dict[str, object]) -> None:
    facts = files(content)
    assert facts.coverage.complete
    assert predict(facts, host("535.104.05", "A100")).verdict.outcome
    assert all(part.name == "torch" for part in facts.components)


def test_a_detector_that_fails_costs_its_file_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object, path: str, data: bytes, layer: str) -> list[Observation]:
        raise KeyError(path)

    monkeypatch.setattr("cudacompat.evidence.toolkit.VersionText.read", fails)
    built = build(
        {"layers": [{"files": {PATHS["version.txt"]: "x", PATHS["torch"]: "__version__ = '2.4.0'\n"}}]}, "none"
    )
    facts = collect(MemoryImage(parse_config(built.config, "x"), built.tars))
    assert [part.name for part in facts.components] == ["torch"]
    (note,) = facts.coverage.notes
    assert note == f"{PATHS['version.txt']} could not be read (version-txt: KeyError)"
