"""The catalogue of findings: what each one means, how to confirm it on the host, and what to do.

Every finding that the code can raise has an entry here; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cudacompat.model.prediction import StageName


@dataclass(frozen=True, slots=True)
class Rule:
    """One finding's explanation. ``codes`` are the CUDA errors it ends in, empty where it ends in none."""

    name: str
    stage: StageName | None
    title: str
    cause: str
    confirm: str
    fix: str
    codes: tuple[int, ...] = ()


_ALL = (
    Rule(
        "platform-mismatch",
        "platform",
        "The image is for another operating system or CPU architecture.",
        "The index has no entry for the host, or --platform picked another one.",
        "docker image inspect --format '{{.Os}}/{{.Architecture}}' IMAGE, and uname -m on the host.",
        "Pull or build the variant for the host's platform.",
    ),
    Rule(
        "machine-mismatch",
        "platform",
        "The config names one architecture, the binaries are of another.",
        "A build stage copied files from an image of another architecture, or the config was written by hand.",
        "file -L on a few programs of the image.",
        "Rebuild with the right base image; such programs end in 'exec format error'.",
    ),
    Rule(
        "cpu-build",
        "platform",
        "A framework in the image is a CPU build.",
        "The package index or extra for CUDA was not chosen; on arm64 the default PyPI wheel was long CPU-only.",
        "python -c 'import torch; print(torch.version.cuda)' prints None.",
        "Install the CUDA build of the framework.",
    ),
    Rule(
        "no-gpu-on-host",
        "request",
        "The host has no NVIDIA GPU.",
        "Docker finds no device driver that could serve the request.",
        "nvidia-smi -L lists no GPU.",
        "Use a host with a GPU and its driver.",
    ),
    Rule(
        "no-gpu-requested",
        "request",
        "Nobody asks for a GPU.",
        "Without --gpus, a CDI device or a GPU runtime neither devices nor libcuda reach the container.",
        "nvidia-smi inside the container: command not found; programs report 35 or 100.",
        "docker run --gpus all, or --device nvidia.com/gpu=all.",
        (35, 100),
    ),
    Rule(
        "visible-devices-unset",
        "request",
        "enroot hands in GPUs only where NVIDIA_VISIBLE_DEVICES is set.",
        "Images that do not come from NVIDIA's bases lack the variable; 'void' or an empty value counts as unset.",
        "enroot start IMAGE env | grep NVIDIA_VISIBLE_DEVICES",
        "Export NVIDIA_VISIBLE_DEVICES=all in the job, or set it in the image.",
        (35,),
    ),
    Rule(
        "no-device-visible",
        "request",
        "The container gets the driver's files, but no GPU.",
        "NVIDIA_VISIBLE_DEVICES is 'none', or names no device.",
        "nvidia-smi in the container: No devices were found.",
        "NVIDIA_VISIBLE_DEVICES=all, or the indexes or UUIDs of the wanted GPUs.",
        (100,),
    ),
    Rule(
        "capabilities-without-compute",
        "request",
        "The driver capabilities leave out compute, so no libcuda is injected.",
        "NVIDIA_DRIVER_CAPABILITIES names only others; enroot defaults to utility alone.",
        "nvidia-smi works in the container, but ldconfig -p | grep libcuda.so shows nothing.",
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility (add video or graphics where needed).",
        (35,),
    ),
    Rule(
        "request-invalid",
        "start",
        "The container runtime refuses the image's environment.",
        "An unknown driver capability, a CUDA_VERSION that is no version in an image without "
        "NVIDIA_REQUIRE_CUDA, or MIG variables in an unprivileged container.",
        "docker run prints the same text.",
        "Correct the variable, or override it with -e.",
    ),
    Rule(
        "requirement-refused",
        "start",
        "NVIDIA_REQUIRE_* of the image is not met, and the container does not start.",
        "The legacy hook compares the host driver's CUDA version, its branch and the board's brand with a "
        "formula in the image. It is a policy: compat libraries and minor version compatibility play no role.",
        "docker run prints 'nvidia-container-cli: requirement error: unsatisfied condition'; the text always "
        "names the formula's first item, whatever failed.",
        "A driver or base image that the formula allows; or NVIDIA_DISABLE_REQUIRE=1, after which CUDA decides.",
    ),
    Rule(
        "requirement-disabled",
        "start",
        "The requirement check is switched off.",
        "NVIDIA_DISABLE_REQUIRE is true (for enroot: any non-empty text).",
        "docker image inspect --format '{{.Config.Env}}' IMAGE",
        "Nothing to do; a driver that is too old now fails later, inside CUDA.",
    ),
    Rule(
        "requirement-not-evaluated",
        "start",
        "This way of injecting GPUs does not look at NVIDIA_REQUIRE_*, the legacy hook would refuse.",
        "CDI, GKE's device plugin and Apptainer's --nv never evaluate the formula.",
        "Run the image on a host that injects through the legacy hook.",
        "Treat hosts by their injection mode; the same driver can refuse on one and run on the other.",
    ),
    Rule(
        "driver-libraries-in-image",
        "init",
        "Driver libraries (libcuda, libnvidia-*) are part of the image.",
        "A driver package was installed in the image, or it was built with the nvidia runtime as default.",
        "find / -name 'libcuda.so*' -o -name 'libnvidia-ml.so*' in the image.",
        "Remove the packages and files; the host's libraries are injected at start.",
        (803,),
    ),
    Rule(
        "gke-library-path",
        "driver-library",
        "On GKE the driver lies under /usr/local/nvidia, which the image's library path does not name.",
        "NVIDIA's base images from 12.8.1 on no longer set LD_LIBRARY_PATH, and GKE does not run ldconfig.",
        "ls /usr/local/nvidia/lib64 works in the pod, programs report 35 or miss libcuda.so.1.",
        "LD_LIBRARY_PATH=/usr/local/nvidia/lib64 in image or pod.",
        (35,),
    ),
    Rule(
        "libcuda-missing",
        "driver-library",
        "No libcuda.so.1 can be found in the container.",
        "Nothing was injected and the image has none.",
        "ldconfig -p | grep libcuda.so.1",
        "Hand in a GPU with the compute capability.",
        (35,),
    ),
    Rule(
        "stub-libcuda",
        "driver-library",
        "The toolkit's stub libcuda is loaded in the driver's place.",
        "The stubs folder stands in LD_LIBRARY_PATH or ld.so.conf.d and holds a libcuda.so.1.",
        "LD_DEBUG=libs PROGRAM 2>&1 | grep libcuda",
        "Remove the folder from the path; it is for linking only.",
        (34,),
    ),
    Rule(
        "stubs-on-path",
        "driver-library",
        "LD_LIBRARY_PATH names a stubs folder.",
        "It was set for a build and left in the image.",
        "docker image inspect shows the variable.",
        "Remove it: a program that opens libcuda.so gets the stub.",
        (34,),
    ),
    Rule(
        "compat-unused",
        "driver-library",
        "A newer compat libcuda lies in the image, but nothing puts it in front.",
        "The folder is not /usr/local/cuda/compat, the toolkit release does not use it, or its rule says no.",
        "LD_DEBUG=libs PROGRAM 2>&1 | grep libcuda",
        "Nothing, or put the folder first in LD_LIBRARY_PATH where forward compatibility is wanted.",
    ),
    Rule(
        "compat-by-entrypoint",
        "driver-library",
        "The image's own entrypoint puts its compat libcuda in front.",
        "NVIDIA's framework containers (nvcr.io/nvidia) keep one in compat/lib.real and use it where the kernel "
        "driver is of an older branch and the GPU takes it.",
        "The container prints 'CUDA Forward Compatibility mode ENABLED'.",
        "Start it with its own entrypoint: Kubernetes' command and docker's --entrypoint replace it, args do not.",
    ),
    Rule(
        "compat-older-than-driver",
        "init",
        "The image's compat libcuda is older than the kernel driver and is found first.",
        "A compat folder in LD_LIBRARY_PATH or ld.so.conf.d was right for older drivers only.",
        "LD_DEBUG=libs PROGRAM 2>&1 | grep libcuda; nvidia-smi on the host shows a newer driver.",
        "Take the folder out of the path, or remove cuda-compat from the image.",
        (803,),
    ),
    Rule(
        "own-libcuda-too-old",
        "init",
        "A libcuda that lies in the image is found first and is too old for the runtime.",
        "An old compat or driver library stands before the host's: the runtime sees its API version, not the "
        "host driver's, so a new driver does not help.",
        "LD_DEBUG=libs PROGRAM 2>&1 | grep libcuda; nvidia-smi on the host shows a newer CUDA version.",
        "Take the folder out of LD_LIBRARY_PATH or ld.so.conf.d, or remove the library from the image.",
        (35, 803),
    ),
    Rule(
        "compat-not-eligible",
        "init",
        "The compat libcuda is newer than the driver, but the board may not use forward compatibility.",
        "Forward compatibility is for data center boards, some RTX workstation boards and Jetson.",
        "nvidia-smi -L shows a GeForce, TITAN or other unsupported board.",
        "Keep the compat folder out of the loader's way; minor version compatibility often suffices.",
        (804,),
    ),
    Rule(
        "compat-branch-unsupported",
        "init",
        "The compat libcuda does not accept the host's driver branch.",
        "Each cuda-compat package works on certain driver branches only; the library's ELF note lists them.",
        "nvidia-smi shows a branch that NVIDIA's forward compatibility table does not list for the package.",
        "A listed driver branch, or a driver that offers the CUDA version itself.",
        (803,),
    ),
    Rule(
        "compat-drops-architecture",
        "init",
        "The compat libcuda's own branch no longer supports the GPU.",
        "Branches from 590 on dropped Maxwell, Pascal and Volta; a compat library brings that with it.",
        "The program initialises and fails when it creates a context.",
        "An older compat package.",
    ),
    Rule(
        "gpu-not-supported-by-driver",
        "init",
        "The driver branch does not support the GPU's architecture.",
        "The board is newer than the driver, or the branch dropped it.",
        "nvidia-smi -L does not list the board.",
        "A driver branch between the architecture's first and last one.",
        (100,),
    ),
    Rule(
        "driver-too-old",
        "init",
        "A CUDA runtime in the image needs a newer driver API than the loaded libcuda offers.",
        "The runtime's major version is newer than the driver's, or the driver is below the floor of minor "
        "version compatibility.",
        "nvidia-smi on the host shows the driver's CUDA version.",
        "A newer driver, an image for an older CUDA, or on data center boards a cuda-compat package.",
        (35,),
    ),
    Rule(
        "minor-version-compatibility",
        "init",
        "The runtime is newer than the driver's CUDA version, within one major version.",
        "From CUDA 11 on NVIDIA guarantees this from a floor driver on, with limits.",
        "nvidia-smi shows an older CUDA version than the image's.",
        "Nothing where machine code for the GPU is there; PTX of that build does not compile (222), and "
        "features new since then fail (36).",
        (222, 36),
    ),
    Rule(
        "base-runtime-too-new",
        "init",
        "The base toolkit's runtime is too new for the driver, but the frameworks bring an older one.",
        "Wheels load their own libcudart through DT_RPATH; the base image's copy stays unused.",
        "LD_DEBUG=libs python -c 'import torch' shows which libcudart is loaded.",
        "Nothing for the frameworks; programs linked against the base toolkit report 35.",
        (35,),
    ),
    Rule(
        "driver-outside-table",
        "init",
        "The driver's branch is no row of the bundled table.",
        "It is newer than the table's edition, or a branch that was never a data center release.",
        "nvidia-smi prints the CUDA version.",
        "Give --driver-cuda, or import a newer edition (cudacompat data import).",
    ),
    Rule(
        "no-kernel-image",
        "kernel",
        "A component has neither machine code nor usable PTX for the GPU.",
        "The build's list of targets leaves the GPU out: too new for it, or dropped from it.",
        "cuobjdump --list-elf --list-ptx LIBRARY; torch.cuda.get_arch_list().",
        "Another build (for old GPUs an older CUDA variant, for new GPUs a newer one).",
        (209,),
    ),
    Rule(
        "unsupported-ptx",
        "kernel",
        "Only PTX fits the GPU, and it is newer than the driver can compile.",
        "PTX carries the ISA version of the toolkit that wrote it; minor version compatibility does not cover it.",
        "cuobjdump --dump-ptx LIBRARY | grep .version; the driver's CUDA version by nvidia-smi.",
        "A newer driver, machine code for this GPU, or a compat package on data center boards.",
        (222,),
    ),
    Rule(
        "jit-at-first-load",
        "kernel",
        "Kernels are compiled from PTX when they are first loaded.",
        "The build has no machine code for this GPU, but PTX that the driver can compile.",
        "The first start takes minutes; ~/.nv/ComputeCache grows.",
        "A build with machine code for this GPU, or a kept compile cache.",
    ),
    Rule(
        "component-without-kernels",
        "kernel",
        "A lesser component has no usable code for the GPU.",
        "Libraries in one image are built for different lists of targets.",
        "cuobjdump --list-elf --list-ptx LIBRARY",
        "A build of that component for this GPU, if the program calls it.",
        (209, 222),
    ),
    Rule(
        "jit-compiler-too-new",
        "kernel",
        "A compiler in the image writes PTX that this driver cannot compile.",
        "NVRTC and numba generate PTX of their own CUDA version at run time.",
        "Error 222 from the first kernel that is compiled at run time, while precompiled ones work.",
        "A newer driver, an older compiler package, or machine code as the compiler's output.",
        (222,),
    ),
    Rule(
        "kernels-unknown",
        "kernel",
        "A component surely brings kernels, but nobody knows for which GPUs.",
        "Its files were not read, and no table lists its builds.",
        "cuobjdump --list-elf --list-ptx LIBRARY",
        "Run the full check on the image.",
    ),
    Rule(
        "kernels-by-table",
        "kernel",
        "A wheel's published list of targets stands in for its binaries.",
        "The binaries were not read (--quick) or are not in the image.",
        "torch.cuda.get_arch_list() in the container.",
        "Run the full check for an answer from the binaries.",
    ),
    Rule(
        "kernels-differ-from-table",
        "kernel",
        "A framework's binary has other targets than its published wheel.",
        "It was built from source, or patched.",
        "torch.cuda.get_arch_list() in the container.",
        "Nothing: the binary decides.",
    ),
    Rule(
        "missing-library",
        "libraries",
        "A library that a framework links against is nowhere in the image.",
        "Its wheel or package was not installed, or a later layer removed it.",
        "ldd LIBRARY in the container.",
        "Install the package that brings it.",
    ),
    Rule(
        "versions-disagree",
        "init",
        "Parts of the image name different CUDA versions.",
        "A toolkit or wheel was exchanged while the environment or a package record kept the old version.",
        "cudacompat inspect IMAGE lists every part with its evidence.",
        "Rebuild on one CUDA version; until then what the program loads counts.",
    ),
    Rule(
        "config-only",
        None,
        "Only manifest and config were read.",
        "--quick was given.",
        "The report's coverage says depth config.",
        "Run without --quick.",
    ),
    Rule(
        "incomplete-coverage",
        None,
        "Parts of the image could not be read.",
        "Foreign layers, unreadable package databases, files beyond a bound.",
        "The report's coverage notes name each one.",
        "Make them readable, or take the answer with that in mind.",
    ),
    Rule(
        "host-fact-missing",
        None,
        "A host fact could not be learned.",
        "The tool that knows it is not installed, or refused.",
        "cudacompat host shows what was learned and why the rest was not.",
        "Give the fact as an option.",
    ),
    Rule(
        "host-fault",
        None,
        "Something on the host keeps containers from a GPU, whatever their image.",
        "A driver updated without a reboot, a GPU that fell off the bus, a CDI spec of another driver, MIG without "
        "an instance, WSL without its library.",
        "cudacompat host on that machine names it.",
        "Mend the host first: the prediction is for the time after it.",
    ),
    Rule(
        "data-edition-old",
        None,
        "The bundled tables are older than 270 days.",
        "Drivers and toolkits newer than the edition are judged by bounds.",
        "cudacompat data show names the edition.",
        "Update cudacompat, or import a newer edition.",
    ),
)

RULES: Mapping[str, Rule] = MappingProxyType({rule.name: rule for rule in _ALL})
