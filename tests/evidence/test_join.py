"""Several observations of one thing become one, several things stay several."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cudacompat.evidence.join import join_components, join_libraries
from cudacompat.model import Component, Evidence, SharedLibrary

SITE = "/usr/lib/python3/site-packages"
CONDA = "/opt/conda"
LIB = "nvidia/cuda_runtime/lib"


def seen(
    name: str,
    found_by: str,
    cuda: str | None,
    path: str | None = None,
    version: str | None = None,
    *,
    static: bool = False,
    variant: str | None = None,
) -> Component:
    evidence = Evidence("file", path or found_by, f"{name} {version} {cuda}")
    linkage = None if name != "cudart" else "static" if static else "dynamic"
    return Component(name, version, cuda, found_by, evidence, path, None, linkage, variant)


def record(version: str, cuda: str, site: str = SITE) -> Component:
    return seen("cudart", "pip", cuda, f"{site}/nvidia_cuda_runtime-{version}.dist-info/METADATA", version)


def torch(found_by: str, cuda: str | None, version: str, variant: str | None = None, site: str = SITE) -> Component:
    where = {"pip": f"torch-{version}.dist-info/METADATA", "torch-version-py": "torch/version.py"}[found_by]
    return seen("torch", found_by, cuda, f"{site}/{where}", version, variant=variant)


def joined(*found: Component) -> list[tuple[str, str | None, str | None, str, str | None]]:
    """Name, version, CUDA, found_by and path, in any order of the observations the same."""
    results = {join_components(order, (), trusting=False) for order in (found, found[::-1])}
    assert len(results) == 1
    return [(part.name, part.version, part.cuda, part.found_by, part.path) for part in results.pop()]


def test_machine_code_name_and_record_of_a_wheels_runtime_are_one() -> None:
    path = f"{SITE}/{LIB}/libcudart.so.12"
    found = joined(
        seen("cudart", "file-name", "12", path),
        seen("cudart", "machine-code", "12.4", path),
        record("12.4.127", "12.4"),
    )
    assert found == [("cudart", "12.4.127", "12.4", "machine-code", path)]


def test_a_name_alone_takes_the_minor_version_from_the_record() -> None:
    path = f"{SITE}/{LIB}/libcudart.so.12"
    found = joined(seen("cudart", "file-name", "12", path), record("12.4.127", "12.4"))
    assert found == [("cudart", "12.4.127", "12.4", "file-name", path)]


def test_a_record_without_its_file_stays() -> None:
    (found,) = joined(record("12.4.127", "12.4"))
    assert found[:4] == ("cudart", "12.4.127", "12.4", "pip")


def test_a_record_of_another_version_is_no_record_of_the_file() -> None:
    path = f"{SITE}/{LIB}/libcudart.so.12"
    found = joined(seen("cudart", "machine-code", "12.6", path), record("12.4.127", "12.4"))
    assert [row[:4] for row in found] == [
        ("cudart", None, "12.6", "machine-code"),
        ("cudart", "12.4.127", "12.4", "pip"),
    ]


def test_two_runtimes_of_one_major_version_in_a_site_stay_two() -> None:
    bundled, wheel = f"{SITE}/torch/lib/libcudart-d0da41ae.so.11.0", f"{SITE}/{LIB}/libcudart.so.11.0"
    found = joined(
        seen("cudart", "machine-code", "11.7", bundled),
        seen("cudart", "machine-code", "11.8", wheel),
        record("11.8.89", "11.8"),
    )
    assert sorted(found, key=str) == [
        ("cudart", "11.8.89", "11.8", "machine-code", wheel),
        ("cudart", None, "11.7", "machine-code", bundled),
    ]


def test_two_major_versions_side_by_side_keep_their_own_records() -> None:
    old, new = f"{SITE}/{LIB}/libcudart.so.12", f"{SITE}/nvidia/cu13/lib/libcudart.so.13"
    found = joined(
        seen("cudart", "machine-code", "12.4", old),
        seen("cudart", "machine-code", "13.0", new),
        record("12.4.127", "12.4"),
        record("13.0.96", "13.0"),
    )
    assert {(row[1], row[2], row[4]) for row in found} == {("12.4.127", "12.4", old), ("13.0.96", "13.0", new)}


def test_a_record_speaks_for_its_own_site_packages_only() -> None:
    path = f"/opt/venv/lib/python3.11/site-packages/{LIB}/libcudart.so.12"
    assert len(joined(seen("cudart", "machine-code", "12.4", path), record("12.4.127", "12.4"))) == 2


def test_a_folder_of_packages_needs_no_special_name() -> None:
    """What `pip install --target /app/vendor` leaves."""
    path = f"/app/vendor/{LIB}/libcudart.so.12"
    found = joined(
        seen("cudart", "machine-code", "12.4", path),
        record("12.4.127", "12.4", "/app/vendor"),
        torch("pip", "12.4", "2.4.0", site="/app/vendor"),
    )
    assert [(row[1], row[3]) for row in found] == [("12.4.127", "machine-code"), ("2.4.0", "pip")]


def test_a_static_runtime_is_none_of_the_records() -> None:
    path = f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"
    found = joined(seen("cudart", "machine-code", "12.4", path, static=True), record("12.4.127", "12.4"))
    assert len(found) == 2


def test_static_runtimes_of_two_versions_in_a_file_are_two_and_of_one_version_one() -> None:
    path = "/opt/app/program"
    twice = [seen("cudart", "machine-code", cuda, path, static=True) for cuda in ("11.8", "12.4", "12.4")]
    assert {row[2] for row in joined(*twice)} == {"11.8", "12.4"}
    assert len(joined(*twice)) == 2


@pytest.mark.parametrize(
    ("file", "pip", "expected"),
    [
        (torch("torch-version-py", "13.0", "2.14.1+cu130", "cu130"), torch("pip", "13.0", "2.14.1"), "13.0"),
        (torch("torch-version-py", "12.8", "2.6.0a0+x.nv25.01"), torch("pip", None, "2.6.0a0+x.nv25.1"), "12.8"),
        (torch("torch-version-py", None, "2.4.0", "cpu"), torch("pip", "12.1", "2.4.0"), None),
        (torch("torch-version-py", None, "2.4.0+rocm6.1", "rocm6"), torch("pip", None, "2.4.0+rocm6.1", "rocm6"), None),
        (torch("torch-version-py", None, "2.4.0+cpu", "cpu"), torch("pip", None, "2.4.0+cpu", "cpu"), None),
    ],
    ids=["a wheel of PyPI", "NVIDIA's build", "an Arm CPU build that requires CUDA elsewhere", "ROCm", "CPU"],
)
def test_torch_is_one_and_its_own_file_decides(file: Component, pip: Component, expected: str | None) -> None:
    assert joined(file, pip) == [("torch", file.version, expected, "torch-version-py", file.path)]
    (part,) = join_components([pip, file], (), trusting=False)
    assert part.variant == file.variant


def test_tensorflow_takes_its_version_from_the_record() -> None:
    info = seen("tensorflow", "tensorflow-build-info", "12.5", f"{SITE}/tensorflow/python/platform/build_info.py")
    wheel = seen("tensorflow", "pip", None, f"{SITE}/tensorflow-2.18.0.dist-info/METADATA", "2.18.0")
    assert joined(info, wheel) == [("tensorflow", "2.18.0", "12.5", "tensorflow-build-info", info.path)]


def test_a_framework_in_two_environments_is_two() -> None:
    other = "/opt/venv/lib/python3.11/site-packages"
    found = joined(torch("torch-version-py", "12.4", "2.4.0"), torch("torch-version-py", "11.8", "2.1.0", site=other))
    assert [row[2] for row in found] == ["11.8", "12.4"]


def test_a_conda_record_joins_the_files_of_its_environment() -> None:
    site = f"{CONDA}/lib/python3.11/site-packages"
    runtime = f"{CONDA}/lib/libcudart.so.12.4.127"
    other = f"{CONDA}/envs/old/lib/libcudart.so.11.8.89"
    found = joined(
        torch("torch-version-py", "12.4", "2.4.0", site=site),
        seen("torch", "conda", "12.4", f"{CONDA}/conda-meta/pytorch-2.4.0-py3.11_cuda12.4.json", "2.4.0"),
        seen("cudart", "file-name", "12.4", runtime, "12.4.127"),
        seen("cudart", "conda", "12.4", f"{CONDA}/conda-meta/cuda-cudart-12.4.127-0.json", "12.4.127"),
        seen("cudart", "file-name", "11.8", other, "11.8.89"),
        seen("cudart", "conda", "11.8", f"{CONDA}/envs/old/conda-meta/cudatoolkit-11.8.0-0.json", "11.8.0"),
    )
    assert [(row[0], row[2], row[3], row[4]) for row in found] == [
        ("cudart", "11.8", "file-name", other),
        ("cudart", "12.4", "file-name", runtime),
        ("torch", "12.4", "torch-version-py", f"{site}/torch/version.py"),
    ]


def test_packages_of_two_versions_are_both_installed() -> None:
    found = joined(
        seen("cudart", "dpkg", "11.8", version="11.8.89"),
        seen("cudart", "dpkg", "12.4", version="12.4.127"),
        seen("cudart", "dpkg", "12.4", version="12.4.127"),
        seen("cudnn", "dpkg", "11", version="8.9.7.29"),
        seen("cudnn", "dpkg", "12", version="9.1.0.70"),
    )
    assert sorted(row[:3] for row in found) == [
        ("cudart", "11.8.89", "11.8"),
        ("cudart", "12.4.127", "12.4"),
        ("cudnn", "8.9.7.29", "11"),
        ("cudnn", "9.1.0.70", "12"),
    ]


def test_a_package_and_a_file_of_the_toolkit_are_told_apart() -> None:
    path = "/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127"
    found = joined(
        seen("cudart", "file-name", "12.4", path, "12.4.127"), seen("cudart", "dpkg", "12.4", None, "12.4.127")
    )
    assert [row[3] for row in found] == ["file-name", "dpkg"]


def test_the_strongest_evidence_comes_first() -> None:
    order = ["machine-code", "file-name", "pip", "conda", "dpkg", "rpm", "apk", "version-json", "version-txt"]
    found = [seen("cudart", name, f"12.{number}", f"/{number}") for number, name in enumerate(order)]
    parts = join_components(found[::-1], (), trusting=False)
    assert [part.found_by for part in parts] == order


def test_announcements_count_only_where_the_reading_was_partial_and_nothing_else_was_seen() -> None:
    env = seen("cudart", "env", "12.4", version="12.4.127")
    label = seen("cudart", "label", "12.3")
    history = [seen("torch", "history", "11.8", version="2.1.0"), seen("torch", "history", "12.1", version="2.4.0")]
    assert join_components([], [env, *history], trusting=False) == ()
    assert join_components([], [label, env, *history], trusting=True) == (env, history[1])
    assert join_components([], [env, label], trusting=True) == (env,)
    file = seen("cudart", "file-name", "11.8", "/x/libcudart.so.11.8.89")
    assert join_components([file], [env], trusting=True) == (file,)


def test_a_library_is_one_record_whatever_the_order() -> None:
    plain = SharedLibrary("/x/libcuda.so.550.54.15", version="550.54.15", size=9)
    read = SharedLibrary(
        "/x/libcuda.so.550.54.15", soname="libcuda.so.1", machine="x86_64", needed=("libc.so.6",), compat_note="{}"
    )
    other = SharedLibrary("/a/libcudart.so.12", size=1)
    expected = replace(read, version="550.54.15", size=9)
    assert join_libraries([plain, other, read]) == (other, expected)
    assert join_libraries([read, plain, other]) == (other, expected)
    assert join_libraries([plain, plain]) == (plain,)
    assert join_libraries([]) == ()
