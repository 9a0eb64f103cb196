"""Whole images: what survives the layers, compat folders, coverage, and what a prediction then reads."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cudacompat.errors import TargetError
from cudacompat.evidence.collect import _weight, collect
from cudacompat.layers.config import parse_config
from cudacompat.layers.interface import LayerBlob
from cudacompat.model import Kernels, Ptx, SharedLibrary
from cudacompat.stack import select_compat
from tests.support.evidence import SITE, MemoryImage, brief, described, files, stanza
from tests.support.images import build, digest

FATBINS = Path(__file__).parent.parent / "data" / "fatbin"
STATUS = "/var/lib/dpkg/status"
CUDA = "/usr/local/cuda-12.4"
COMPAT = f"{CUDA}/compat"
LIB = f"{CUDA}/targets/x86_64-linux/lib"
ELF = {"elf": "x86_64"}
BASE = stanza("base-files", "12")


def compat(folder: str = COMPAT) -> dict[str, object]:
    return {
        f"{folder}/libcuda.so.550.54.15": ELF,
        f"{folder}/libcuda.so.1": {"symlink": "libcuda.so.550.54.15"},
        f"{folder}/libcuda.so": {"symlink": "libcuda.so.1"},
        f"{folder}/libnvidia-ptxjitcompiler.so.550.54.15": ELF,
    }


def test_the_layers_of_an_nvidia_image() -> None:
    image = build(
        {
            "platform": "linux/amd64",
            "env": {"CUDA_VERSION": "12.4.1", "NV_CUDA_CUDART_VERSION": "12.4.127-1", "PATH": "/bin"},
            "layers": [
                {"files": {STATUS: BASE, "/etc/os-release": "ID=ubuntu\n", "/bin/true": ELF}},
                {
                    "files": {
                        STATUS: BASE
                        + stanza("cuda-cudart-12-4", "12.4.127-1")
                        + stanza("cuda-compat-12-4", "550.54.15-1"),
                        f"{LIB}/libcudart.so.12.4.127": ELF,
                        f"{LIB}/libcudart.so.12": {"symlink": "libcudart.so.12.4.127"},
                        f"{CUDA}/lib64": {"symlink": "targets/x86_64-linux/lib"},
                        "/usr/local/cuda": {"symlink": "cuda-12.4"},
                        **compat(),
                    }
                },
            ],
        },
        "none",
    )
    upper = digest(image.tars[1])
    facts = collect(MemoryImage(parse_config(image.config, "x"), image.tars))
    assert [(part.name, part.version, part.cuda, part.found_by, part.layer) for part in facts.components] == [
        ("cudart", "12.4.127", "12.4", "file-name", upper),
        ("cudart", "12.4.127", "12.4", "dpkg", upper),
        ("libcuda-compat", "550.54.15", "12.4", "dpkg", upper),
    ]
    assert [(one.directory, one.libcuda, one.standard, one.layer) for one in facts.compat] == [
        (COMPAT, "550.54.15", True, upper)
    ]
    libcuda = next(one for one in facts.libraries if one.path.endswith("libcuda.so.550.54.15"))
    assert libcuda.names == (f"{COMPAT}/libcuda.so", f"{COMPAT}/libcuda.so.1")
    assert (libcuda.machine, libcuda.version, libcuda.size) == ("x86_64", "550.54.15", 4096)
    assert facts.files == tuple(sorted(one.path for one in facts.libraries))
    assert facts.links["/usr/local/cuda"] == "cuda-12.4"
    assert facts.links[f"{CUDA}/lib64"] == "targets/x86_64-linux/lib"
    assert facts.machines == {"x86_64": 4}
    assert facts.os_release == {"ID": "ubuntu"}
    assert (facts.coverage.depth, facts.coverage.complete, facts.coverage.layers, facts.coverage.layers_read) == (
        "full",
        True,
        2,
        2,
    )
    assert facts.coverage.notes == ()
    assert facts.available_platforms == ("linux/amd64",)
    assert {one.where for one in facts.evidence if one.kind == "env"} == {"CUDA_VERSION", "NV_CUDA_CUDART_VERSION"}
    assert all(part.evidence in facts.evidence for part in facts.components)


@pytest.mark.parametrize(
    ("upper", "expected"),
    [
        ({"files": {STATUS: BASE + stanza("cuda-cudart-12-6", "12.6.77-1")}}, [("cudart", "12.6.77", "12.6")]),
        ({"files": {STATUS: BASE}}, []),
        ({"files": {STATUS: BASE + stanza("cuda-cudart-12-4", "12.4.127-1", "deinstall ok config-files")}}, []),
        ({"whiteouts": [STATUS]}, []),
        ({"whiteouts": ["/var/lib/dpkg"]}, []),
        ({"opaque": ["/var/lib/dpkg"]}, []),
        (
            {"opaque": ["/var/lib"], "files": {STATUS: stanza("libnccl2", "2.21.5-1+cuda12.4")}},
            [("nccl", "2.21.5", "12.4")],
        ),
        ({"files": {STATUS: {"symlink": "/dev/null"}}}, []),
        ({"files": {"/var/lib/dpkg": {"symlink": "/opt"}}}, []),
        ({"files": {f"{STATUS}-old": BASE}}, [("cudart", "12.4.127", "12.4")]),
        (
            {"files": {f"{STATUS}.d/x": stanza("cuda-cudart-12-4", "12.4.127-1", None)}},
            [("cudart", "12.4.127", "12.4")],
        ),
    ],
    ids=[
        "a newer database",
        "purged",
        "removed but for its config",
        "the database deleted",
        "its folder deleted",
        "its folder emptied",
        "emptied and written anew",
        "a symlink in its place",
        "the folder a symlink",
        "untouched",
        "named twice",
    ],
)
def test_a_package_database_under_another_layer(upper: dict[str, object], expected: list[tuple[str, str, str]]) -> None:
    lower = {"files": {STATUS: BASE + stanza("cuda-cudart-12-4", "12.4.127-1")}}
    facts = described(lower, upper)
    assert brief(facts.components) == expected
    assert facts.coverage.complete


def test_what_a_lower_layer_had_counts_no_more_once_deleted() -> None:
    lower = {"files": {f"{LIB}/libcudart.so.12.4.127": ELF, **compat(), "/usr/local/cuda": {"symlink": "cuda-12.4"}}}
    facts = described(lower, {"whiteouts": [CUDA]})
    assert (facts.components, facts.libraries, facts.compat, facts.files) == ((), (), (), ())
    assert facts.machines == {"x86_64": 3}


@pytest.mark.parametrize(
    ("links", "standard"),
    [
        ({"/usr/local/cuda": {"symlink": "cuda-12.4"}}, True),
        ({"/usr/local/cuda": {"symlink": "/usr/local/cuda-12.4"}}, True),
        (
            {"/usr/local/cuda": {"symlink": "/etc/alternatives/cuda"}, "/etc/alternatives/cuda": {"symlink": CUDA}},
            True,
        ),
        ({"/usr/local/cuda": {"symlink": "../../../../usr/local/cuda-12.4"}}, True),
        ({"/usr/local/cuda/compat": {"symlink": COMPAT}}, True),
        ({"/usr/local/cuda": {"symlink": "cuda-11.8"}}, False),
        ({"/usr/local/cuda": {"symlink": "/usr/local/cuda"}}, False),
        ({}, False),
    ],
    ids=[
        "relative",
        "absolute",
        "alternatives",
        "out of the root",
        "the folder itself",
        "another toolkit",
        "a loop",
        "none",
    ],
)
def test_the_standard_compat_folder_is_where_the_symlinks_lead(links: dict[str, object], standard: bool) -> None:
    (found,) = files({**compat(), **links}).compat
    assert (found.directory, found.libcuda, found.standard) == (COMPAT, "550.54.15", standard)


def test_a_symlink_of_an_upper_layer_moves_the_standard_folder() -> None:
    old = {**compat("/usr/local/cuda-11.8/compat"), **compat(), "/usr/local/cuda": {"symlink": "cuda-11.8"}}
    facts = files(old, {"/usr/local/cuda": {"symlink": "cuda-12.4"}})
    assert [(one.directory, one.standard) for one in facts.compat] == [
        (COMPAT, True),
        ("/usr/local/cuda-11.8/compat", False),
    ]


@pytest.mark.parametrize(
    "name", ["libcuda.so.1", "libcuda.so", "libnvidia-ml.so.550.54.15", "libcudadebugger.so.550.54.15", "libcuda.so.x"]
)
def test_only_a_libcuda_with_a_version_makes_a_compat_folder(name: str) -> None:
    assert files({f"{COMPAT}/{name}": ELF}).compat == ()


def test_the_same_library_outside_of_compat_is_a_driver_in_the_image() -> None:
    facts = files({"/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15": ELF})
    assert facts.compat == ()
    assert brief(facts.components) == [("driver", "550.54.15", None)]


@pytest.mark.parametrize(
    ("cache", "chosen"), [({"/etc/ld.so.cache": "x"}, COMPAT), ({}, None)], ids=["with a cache", "without"]
)
def test_older_compat_hooks_ask_for_the_loaders_cache(cache: dict[str, object], chosen: str | None) -> None:
    facts = files({**compat(), "/usr/local/cuda": {"symlink": "cuda-12.4"}, **cache})
    answer = select_compat(
        files=facts.files, links=facts.links, note=None, host_driver="535.104.05", toolkit="1.17.8", injection="cdi"
    )
    assert answer == chosen


def test_hard_links_are_seen_at_each_of_their_paths() -> None:
    first, second = f"{LIB}/libcudart.so.12.4.127", "/opt/lib/libcudart.so.12.4.127"
    facts = files({first: ELF, second: {"hardlink": first}})
    assert [(part.path, part.cuda) for part in facts.components] == [(second, "12.4"), (first, "12.4")]
    assert {one.path: one.names for one in facts.libraries} == {first: (second,), second: (first,)}


def test_a_hard_link_survives_its_first_name() -> None:
    first, second = f"{LIB}/libcudart.so.12.4.127", "/opt/lib/libcudart.so.12.4.127"
    facts = described({"files": {first: ELF, second: {"hardlink": first}}}, {"whiteouts": [first]})
    assert [part.path for part in facts.components] == [second]
    assert [one.path for one in facts.libraries] == [second]


def fixture(name: str) -> dict[str, str]:
    return {"base64": base64.b64encode((FATBINS / name).read_bytes()).decode()}


def test_device_code_belongs_to_the_package_it_lies_in() -> None:
    places = {
        f"{SITE}/torch/lib/libtorch_cuda.so": ("torch", True),
        "/opt/app/program": (None, True),
        "/usr/local/cuda/extras/CUPTI/samples/x": (None, False),
        "/usr/local/cuda/nsight-compute/x": (None, False),
    }
    facts = files({path: fixture("libboth.so") for path in places})
    assert {one.path: (one.component, one.decides) for one in facts.kernels} == places
    assert {one.origin for one in facts.kernels} == {"binary"}
    assert all(one.layer and (one.sass or one.ptx) for one in facts.kernels)


def test_a_hard_linked_binary_belongs_where_each_name_lies() -> None:
    facts = files({"/opt/cache/x": fixture("libboth.so"), f"{SITE}/cupy/x.so": {"hardlink": "/opt/cache/x"}})
    assert {one.path: one.component for one in facts.kernels} == {"/opt/cache/x": None, f"{SITE}/cupy/x.so": "cupy"}


def test_a_config_alone() -> None:
    facts = files({STATUS: stanza("cuda-cudart-12-6", "12.6.77-1")}, depth="config", env={"CUDA_VERSION": "12.4.1"})
    assert [(part.name, part.cuda, part.found_by) for part in facts.components] == [("cudart", "12.4", "env")]
    assert (facts.coverage.depth, facts.coverage.complete) == ("config", False)
    assert (facts.coverage.layers_read, facts.coverage.layers) == (0, 1)
    assert (facts.libraries, facts.kernels, facts.files, dict(facts.machines)) == ((), (), (), {})


def test_a_full_reading_makes_announcements_superfluous() -> None:
    facts = files({"/x": "y"}, env={"CUDA_VERSION": "12.4.1"})
    assert facts.components == ()
    assert [one.where for one in facts.evidence] == ["CUDA_VERSION"]


class Partial(MemoryImage):
    """An image whose first layer is not there, with a sentence that says so."""

    notes = ("layer 1 is foreign and was left out",)

    def layers(self) -> Iterator[LayerBlob]:
        return iter(list(super().layers())[1:])


def test_a_missing_layer_makes_the_reading_incomplete_and_announcements_count() -> None:
    image = build(
        {"env": {"CUDA_VERSION": "12.4.1"}, "layers": [{"files": {"/a": "1"}}, {"files": {"/b": "2"}}]}, "none"
    )
    facts = collect(Partial(parse_config(image.config, "x"), image.tars))
    assert (facts.coverage.complete, facts.coverage.layers_read, facts.coverage.layers) == (False, 1, 2)
    assert facts.coverage.notes == Partial.notes
    assert [part.found_by for part in facts.components] == ["env"]


def test_layers_that_come_in_another_order_are_laid_as_the_image_says() -> None:
    image = build(
        {
            "layers": [
                {"files": {STATUS: stanza("libnccl2", "2.18.5-1")}},
                {"files": {STATUS: stanza("libnccl2", "2.21.5-1")}},
            ]
        },
        "none",
    )

    class Backwards(MemoryImage):
        def layers(self) -> Iterator[LayerBlob]:
            return iter([replace(blob) for blob in super().layers()][::-1])

    facts = collect(Backwards(parse_config(image.config, "x"), image.tars))
    assert brief(facts.components) == [("nccl", "2.21.5", None)]


def test_one_layer_twice_is_read_once_and_counts_twice() -> None:
    layer = {"files": {STATUS: stanza("libnccl2", "2.21.5-1")}}
    facts = described(layer, {"whiteouts": [STATUS]}, layer)
    assert brief(facts.components) == [("nccl", "2.21.5", None)]
    assert (facts.coverage.layers_read, facts.coverage.layers, facts.coverage.complete) == (3, 3, True)


def test_a_broken_layer_is_an_error() -> None:
    image = build({"layers": [{"files": {"/a": "1"}}]}, "none")

    class Broken(MemoryImage):
        def layers(self) -> Iterator[LayerBlob]:
            for blob in super().layers():
                yield replace(blob, diff_id="sha256:" + "0" * 64)

    with pytest.raises(TargetError, match="does not match its digest"):
        collect(Broken(parse_config(image.config, "x"), image.tars))


def test_progress_names_each_layer() -> None:
    said: list[str] = []
    image = build({"layers": [{"files": {f"/{number}": "x" for number in range(1100)}}]}, "none")
    collect(MemoryImage(parse_config(image.config, "x"), image.tars), progress=said.append)
    assert re.fullmatch(r"layer 1, [0-9a-f]{12}", said[0])
    assert said[1:] == ["512 files read", "1024 files read"]


def test_files_too_large_for_their_detector_are_noted_and_the_rest_is_read() -> None:
    path = f"{SITE}/torch-2.4.0.dist-info/METADATA"
    facts = files(
        {path: "Name: torch\n" + "x" * (5 << 20), f"{SITE}/torch/version.py": "__version__ = '2.4.0'\ncuda = '12.4'\n"}
    )
    assert brief(facts.components) == [("torch", "2.4.0", "12.4")]
    (note,) = facts.coverage.notes
    assert path in note
    assert "was not read" in note


def test_names_of_thousands_of_digits() -> None:
    facts = files({"/x/libcuda.so." + "9" * 4000 + ".1": ELF, "/x/libcudart.so." + "1." * 2000 + "1": ELF})
    assert len(facts.libraries) == 2
    assert [part.name for part in facts.components] == ["cudart"]


def test_more_findings_than_any_image_has_are_cut_and_the_reading_is_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cudacompat.evidence.collect._MOST_FINDINGS", 100)
    many = {
        f"{SITE}/nvidia_x{number}_cu12-1.dist-info/METADATA": f"Name: nvidia-x{number}-cu12\nVersion: 1\n"
        for number in range(200)
    }
    facts = files(many)
    assert len(facts.components) == 100
    assert not facts.coverage.complete
    assert any("left out" in note for note in facts.coverage.notes)
    assert files(dict(list(many.items())[:100])).coverage.complete


def test_notes_and_texts_weigh_more_than_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudacompat.evidence.collect._MOST_FINDINGS", 1000)
    broken = files({f"/usr/local/cuda-{number}/version.json": "{" for number in range(100)})
    assert 10 <= len(broken.coverage.notes) <= 30
    texts = files({f"/etc/ld.so.conf.d/{number}.conf": f"/{number}\n" + "#" * 60_000 for number in range(20)})
    assert len(texts.ld_so_conf) == 3
    assert not texts.coverage.complete


def test_a_librarys_lists_weigh_by_their_length() -> None:
    library = SharedLibrary(
        "/x", needed=("a" * 1000,), rpath=("b" * 500,), runpath=("c" * 500,), compat_note="d" * 2000
    )
    assert _weight("/x", library) == 21
    assert _weight("/x", SharedLibrary("/x")) == 1
    assert _weight("/x", Kernels("/x", ("80",) * 100, (Ptx("90", "8.4"),) * 100)) == 9
