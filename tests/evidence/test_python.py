"""Python distributions: METADATA, torch/version.py, TensorFlow's build_info.py."""

from __future__ import annotations

import pytest

from tests.support.evidence import SITE, brief, observed, parts


def metadata(name: str, version: str, *requires: str) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", "Summary: x", "License: y"]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    return "\n".join([*lines, "", "A description.", "Name: not-this", "Requires-Dist: cuda-toolkit==9.9", ""])


WHEELS = [
    ("nvidia-cuda-runtime-cu12", "12.4.127", (), ("cudart", "12.4.127", "12.4", None)),
    ("nvidia-cuda-runtime", "13.0.96", (), ("cudart", "13.0.96", "13.0", None)),
    ("nvidia_cuda_runtime_cu11", "11.8.89", (), ("cudart", "11.8.89", "11.8", None)),
    ("nvidia-cuda-nvrtc-cu12", "12.4.127", (), ("nvrtc", "12.4.127", "12.4", None)),
    ("nvidia-nvjitlink-cu12", "12.4.127", (), ("nvjitlink", "12.4.127", "12.4", None)),
    ("nvidia-cudnn-cu12", "9.1.0.70", (), ("cudnn", "9.1.0.70", "12", None)),
    ("nvidia-nccl-cu12", "2.21.5", (), ("nccl", "2.21.5", "12", None)),
    ("nvidia-cublas", "13.1.0.3", (), ("cublas", "13.1.0.3", None, None)),
    ("cuda-toolkit", "13.0.3", (), ("cuda-toolkit", "13.0.3", "13.0", None)),
    ("cupy-cuda12x", "13.3.0", (), ("cupy", "13.3.0", "12", None)),
    ("cupy-cuda11x", "13.3.0", (), ("cupy", "13.3.0", "11", None)),
    ("cupy-cuda118", "10.0.0", (), ("cupy", "10.0.0", "11.8", None)),
    ("cupy-cuda92", "8.0.0", (), ("cupy", "8.0.0", "9.2", None)),
    ("cupy", "13.3.0", (), ("cupy", "13.3.0", None, None)),
    ("onnxruntime-gpu", "1.20.1", (), ("onnxruntime-gpu", "1.20.1", None, None)),
    ("onnxruntime", "1.20.1", (), ("onnxruntime", "1.20.1", None, None)),
    ("torch", "2.4.1+cu121", (), ("torch", "2.4.1+cu121", "12.1", "cu121")),
    ("torch", "2.4.1+cu121.with.pypi.cudnn", (), ("torch", "2.4.1+cu121.with.pypi.cudnn", "12.1", "cu121")),
    ("torch", "2.4.1+cpu", (), ("torch", "2.4.1+cpu", None, "cpu")),
    ("torch", "2.4.1+rocm6.1", (), ("torch", "2.4.1+rocm6.1", None, "rocm6")),
    ("torch", "2.6.0a0+ecf3bae40a.nv25.1", (), ("torch", "2.6.0a0+ecf3bae40a.nv25.1", None, None)),
    ("torch", "2.5.1", ("filelock",), ("torch", "2.5.1", None, None)),
    (
        "torch",
        "2.4.0",
        (
            "filelock",
            'nvidia-cublas-cu12==12.1.3.1; platform_system == "Linux" and platform_machine == "x86_64"',
            'nvidia-cuda-runtime-cu12 ==12.1.105 ; platform_system == "Linux" and platform_machine == "x86_64"',
        ),
        ("torch", "2.4.0", "12.1", None),
    ),
    ("torch", "2.4.0", ("nvidia-cuda-runtime-cu12 (==12.1.105) ; platform_system",), ("torch", "2.4.0", "12.1", None)),
    (
        "torch",
        "2.14.1",
        ('cuda-toolkit[cublas,cudart,cufft]==13.0.3; platform_system == "Linux"',),
        ("torch", "2.14.1", "13.0", None),
    ),
    ("tensorflow", "2.18.0", (), ("tensorflow", "2.18.0", None, None)),
    (
        "tensorflow",
        "2.18.0",
        ('nvidia-cuda-runtime-cu12==12.5.82; extra == "and-cuda"',),
        ("tensorflow", "2.18.0", None, None),
    ),
    (
        "tensorflow",
        "2.18.0",
        ("nvidia-cuda-runtime-cu12==12.5.82; extra=='and-cuda'",),
        ("tensorflow", "2.18.0", None, None),
    ),
    ("tensorflow-cpu", "2.18.0", (), ("tensorflow", "2.18.0", None, "cpu")),
    ("tensorflow_gpu", "2.11.0", (), ("tensorflow", "2.11.0", None, None)),
    ("cupy-cuda13x", "14.0.0", ("cuda-toolkit[nvrtc]==13.*",), ("cupy", "14.0.0", "13", None)),
    ("xgboost", "3.2.0", ("nvidia-cuda-runtime-cu12>=12.1.105",), ("xgboost", "3.2.0", None, None)),
    ("xgboost", "3.2.0", ("nvidia-cuda-runtime-cu12~=12.1",), ("xgboost", "3.2.0", None, None)),
    ("numba-cuda", "0.20.0", ("cuda-toolkit==12.*",), ("numba-cuda", "0.20.0", None, None)),
    ("jax-cuda12-plugin", "0.4.35", (), ("jax-cuda", "0.4.35", "12", None)),
    ("jax_cuda12_pjrt", "0.4.35", (), ("jax-cuda", "0.4.35", "12", None)),
    ("Flash.Attn", "2.7.0", (), ("flash-attn", "2.7.0", None, None)),
]


