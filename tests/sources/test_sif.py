"""SIF files, plain squashfs files, and what their makers left in them in the place of a config."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cudacompat
from cudacompat.errors import TargetError
from cudacompat.model import HostFacts, ImageFacts
from cudacompat.predict.matrix import matrix
from cudacompat.sources import open_image, sif
from cudacompat.sources.recognition import recognise
from cudacompat.sources.singularity import enroot_settings, singularity_settings
from tests.support import sif as made
from tests.support.images import build_image
from tests.support.reading import files_of
from tests.support.sif import Part

FATBIN = Path(__file__).parent.parent / "data" / "fatbin"
LIB = "/usr/local/cuda-12.4/lib64"
DOCKER_SCRIPT = """#!/bin/sh
export PATH="/usr/local/nvidia/bin:/usr/bin"
export CUDA_VERSION="${CUDA_VERSION:-"12.4.1"}"
export NVIDIA_REQUIRE_CUDA="${NVIDIA_REQUIRE_CUDA:-"cuda>=12.4 brand=tesla,driver>=470,driver<471"}"
export NVIDIA_VISIBLE_DEVICES="${NVIDIA_VISIBLE_DEVICES:-"all"}"
"""
IMAGE = {
    "layers": [
        {
            "files": {
                f"{LIB}/libcudart.so.12.4.127": {"elf": "x86_64", "size": 700_000},
                f"{LIB}/libcudart.so.12": {"symlink": "libcudart.so.12.4.127"},
                "/usr/local/cuda": {"symlink": "cuda-12.4"},
                "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15": {"elf": "x86_64"},
                "/usr/local/cuda-12.4/compat/libcuda.so.1": {"symlink": "libcuda.so.550.54.15"},
                "/var/lib/dpkg/status": "Package: cuda-cudart-12-4\nStatus: install ok installed\nVersion: 12.4.127-1\n",
                "/etc/os-release": "ID=ubuntu\nVERSION_ID=22.04\n",
                "/usr/bin/program": {"elf": "x86_64"},
                "/proc/1/secret": "of the machine it was made on",
                "/.singularity.d/env/10-docker2singularity.sh": DOCKER_SCRIPT,
                "/.singularity.d/labels.json": '{"maintainer": "NVIDIA", "org.label-schema.build-arch": "amd64"}',
            }
        }
    ]
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_image(IMAGE, tmp_path_factory.mktemp("sif") / "root", format="rootfs")


@pytest.fixture(scope="module")
def packed(root: Path) -> bytes:
    return made.squashfs(root, root.parent / "packed").read_bytes()


def written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def refused(path: Path, data: bytes) -> str:
    with pytest.raises(TargetError) as caught:
        sif.open(written(path, data))
    return str(caught.value)


def without_config(facts: ImageFacts) -> ImageFacts:
    """The facts but for what a folder's reading cannot have: target, config, notes, and evidence from the config."""
    evidence = tuple(item for item in facts.evidence if item.kind not in ("env", "label", "history"))
    return replace(
        facts,
        target=replace(facts.target, reference="", source=""),
        config=replace(facts.config, env=(), labels={}),
        coverage=replace(facts.coverage, notes=()),
        links=dict(facts.links),
        os_release=dict(facts.os_release),
        machines=dict(facts.machines),
        evidence=evidence,
    )


def test_an_image_says_the_same_as_its_folder(root: Path, packed: bytes, tmp_path: Path) -> None:
    """But for what a folder has no place for: environment and labels."""
    folder = cudacompat.inspect(f"dir:{root}")
    image = cudacompat.inspect(
        written(tmp_path / "app.sif", made.sif([Part(b"From: x", made.DEFINITION), Part(packed)]))
    )
    assert without_config(image) == without_config(folder)
    assert {part.name for part in image.components} >= {"cudart"}
    assert [(found.directory, found.libcuda) for found in image.compat] == [
        ("/usr/local/cuda-12.4/compat", "550.54.15")
    ]
    assert image.coverage.complete


def test_environment_labels_and_platform(packed: bytes, tmp_path: Path) -> None:
    path = written(tmp_path / "app.sif", made.sif([Part(packed)]))
    image = open_image(path)
    assert (image.target.source, image.target.digest, image.target.platform) == ("sif", None, "linux/amd64")
    assert image.config.env == (
        "PATH=/usr/local/nvidia/bin:/usr/bin",
        "CUDA_VERSION=12.4.1",
        "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471",
        "NVIDIA_VISIBLE_DEVICES=all",
    )
    assert image.config.labels == {"maintainer": "NVIDIA", "org.label-schema.build-arch": "amd64"}
    assert (image.notes, image.layer_order()) == ((), ("rootfs",))
    assert not any(path.startswith("/proc/") for path in files_of(image))
    image.close()
    image.close()
    quick = cudacompat.inspect(path, quick=True)
    assert quick.coverage.depth == "config"
    assert quick.config.env == image.config.env


