"""Small changes to image, options or host, as facts that can be predicted again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from cudacompat import tables
from cudacompat.model import Change, CompatDirectory, Component, HostFacts, ImageFacts, SharedLibrary, Verdict
from cudacompat.predict.environment import last_wins
from cudacompat.predict.needs import FRAMEWORKS, cuda_key, published_release, runtime_needs
from cudacompat.stack.loader import GKE_DIRECTORY, split_ld_library_path, version_key

Candidate = tuple[Change, ImageFacts, HostFacts]
_COMPAT_PATH = "/usr/local/cuda/compat"
# Where injection puts the host's libraries: by the distribution of image (hook) or host (CDI).
_HOST_LIBRARIES = {
    "amd64": ("/usr/lib/x86_64-linux-gnu", "/usr/lib64"),
    "arm64": ("/usr/lib/aarch64-linux-gnu", "/usr/lib64"),
}


def option_changes(image: ImageFacts, host: HostFacts, verdict: Verdict) -> Iterator[Candidate]:
    """Changes to how the container is started: nothing is rebuilt."""
    if host.injection == "none":
        asked = replace(host, injection=None)
        yield Change("option", "start it with a GPU request: docker run --gpus all"), image, asked
    for text, name, value in _environments(image, host):
        changed = with_env(image, name, value)
        yield Change("option", text), changed, host
    if verdict.stage == "start" and host.injection == "legacy" and host.os == "linux":
        text = "inject the GPU through CDI (docker run --device nvidia.com/gpu=all), which checks no requirement"
        yield Change("option", text), image, replace(host, injection="cdi")


def _environments(image: ImageFacts, host: HostFacts) -> Iterator[tuple[str, str, str | None]]:
    env = last_wins(image.config.env)
    if any(name.startswith("NVIDIA_REQUIRE_") for name in env) and host.injection in (
        None,
        "legacy",
        "enroot",
        "csv",
    ):
        text = "skip the start check with -e NVIDIA_DISABLE_REQUIRE=1: CUDA itself then decides"
        yield text, "NVIDIA_DISABLE_REQUIRE", "1"
    if host.injection in ("legacy", "enroot"):
        text = "hand in the compute capability: -e NVIDIA_DRIVER_CAPABILITIES=compute,utility"
        yield text, "NVIDIA_DRIVER_CAPABILITIES", "compute,utility"
    if host.injection == "enroot":
        yield "request the GPUs: export NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES", "all"
    yield from _library_paths(env.get("LD_LIBRARY_PATH"), host)


def _library_paths(value: str | None, host: HostFacts) -> Iterator[tuple[str, str, str | None]]:
    directories = split_ld_library_path(value)
    for word in ("compat", "stubs"):
        kept = [directory for directory in directories if f"/{word}" not in directory]
        if len(kept) < len(directories):
            joined = ":".join(kept)
            text = f'take the {word} folder out of the library path: -e LD_LIBRARY_PATH="{joined}"'
            yield text, "LD_LIBRARY_PATH", joined
    if host.injection == "gke":
        joined = ":".join([GKE_DIRECTORY, *directories])
        yield f"set LD_LIBRARY_PATH={joined}", "LD_LIBRARY_PATH", joined
    elif host.injection in ("legacy", "cdi", "enroot") and not any(
        f"/{word}" in directory for word in ("compat", "stubs") for directory in directories
    ):
        joined = ":".join([*_HOST_LIBRARIES[host.machine or "amd64"], *directories])
        yield f"let the host's libcuda come first: -e LD_LIBRARY_PATH={joined}", "LD_LIBRARY_PATH", joined


def with_env(image: ImageFacts, name: str, value: str | None) -> ImageFacts:
    """The image with one variable overridden, as `docker run -e` does."""
    env = tuple(entry for entry in image.config.env if not entry.startswith(f"{name}="))
    if value is not None:
        env += (f"{name}={value}",)
    return replace(image, config=replace(image.config, env=env))


def image_changes(image: ImageFacts, host: HostFacts, verdict: Verdict) -> Iterator[Candidate]:
    """Changes that need a rebuild: packages out or in, an older base image."""
    if image.compat:
        yield Change("package", "remove the cuda-compat package from the image"), without_compat(image), host
    baked = [part for part in image.libraries if _is_driver_library(part)]
    if baked:
        cleaned = replace(image, libraries=tuple(part for part in image.libraries if part not in baked))
        yield Change("package", "remove the driver libraries from the image"), cleaned, host
    if verdict.stage in ("init", "kernel") and verdict.error and verdict.error.code in (35, 222):
        yield from _compat_packages(image, host)
    yield from _older_base(image, host)


def _is_driver_library(library: SharedLibrary) -> bool:
    parts = library.path.split("/")
    outside = not any(part.startswith("compat") or part == "stubs" for part in parts)
    return parts[-1].startswith("libcuda.so") and outside


def without_compat(image: ImageFacts) -> ImageFacts:
    """The image without any compat directory."""
    directories = {directory.directory for directory in image.compat}

    def kept(path: str) -> bool:
        return path.rpartition("/")[0] not in directories

    return replace(
        image,
        compat=(),
        libraries=tuple(library for library in image.libraries if kept(library.path)),
        files=tuple(path for path in image.files if kept(path)),
        components=tuple(part for part in image.components if part.name != "libcuda-compat"),
    )


def with_compat(image: ImageFacts, cuda: str, libcuda: str) -> ImageFacts:
    """The image with a compat package installed and put first in the library path."""
    directory = f"/usr/local/cuda-{cuda}/compat"
    path = f"{directory}/libcuda.so.{libcuda}"
    library = SharedLibrary(path, (f"{directory}/libcuda.so.1",), "libcuda.so.1", libcuda, size=1)
    bare = without_compat(image)
    links = {**bare.links, "/usr/local/cuda": f"/usr/local/cuda-{cuda}"}
    value = ":".join([_COMPAT_PATH, *split_ld_library_path(last_wins(image.config.env).get("LD_LIBRARY_PATH"))])
    added = replace(
        bare,
        compat=(CompatDirectory(directory, libcuda, None, True),),
        libraries=(*bare.libraries, library),
        files=(*bare.files, path),
        links=MappingProxyType(links),
    )
    return with_env(added, "LD_LIBRARY_PATH", value)


def _compat_packages(image: ImageFacts, host: HostFacts) -> Iterator[Candidate]:
    needs = [need for need in runtime_needs(image) if need.decides]
    if not needs:
        return
    cuda = needs[0].cuda
    release = tables.release(cuda)
    libcuda = tables.toolkit_driver_minimum(cuda).value if release else None
    if libcuda is None:
        return
    package = f"cuda-compat-{cuda.replace('.', '-')}"
    text = f"install {package} in the image and put {_COMPAT_PATH} first in LD_LIBRARY_PATH"
    yield Change("package", text), with_compat(image, cuda, libcuda), host


def wheel_changes(image: ImageFacts, host: HostFacts) -> Iterator[Candidate]:
    """The same framework release built for another CUDA version, newest first."""
    torch = next((part for part in image.components if part.name == "torch" and part.variant != "cpu"), None)
    release = published_release(torch.version) if torch else None
    if torch is None or release is None or torch.cuda is None:
        return
    for cuda in tables.wheel_variants("torch", release, machine=_machine(image)):
        if cuda == torch.cuda:
            continue
        tag = "cu" + cuda.replace(".", "")
        text = f"use the {tag} build of torch {release} (pip --index-url .../whl/{tag})"
        yield Change("package", text), _with_torch(image, torch, release, cuda, tag), host


def newer_wheels(image: ImageFacts, host: HostFacts) -> Iterator[Candidate]:
    """Newer releases of the framework in rising order, of each the variants from the newest on."""
    torch = next((part for part in image.components if part.name == "torch" and part.variant != "cpu"), None)
    have = published_release(torch.version) if torch else None
    if torch is None or have is None:
        return
    for minor in tables.framework_releases("torch"):
        if cuda_key(minor) <= cuda_key(have):
            continue
        for cuda in tables.wheel_variants("torch", minor, machine=_machine(image)):
            tag = "cu" + cuda.replace(".", "")
            text = f"use torch {minor} or newer in its {tag} build (pip --index-url .../whl/{tag})"
            yield Change("package", text), _with_torch(image, torch, f"{minor}.0", cuda, tag), host


def _machine(image: ImageFacts) -> Literal["amd64", "arm64"]:
    return "arm64" if "/arm64" in image.config.platform else "amd64"


def _with_torch(image: ImageFacts, torch: Component, release: str, cuda: str, tag: str) -> ImageFacts:
    changed = replace(torch, version=f"{release}+{tag}", cuda=cuda, variant=tag)
    wheels = [part for part in image.components if "site-packages" in (part.path or "") and part.name == "cudart"]
    kept = tuple(part for part in image.components if part not in wheels and part.name != "torch")
    kernels = tuple(file for file in image.kernels if "site-packages" not in file.path)
    return replace(image, components=(changed, *kept), kernels=kernels)


def _older_base(image: ImageFacts, host: HostFacts) -> Iterator[Candidate]:
    """A CUDA base image of the driver's own version, where no framework brings a runtime of its own."""
    cuda = _newest_release(host)
    base = [part for part in image.components if part.name == "cudart"]
    if cuda is None or not base or any(part.name in FRAMEWORKS for part in image.components):
        return
    if all(cuda_key(part.cuda or "0") <= cuda_key(cuda) for part in base):
        return
    older = without_compat(image)
    parts = tuple(replace(part, cuda=cuda) if part in base else part for part in older.components)
    env = with_env(older, "NVIDIA_REQUIRE_CUDA", f"cuda>={cuda}")
    env = with_env(env, "CUDA_VERSION", f"{cuda}.0")
    text = f"build on a CUDA {cuda} base image (or an older one of the same major version)"
    yield Change("base-image", text), replace(env, components=parts), host


