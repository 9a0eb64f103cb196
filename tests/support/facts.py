"""Short ways to say image and host facts in tests of the prediction."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from cudacompat import tables
from cudacompat.model import (
    CompatDirectory,
    Component,
    Coverage,
    Evidence,
    Gpu,
    HostFacts,
    ImageConfig,
    ImageFacts,
    Kernels,
    Ptx,
    SharedLibrary,
    Target,
)
from cudacompat.model.host import Injection

SITE = "/usr/lib/python3/site-packages"


def component(
    name: str,
    version: str | None,
    cuda: str | None,
    *,
    found_by: str = "dpkg",
    path: str | None = None,
    variant: str | None = None,
    linkage: Literal["dynamic", "static"] | None = None,
) -> Component:
    """A component whose evidence is its own name and version."""
    evidence = Evidence("package", path or name, f"{name} {version}")
    return Component(name, version, cuda, found_by, evidence, path, None, linkage, variant)


def cudart(cuda: str, *, path: str | None = None) -> Component:
    """The base toolkit's runtime of a CUDA version."""
    where = path or f"/usr/local/cuda-{cuda}/lib64/libcudart.so.{cuda}.99"
    return component("cudart", f"{cuda}.99", cuda, found_by="file-name", path=where, linkage="dynamic")


def torch(version: str, cuda: str) -> Component:
    """A torch wheel built for a CUDA version."""
    tag = "cu" + cuda.replace(".", "")
    where = f"{SITE}/torch/version.py"
    return component("torch", f"{version}+{tag}", cuda, found_by="torch-version-py", path=where, variant=tag)


def kernels(path: str, sass: str = "", ptx: str = "", *, component: str | None = None) -> Kernels:
    """Device code from "80 86 90a" and "90:8.4 100:8.7" (arch:isa)."""
    found = tuple(Ptx(*item.split(":")) for item in ptx.split())
    return Kernels(path, tuple(sass.split()), found, component)


def compat(
    libcuda: str, *, cuda: str = "13.0", note: str | None = None, folder: str = "compat"
) -> tuple[CompatDirectory, SharedLibrary]:
    """A compat package in its usual place, /usr/local/cuda-X.Y/compat; Orin's is in compat_orin."""
    directory = f"/usr/local/cuda-{cuda}/{folder}"
    library = SharedLibrary(
        f"{directory}/libcuda.so.{libcuda}",
        (f"{directory}/libcuda.so.1",),
        "libcuda.so.1",
        libcuda,
        size=4096,
        compat_note=note,
    )
    return CompatDirectory(directory, libcuda, note, folder == "compat"), library


def image(
    *components: Component,
    env: Mapping[str, str] | None = None,
    compat_package: tuple[CompatDirectory, SharedLibrary] | None = None,
    libraries: Sequence[SharedLibrary] = (),
    kernels: Sequence[Kernels] = (),
    platform: str = "linux/amd64",
    ld_so_conf: Sequence[str] = (),
    depth: Literal["config", "full"] = "full",
    complete: bool = True,
) -> ImageFacts:
    """An image with these parts; a compat package also brings /usr/local/cuda."""
    variables = tuple(f"{name}={value}" for name, value in (env or {}).items())
    files = [library.path for library in libraries]
    links: dict[str, str] = {}
    found = list(libraries)
    if compat_package is not None:
        directory, library = compat_package
        found.append(library)
        files.append(library.path)
        links["/usr/local/cuda"] = posixpath.dirname(directory.directory)
        links[library.names[0]] = posixpath.basename(library.path)
    return ImageFacts(
        target=Target("image", "test:latest", "test", None, platform),
        config=ImageConfig(platform, variables),
        coverage=Coverage(depth, complete, 1, 1, () if complete else ("a foreign layer was left out",)),
        available_platforms=(platform,),
        components=components,
        libraries=tuple(found),
        compat=(compat_package[0],) if compat_package else (),
        kernels=tuple(kernels),
        files=("/etc/ld.so.cache", *files),
        links=MappingProxyType(links),
        ld_so_conf=tuple(ld_so_conf),
    )


def gpu(name: str) -> Gpu:
    """A board of the bundled table."""
    model = tables.find_gpu(name)
    return Gpu(model.name, model.compute_capability, model.brands, None, model.forward_compat, model.architecture)


def host(
    driver: str | None,
    *boards: str,
    injection: Injection | None = "legacy",
    toolkit: str | None = None,
    docker: str | None = None,
    os: Literal["linux", "wsl2", "jetson"] = "linux",
    driver_cuda: str | None = None,
    machine: str | None = None,
) -> HostFacts:
    """A host with these boards; none named means that nobody said which."""
    gpus = tuple(gpu(name) for name in boards) if boards else None
    return HostFacts(driver, driver_cuda, os, machine, gpus, injection, toolkit, docker)