@pytest.mark.parametrize("target", ["{path}", "sif:{path}", "singularity:{path}", "sif://{path}"])
def test_the_spellings_of_a_target(packed: bytes, tmp_path: Path, target: str) -> None:
    path = written(tmp_path / "app.bin", made.sif([Part(packed)]))
    assert recognise(path) == "sif"
    image = open_image(target.format(path=path))
    assert image.target.reference == target.format(path=path)
    image.close()


def test_a_plain_squashfs_and_a_program_of_singularity_2(packed: bytes, tmp_path: Path) -> None:
    for data in (packed, b"#!/usr/bin/env run-singularity\n" + packed):
        path = written(tmp_path / "app.simg", data)
        assert recognise(path) == "sif"
        image = open_image(path)
        assert (image.target.source, image.config.platform) == ("sif", "linux/amd64")
        assert "/usr/bin/program" in files_of(image)
        image.close()


def test_an_image_of_enroot(tmp_path: Path) -> None:
    files = {
        "/etc/rc": "# maintainer NVIDIA CORPORATION\n# com.nvidia.volumes.needed nvidia_driver\n\n# no label\nexec sh\n",
        "/etc/environment": "PATH=/usr/bin\nNVIDIA_VISIBLE_DEVICES=all\n# a remark\nNVIDIA_REQUIRE_CUDA=cuda>=12.4\n",
    }
    root = build_image({"layers": [{"files": files}]}, tmp_path / "root", format="rootfs")
    image = open_image(str(made.squashfs(root, tmp_path / "app.sqsh", "-comp", "lzo", "-noD")))
    assert image.target.source == "squashfs"
    assert image.config.env == ("PATH=/usr/bin", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_REQUIRE_CUDA=cuda>=12.4")
    assert image.config.labels == {
        "maintainer": "NVIDIA CORPORATION",
        "com.nvidia.volumes.needed": "nvidia_driver",
    }
    assert image.notes == (f"No program in {tmp_path}/app.sqsh says its architecture; linux/amd64 was assumed.",)
    image.close()


def test_a_squashfs_of_nobody(tmp_path: Path) -> None:
    root = build_image({"layers": [{"files": {"/bin/sh": {"elf": "aarch64"}}}]}, tmp_path / "root", format="rootfs")
    image = open_image(str(made.squashfs(root, tmp_path / "app.squashfs")))
    assert (image.target.source, image.config.platform, image.config.env) == ("squashfs", "linux/arm64", ())
    assert image.notes == ("There is no image config in it: its environment and labels are not known.",)
    image.close()


STATED = {
    "Env": ["CUDA_VERSION=11.8.0", "ONLY=here"],
    "Entrypoint": ["/opt/nvidia/nvidia_entrypoint.sh"],
    "Cmd": ["python3"],
    "Labels": {"a": "b"},
}


def test_the_config_of_the_image_it_was_built_from(packed: bytes, tmp_path: Path) -> None:
    """It names what is started; environment and labels are those of the files in it, if there are any."""
    stated = Part(json.dumps(STATED).encode(), made.JSON, name=b"oci-config.json")
    image = open_image(written(tmp_path / "app.sif", made.sif([stated, Part(packed)])))
    assert (image.config.entrypoint, image.config.cmd) == (("/opt/nvidia/nvidia_entrypoint.sh",), ("python3",))
    assert "CUDA_VERSION=12.4.1" in image.config.env and "ONLY=here" not in image.config.env
    assert image.config.labels["maintainer"] == "NVIDIA"
    image.close()
    root = build_image({"layers": [{"files": {"/bin/sh": {"elf": "x86_64"}}}]}, tmp_path / "root", format="rootfs")
    bare = made.squashfs(root, tmp_path / "bare").read_bytes()
    image = open_image(written(tmp_path / "bare.sif", made.sif([stated, Part(bare)])))
    assert image.config.env == ("CUDA_VERSION=11.8.0", "ONLY=here")
    assert (image.config.labels, image.notes) == ({"a": "b"}, ())
    image.close()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "is not valid JSON"),
        (b"[]", "config"),
        (b'{"Env": 7}', "Env"),
        (b" " * (1 << 21), "was not read: it has 2097152 bytes."),
    ],
)
def test_a_config_of_another_kind_is_a_note(packed: bytes, tmp_path: Path, data: bytes, said: str) -> None:
    parts = [Part(data, made.JSON, name=b"oci-config.json"), Part(packed)]
    image = open_image(written(tmp_path / "app.sif", made.sif(parts)))
    assert len(image.notes) == 1 and said in image.notes[0] and "was not read" in image.notes[0]
    assert image.config.entrypoint == ()
    image.close()