def _newest_release(host: HostFacts) -> str | None:
    """The newest published CUDA version that the driver offers and whose toolkit targets the host's GPUs.

    Some driver branches report a CUDA version that never came out.
    """
    found = [tables.architecture(gpu.compute_capability) for gpu in host.gpus or () if gpu.compute_capability]
    limits = [host.driver_cuda or "0", *(each.last_toolkit for each in found if each and each.last_toolkit)]
    limit = min(map(cuda_key, limits))
    general = {known.cuda for known in tables.releases() if not known.prerelease and cuda_key(known.cuda) <= limit}
    return max(general, key=cuda_key, default=None)


def driver_changes(image: ImageFacts, host: HostFacts) -> Iterator[Candidate]:
    """Newer driver branches in rising order, each by its first known release."""
    if host.driver is None or host.os == "jetson":
        return
    if host.os == "wsl2":
        yield from _windows_drivers(image, host)
        return
    have = version_key(host.driver)
    for branch in sorted(tables.branches(), key=lambda row: row.branch):
        release = tables.toolkit_driver_minimum(branch.cuda).value or branch.first_release
        if release is None or version_key(release)[0] != branch.branch:
            release = branch.first_release
        if release is None or version_key(release) <= have:
            continue
        text = f"install NVIDIA driver {release} or newer (branch {branch.branch}, CUDA {branch.cuda})"
        yield Change("driver", text), image, replace(host, driver=release, driver_cuda=branch.cuda)


def _windows_drivers(image: ImageFacts, host: HostFacts) -> Iterator[Candidate]:
    """The Windows driver serves WSL: each CUDA version by the driver that its toolkit came with."""
    known = {release.cuda: release.windows_driver_min for release in tables.releases() if not release.prerelease}
    for cuda, driver in sorted(known.items(), key=lambda item: cuda_key(item[0])):
        if driver is None or version_key(driver) <= version_key(host.driver):
            continue
        text = f"install Windows driver {driver} or newer (CUDA {cuda})"
        yield Change("driver", text), image, replace(host, driver=driver, driver_cuda=cuda)