@pytest.mark.parametrize(
    ("name", "version", "requires", "expected"), WHEELS, ids=[f"{row[0]} {row[1]} {row[2][-1:]}" for row in WHEELS]
)
def test_a_wheel(name: str, version: str, requires: tuple[str, ...], expected: tuple[str | None, ...]) -> None:
    path = f"{SITE}/{name.replace('-', '_')}-{version}.dist-info/METADATA"
    (part,) = parts(path, metadata(name, version, *requires))
    assert (part.name, part.version, part.cuda, part.variant) == expected
    assert (part.found_by, part.path, part.layer) == ("pip", path, "sha256:layer")
    assert (part.evidence.kind, part.evidence.value) == ("package", f"{name} {version}")


@pytest.mark.parametrize(
    "name",
    [
        "numpy",
        "nvidia-ml-py",
        "nvidia-ml-py3",
        "nvidia-pyindex",
        "nvidia-modelopt",
        "nvidia-riva-client",
        "cupyx",
        "torchmetrics",
        "pytorch-lightning",
        "nvidia",
    ],
)
def test_wheels_that_are_no_part_of_cuda(name: str) -> None:
    assert parts(f"{SITE}/x-1.dist-info/METADATA", metadata(name, "12.4.1")) == []


@pytest.mark.parametrize(
    "text",
    [
        metadata("torch", "2.4.0+cu124").replace("\n", "\r\n"),
        "Name: torch\nVersion: 2.4.0+cu124",
        "Version: 2.4.0+cu124\nName: torch\nName: numpy\nVersion: 1\n",
    ],
    ids=["CR LF", "no end", "the first of two counts"],
)
def test_metadata_in_every_shape(text: str) -> None:
    for name in ("torch-2.4.0.dist-info/METADATA", "torch.egg-info/PKG-INFO", "torch-2.4.0.egg-info"):
        assert brief(parts(f"{SITE}/{name}", text)) == [("torch", "2.4.0+cu124", "12.4")]


@pytest.mark.parametrize(
    "text", ["", "Name: torch\n", "Version: 2.4\n", "\n\nName: torch\nVersion: 2.4\n", "Name:\nVersion:\n"]
)
def test_metadata_without_name_or_version_is_none(text: str) -> None:
    assert observed(f"{SITE}/torch-2.4.dist-info/METADATA", text) == []