def test_the_descriptor_tells_the_architecture(packed: bytes, tmp_path: Path) -> None:
    path = written(tmp_path / "app.sif", made.sif([Part(packed, architecture=made.ARM64)]))
    with pytest.raises(TargetError, match=r"app.sif is for linux/arm64, not for linux/amd64"):
        open_image(path, platform="linux/amd64")
    image = open_image(path)
    assert image.config.platform == "linux/arm64"
    image.close()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        pytest.param([], "is a SIF file without a primary root file system", id="nothing in it"),
        pytest.param([Part(b"x", kind=made.DATA)], "without a primary root file system", id="data alone"),
        pytest.param(
            [Part(b"x", kind=made.SYSTEM)], "without a primary root file system", id="none is the primary one"
        ),
        pytest.param([Part(b"x", system=made.ENCRYPTED)], "is encrypted: name the image", id="encrypted"),
        pytest.param([Part(b"x", system=made.EXT3)], "is ext3; only squashfs is read", id="ext3"),
        pytest.param([Part(b"x", system=77)], "is of the unknown kind 77", id="an unknown file system"),
        pytest.param([Part(b"{}", made.OCI_BLOB)], "is an OCI-SIF, which is not read", id="an OCI-SIF"),
        pytest.param([Part(b"x" * 200)], "is no squashfs", id="no squashfs where one should be"),
    ],
)
def test_what_is_in_it_cannot_be_read(tmp_path: Path, parts: list[Part], said: str) -> None:
    message = refused(tmp_path / "app.sif", made.sif(parts))
    assert said in message
    assert "app.sif" in message


def test_another_version(packed: bytes, tmp_path: Path) -> None:
    assert "of version b'02'; only 01 is read" in refused(tmp_path / "app.sif", made.sif([Part(packed)], version=b"02"))


def test_overlays_are_named(packed: bytes, tmp_path: Path) -> None:
    parts = [Part(packed), Part(b"x" * 100, system=made.EXT3, kind=made.OVERLAY)]
    image = open_image(written(tmp_path / "app.sif", made.sif(parts)))
    assert image.notes == (f"{tmp_path}/app.sif holds 1 writable overlays, which were not read.",)
    image.close()


TOTAL_AT, TABLE_AT_AT = 88, 96
FIRST = made.TABLE_AT + 4 * made.DESCRIPTOR
OFFSET_AT, SIZE_AT = FIRST + 17, FIRST + 25


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        pytest.param(TOTAL_AT, -1, "its header counts -1 objects", id="fewer than no objects"),
        pytest.param(TOTAL_AT, 1 << 62, "its header counts", id="objects without end"),
        pytest.param(TOTAL_AT, 4000, "its table of 4000 objects is not all there", id="more objects than bytes"),
        pytest.param(TABLE_AT_AT, 0, "objects from byte 0 on", id="a table in the header"),
        pytest.param(TABLE_AT_AT, -5, "objects from byte -5 on", id="a table before the file"),
        pytest.param(TABLE_AT_AT, 1 << 62, "is not all there", id="a table behind the file"),
        pytest.param(OFFSET_AT, 1 << 62, "its root file system does not lie in it", id="a partition behind the file"),
        pytest.param(OFFSET_AT, -4096, "does not lie in it", id="a partition before the file"),
        pytest.param(SIZE_AT, 1 << 62, "does not lie in it", id="a partition without end"),
        pytest.param(SIZE_AT, -1, "does not lie in it", id="a partition of less than nothing"),
        pytest.param(SIZE_AT, 50, "is no squashfs", id="a partition of a few bytes"),
    ],
)
def test_a_hostile_header(packed: bytes, tmp_path: Path, at: int, value: int, said: str) -> None:
    data = bytearray(made.sif([Part(packed)]))
    struct.pack_into("<q", data, at, value)
    assert said in refused(tmp_path / "app.sif", bytes(data))


@pytest.mark.parametrize("length", [0, 10, 41, 42, 127, 128, 4096, 5000, 32768, 33000])
def test_a_file_that_breaks_off(packed: bytes, tmp_path: Path, length: int) -> None:
    assert "app.sif" in refused(tmp_path / "app.sif", made.sif([Part(packed)])[:length])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 7500), st.integers(0, 255)), min_size=1, max_size=20))
