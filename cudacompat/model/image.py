"""What an image says about itself: the facts that a prediction may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from cudacompat.model.evidence import Coverage, Evidence

NO_LINKS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Target:
    """What was checked: an image (or a workload) as the user named it and as it was found."""

    kind: Literal["image", "workload"]
    reference: str
    source: str
    digest: str | None = None
    platform: str | None = None


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """The part of an OCI image config that matters here.

    ``env`` keeps the config's order and duplicates ("NAME=value"); ``history`` is every created_by,
    oldest first. ``platform`` is os/architecture[/variant], for example "linux/arm64/v8".
    """

    platform: str
    env: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LINKS)
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    diff_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Component:
    """A CUDA part of the image: a runtime, a library, a framework, a compat libcuda.

    ``name`` is short and lower-case: "cudart", "cudnn", "nccl", "cublas", "torch", "tensorflow", "jax",
    "onnxruntime-gpu", "cupy", "libcuda-compat", "driver" (driver libraries baked into the image) ...
    ``version`` is the part's own version; ``cuda`` the CUDA version it was built with or is ("12.4"),
    None when unknown. ``linkage`` tells a shared cudart from one linked into another binary.
    ``found_by`` names the detector: "dpkg", "rpm", "apk", "pip", "conda", "file-name", "machine-code",
    "version-json", "torch-version-py", "env", "label", "history".
    ``variant`` is a build tag such as "cu128" or "cpu".
    """

    name: str
    version: str | None
    cuda: str | None
    found_by: str
    evidence: Evidence
    path: str | None = None
    layer: str | None = None
    linkage: Literal["dynamic", "static"] | None = None
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class SharedLibrary:
    """A shared library that takes part in the choice of libcuda or cudart.

    ``path`` is where the regular file lies (no symlink in it). ``names`` are the other paths under which
    symlinks or hard links reach it inside the image, for example ".../compat/libcuda.so.1".
    ``machine`` is "x86_64", "aarch64", another ELF machine's name, or None when it is no ELF file.
    ``compat_note`` is the JSON text of NVIDIA's forward compatibility ELF note, when there is one.
    ``version`` is the version in the file name ("550.54.15" of libcuda.so.550.54.15), or None.
    """

    path: str
    names: tuple[str, ...] = ()
    soname: str | None = None
    version: str | None = None
    machine: str | None = None
    size: int = 0
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    compat_note: str | None = None
    layer: str | None = None


@dataclass(frozen=True, slots=True)
class CompatDirectory:
    """A directory with a forward compatibility libcuda.

    ``directory`` is the real directory; ``libcuda`` the driver version in the file name; ``note`` the ELF
    note's JSON text. ``standard`` tells whether /usr/local/cuda/compat leads to it, the only place that
    NVIDIA's stack looks at by itself.
    """

    directory: str
    libcuda: str | None
    note: str | None
    standard: bool
    layer: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Ptx:
    """PTX in a fat binary: target ("90", "100a") and PTX ISA version ("8.4")."""

    arch: str
    isa: str


@dataclass(frozen=True, slots=True)
class Kernels:
    """Device code of one file, or of one wheel by the tables.

    ``sass`` are real targets ("80", "90a", "100f"); ``ptx`` what a driver can compile. ``component`` names
    the component the file belongs to ("torch", "cudnn", ...) or None. ``origin`` is "binary" when read
    from the file itself and "table" when a wheel's known list stands in for it. ``decides`` is False for
    files that no program's kernels depend on (profilers, tools, relocatable-only code).
    """

    path: str
    sass: tuple[str, ...]
    ptx: tuple[Ptx, ...]
    component: str | None = None
    origin: Literal["binary", "table"] = "binary"
    decides: bool = True
    layer: str | None = None


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """Everything known about one image; the only image input of a prediction.

    ``files`` and ``links`` are the paths that the container stack and the loader look at: compat
    directories, /etc/ld.so.cache, library folders (files: absolute paths of regular files; links: path to
    target as written). ``ld_so_conf`` are the directories that the image's ld.so.conf and ld.so.conf.d
    name, in ldconfig's order. ``available_platforms`` is what the index offered (one entry when there
    was no index); ``machine`` counts ELF machines seen, e.g. {"x86_64": 812}.
    """

    target: Target
    config: ImageConfig
    coverage: Coverage
    available_platforms: tuple[str, ...] = ()
    components: tuple[Component, ...] = ()
    libraries: tuple[SharedLibrary, ...] = ()
    compat: tuple[CompatDirectory, ...] = ()
    kernels: tuple[Kernels, ...] = ()
    files: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=lambda: NO_LINKS)
    ld_so_conf: tuple[str, ...] = ()
    os_release: Mapping[str, str] = field(default_factory=lambda: NO_LINKS)
    machines: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    evidence: tuple[Evidence, ...] = ()