PLAIN = "__version__ = '{}'\ndebug = False\ncuda = {}\ngit_version = 'abc'\nhip = {}\n"
ANNOTATED = (
    "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']\n"
    "__version__ = '{}'\ndebug = False\ncuda: Optional[str] = {}\ngit_version = 'abc'\nhip: Optional[str] = {}\n"
    "rocm: Optional[str] = None\nxpu: Optional[str] = None\n"
)
TORCH = [
    ("2.4.0+cu124", "'12.4'", "None", "12.4", "cu124"),
    ("2.14.1+cu130", "'13.0'", "None", "13.0", "cu130"),
    ("1.8.1+cu102", "'10.2'", "None", "10.2", "cu102"),
    ("2.6.0a0+ecf3bae40a.nv25.01", "'12.8'", "None", "12.8", None),
    ("2.5.1", "'12.4'", "None", "12.4", None),
    ("2.4.0+cpu", "None", "None", None, "cpu"),
    ("2.4.0", "None", "None", None, "cpu"),
    ("2.4.0+rocm6.1", "None", "'6.1.40091-a8dbc0c19'", None, "rocm6"),
    ("2.6.0a0+git1234567", "None", "'6.3.42131-fa1d09cbd'", None, "rocm"),
]


@pytest.mark.parametrize("form", [PLAIN, ANNOTATED], ids=["plain", "annotated"])
@pytest.mark.parametrize(("version", "cuda", "hip", "found", "variant"), TORCH, ids=[row[0] for row in TORCH])
def test_torch_says_what_it_is_built_for(
    version: str, cuda: str, hip: str, found: str | None, variant: str | None, form: str
) -> None:
    path = f"{SITE}/torch/version.py"
    (part,) = parts(path, form.format(version, cuda, hip))
    assert (part.name, part.version, part.cuda, part.variant) == ("torch", version, found, variant)
    assert (part.found_by, part.path) == ("torch-version-py", path)
    assert part.evidence.kind == "file"
    assert version in part.evidence.value


def test_torch_for_intel_gpus_is_no_cpu_build() -> None:
    text = ANNOTATED.format("2.6.0a0+git1234567", "None", "None").replace(
        "xpu: Optional[str] = None", "xpu: str = '20250001'"
    )
    assert [(part.cuda, part.variant) for part in parts(f"{SITE}/torch/version.py", text)] == [(None, "xpu")]
    text = PLAIN.format("2.6.0+xpu", "None", "None")
    assert [part.variant for part in parts(f"{SITE}/torch/version.py", text)] == ["xpu"]


@pytest.mark.parametrize(
    "text", ["", "version = '2.4.0'", "__version__ = get_version()", "__version__: str\ncuda = '12.4'"]
)
def test_a_version_file_without_a_version(text: str) -> None:
    assert observed(f"{SITE}/torch/version.py", text) == []


def test_torch_with_double_quotes_and_without_blanks() -> None:
    text = '__version__="2.4.0"\ncuda:Optional[str]="12.4"\n'
    assert brief(parts(f"{SITE}/torch/version.py", text)) == [("torch", "2.4.0", "12.4")]


BUILD_INFO = """import collections
build_info = collections.OrderedDict([("cpu_compiler", "/usr/lib/llvm-18/bin/clang")])
build_info = {'cuda_version': '12.5.1', 'cudnn_version': '9', 'cuda_compute_capabilities': ['sm_60', 'compute_90'],
'is_cuda_build': True, 'is_rocm_build': False, 'is_tensorrt_build': True}
"""
TENSORFLOW = [
    (BUILD_INFO, "12.5", None),
    ('{"cuda_version": "11.2", "is_cuda_build" : True}', "11.2", None),
    ("{'cuda_version' : '64_11'}", None, "absent"),
    ("{'is_cuda_build': False, 'is_rocm_build': False}", None, "cpu"),
    ("{'is_cuda_build': True}", None, None),
    ("{'is_rocm_build': False}", None, "absent"),
]


@pytest.mark.parametrize(("text", "cuda", "variant"), TENSORFLOW, ids=[row[0][-40:] for row in TENSORFLOW])
def test_tensorflow_says_what_it_is_built_for(text: str, cuda: str | None, variant: str | None) -> None:
    for package in ("tensorflow", "tensorflow_core"):
        path = f"{SITE}/{package}/python/platform/build_info.py"
        found = [(part.name, part.version, part.cuda, part.variant, part.found_by) for part in parts(path, text)]
        expected = [("tensorflow", None, cuda, variant, "tensorflow-build-info")]
        assert found == ([] if variant == "absent" else expected)