def test_changed_headers_give_an_image_or_a_sentence(
    packed: bytes, tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(made.sif([Part(packed)]))
    for at, value in changes:
        # Most changes are to hit the header and the table, not what lies between.
        data[at if at < made.HEADER or at >= made.TABLE_AT else at % made.HEADER] = value
    path = written(tmp_path / "app.sif", bytes(data))
    try:
        sif.open(path).close()
    except TargetError as error:
        assert path in str(error)


def exports(*lines: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = singularity_settings({"90-environment.sh": "\n".join(("#!/bin/sh", *lines)).encode()}, lambda _: None)
    return found.env, found.notes


@pytest.mark.parametrize(
    ("line", "env"),
    [
        ('export A="1"', "A=1"),
        ("export A=1", "A=1"),
        ("export A='$1'", "A=$1"),
        ("    export  A=1 ;  ", "A=1"),
        ('export A="${A:-"1 2"}"', "A=1 2"),
        ('export A="${A:-1}"', "A=1"),
        ("export A=${A:-'1'}", "A=1"),
        ('export A="say \\"hi\\" for \\$5 \\\\ x"', 'A=say "hi" for $5 \\ x'),
        ('export A=""', "A="),
        ("export A=", "A="),
        ("# export A=1", None),
        ("A=1", None),
        ("export A", None),
        ('export A="$B"', None),
        ("export A=$(rm -rf /)", None),
        ('export A="`id`"', None),
        ('export A="${B:-"1"}"', None),
        ("export A=1 B=2", None),
        ("export A=a*", None),
        ("export A=1; rm x", None),
        ("true && export A=1", None),
        ("if test x; then\nexport A=1\nfi", None),
        ("f() {\nexport A=1\n}", None),
        ("return 0\nexport A=1", None),
        ("export A=1\nexport A=$A:2", None),
        ("export A=1\nunset A", None),
        ("export A=1\nA=2", None),
        ("export A=$B\nexport A=2", "A=2"),
    ],
)
def test_only_plain_assignments_are_believed(line: str, env: str | None) -> None:
    assert exports(line)[0] == (() if env is None else (env,))


def test_scripts_come_in_order_and_defaults_do_not_win_over_what_is_set() -> None:
    scripts = {
        "90-environment.sh": b'export A="${A:-"later"}"\nexport B=later\n',
        "10-docker2singularity.sh": b'export A="first"\nexport B="first"\n',
        "99-base.sh": b'LD_LIBRARY_PATH="$LD_LIBRARY_PATH:/.singularity.d/libs"\nexport LD_LIBRARY_PATH\n',
    }
    found = singularity_settings(scripts, lambda _: None)
    assert (found.env, found.notes) == (("A=first", "B=later"), ())


def test_a_variable_that_matters_and_is_not_known_is_named() -> None:
    env, notes = exports("export LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH", "export EDITOR=$(which vi)")
    assert env == ()
    assert notes == (
        "Scripts in /.singularity.d/env work out these variables, whose values are not known: LD_LIBRARY_PATH.",
    )


@pytest.mark.parametrize("raw", [b"[1]", b"{", b"\xff", b'{"a": 1, "b": "2"}', b'{"a": {"b": "c"}}'])
def test_labels_of_any_kind(raw: bytes) -> None:
    found = singularity_settings({}, lambda _: raw)
    try:
        expected = {key: value for key, value in json.loads(raw).items() if isinstance(value, str)}
    except (ValueError, AttributeError):
        assert "The image's labels are not known." in found.notes[0]
        expected = {}
    assert found.labels == expected


@given(st.binary(max_size=300))
def test_any_script_gives_settings(script: bytes) -> None:
    for entry in (
        *singularity_settings({"x.sh": script}, lambda _: script).env,
        *enroot_settings(lambda _: script).env,
    ):
        assert "=" in entry


def test_long_lines_cost_no_more_than_their_length() -> None:
    for line in ("export A=" + " " * 500_000 + "x", "export" + " " * 500_000, '"' * 500_000, "export A=${A:-" * 40_000):
        exports(line)


@pytest.mark.parametrize("given", [None, "legacy", "cdi", "apptainer", "apptainer-nvccli"])
def test_apptainer_starts_it_unless_told_otherwise(packed: bytes, tmp_path: Path, given: str | None) -> None:
    """Docker's hook refuses this driver by NVIDIA_REQUIRE_CUDA; Apptainer asks nobody."""
    facts = cudacompat.inspect(written(tmp_path / "app.sif", made.sif([Part(packed)])))
    host = cudacompat.host_facts(driver="525.60.13", gpus=["GeForce RTX 3090"], injection=given)
    assert _status(facts, host, "start") == "ok"
    assert "injection" not in cudacompat.predict(facts, host).verdict.depends_on
    (row,) = matrix(facts, replace(host, gpus=None), ["525.60.13"], host.gpus or ())
    assert [cell.verdict.outcome for cell in row.cells] == [cudacompat.predict(facts, host).verdict.outcome]
    for_docker = replace(facts, target=replace(facts.target, source="registry"))
    assert (_status(for_docker, host, "start") == "ok") == (given not in (None, "legacy"))


def _status(facts: ImageFacts, host: HostFacts, name: str) -> str:
    return next(stage.status for stage in cudacompat.predict(facts, host).stages if stage.stage == name)
