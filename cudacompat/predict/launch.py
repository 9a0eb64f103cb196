"""One launch with every fact filled in: what the stages look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cudacompat.model import CompatDirectory, Finding, Gpu, HostFacts, ImageFacts, Stage
from cudacompat.predict.environment import last_wins
from cudacompat.predict.kernel_sources import Code, device_code
from cudacompat.predict.needs import Need, cuda_key, runtime_needs
from cudacompat.stack import Request, compat_is_mounted, compat_root, container_request, is_reached, select_compat
from cudacompat.stack.loader import Container, Libcuda, choose_libcuda, split_ld_library_path
from cudacompat.stack.paths import resolve

# Docker appends the GPU request after the image's own env; other modes are compared with what it would do.
# enroot alone reads the image's value.
_READS_THE_IMAGE = ("enroot",)

# The compat hook of Tegra's csv mode asks NVML, which Jetson has from JetPack 6 (CUDA 12.2) on.
_NVML_ON_JETSON = (12, 2)

NO_GPU = Gpu()


@dataclass(frozen=True, slots=True)
class Judged:
    """A stage's answer and what a person should know about it."""

    stage: Stage
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """An image on a host with one GPU model; injection mode and toolkit version are decided.

    ``request`` is what the container runtime reads from the environment, ``libcuda`` what the loader takes,
    ``needs`` the runtimes that the image would load and ``code`` its components' device code.
    """

    image: ImageFacts
    host: HostFacts
    env: Mapping[str, str]
    request: Request
    libcuda: Libcuda
    needs: tuple[Need, ...]
    code: tuple[Code, ...]
    code_notes: tuple[Finding, ...] = ()
    gpu: Gpu = NO_GPU

    @property
    def injection(self) -> str:
        """The injection mode of this launch."""
        return self.host.injection or "none"


def launch(image: ImageFacts, host: HostFacts) -> Launch:
    """Fill in what follows from image and host alone; the board is put in afterwards."""
    env = last_wins(image.config.env)
    injection = host.injection or "none"
    given = list(image.config.env)
    if injection not in _READS_THE_IMAGE:
        given.append("NVIDIA_VISIBLE_DEVICES=all")
    request = container_request(given, runtime="enroot" if injection == "enroot" else "toolkit")
    code, notes = device_code(image)
    libcuda = _libcuda(image, host, env, request)
    return Launch(image, host, env, request, libcuda, runtime_needs(image), code, notes)


def hands_in_libcuda(injection: str, request: Request) -> bool:
    """Whether injection puts the host's libcuda into the container."""
    if injection in ("cdi", "gke", "apptainer", "apptainer-nvccli", "csv"):
        return True
    if injection in ("legacy", "enroot"):
        return request.is_gpu_container and not {"compute", "video"}.isdisjoint(request.capabilities)
    return False


def _libcuda(image: ImageFacts, host: HostFacts, env: Mapping[str, str], request: Request) -> Libcuda:
    injection = host.injection or "none"
    handed_in = hands_in_libcuda(injection, request)
    compat = _compat_directory(image, host) if handed_in else None
    return choose_libcuda(
        Container(
            libraries=image.libraries,
            links=image.links,
            ld_library_path=split_ld_library_path(env.get("LD_LIBRARY_PATH")),
            ld_so_conf=image.ld_so_conf,
            injection=injection,
            host_driver=(host.driver or "unknown") if handed_in else None,
            compat_directory=compat,
            mounted=compat is not None and mounts_compat(host),
        )
    )


def stack_compat(image: ImageFacts, host: HostFacts) -> CompatDirectory | None:
    """The compat directory that the container stack looks at on this host, whether it takes it or not."""
    root = compat_root(injection=host.injection or "none", toolkit=host.toolkit, orin=_is_orin(host))
    real = resolve(root, image.links)
    return next((found for found in image.compat if found.directory == real), None)


def _is_orin(host: HostFacts) -> bool:
    return host.os == "jetson" and any(gpu.compute_capability == "8.7" for gpu in host.gpus or ())


def _compat_directory(image: ImageFacts, host: HostFacts) -> str | None:
    looked_at = stack_compat(image, host)
    if looked_at is None or host.driver is None or host.toolkit is None or host.injection is None:
        return None
    reached = is_reached(links=image.links, injection=host.injection, toolkit=host.toolkit)
    if not reached and not is_framework_container(image):
        return None
    tegra = host.os == "jetson"
    if tegra and cuda_key(host.driver_cuda or "0") < _NVML_ON_JETSON:
        return None
    return select_compat(
        files=image.files,
        links=image.links,
        note=looked_at.note,
        # On Tegra the stack knows a CUDA version and no driver branch.
        host_driver="" if tegra else host.driver,
        host_cuda=(host.driver_cuda or "") if tegra else "",
        toolkit=host.toolkit,
        injection=host.injection,
        compat_root=compat_root(injection=host.injection, toolkit=host.toolkit, orin=_is_orin(host)),
    )


def is_framework_container(image: ImageFacts) -> bool:
    """NVIDIA's own framework containers (nvcr.io): they see to their compat library by themselves, too."""
    return last_wins(image.config.env).get("NVIDIA_REQUIRE_CUDA") == "cuda>=9.0"


def mounts_compat(host: HostFacts) -> bool:
    """Whether compat files are bind-mounted among the driver's own, instead of a directory put in front."""
    return compat_is_mounted(injection=host.injection or "none", toolkit=host.toolkit)
