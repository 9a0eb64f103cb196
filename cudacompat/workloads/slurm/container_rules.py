"""Rules on containers under Slurm: S30-S37, S40, and X03."""

from __future__ import annotations

from collections.abc import Iterator

from cudacompat.model import ImageFacts
from cudacompat.workloads.image_rules import add_floating_rule
from cudacompat.workloads.images import guess_from_file, is_file
from cudacompat.workloads.interface import Hit, ImageUse, Inventory
from cudacompat.workloads.slurm.book import BOOK, all_sets
from cudacompat.workloads.slurm.gpus import asks_for_gpus
from cudacompat.workloads.slurm.reader import Container, SlurmScript, containers, workload_of

_GPU_SWITCHES = frozenset({"nv", "nvccli", "rocm"})
_HOOK = "enroot conf/hooks/98-nvidia.sh"


def _uses(script: SlurmScript) -> tuple[ImageUse, ...]:
    cut = {cut.line for cut in script.directives.cut}
    images = (use for use in workload_of(script).images if use.line not in cut)
    return tuple(use for use in images if not use.reference.startswith(("/", "./", "../")))


add_floating_rule(BOOK, _uses)


@BOOK.rule(
    "S30",
    "note",
    "the image is a file of the cluster",
    fix="give the reference it was made from: cudacompat check IMAGE",
    source="enroot's and Apptainer's file forms",
)
def image_file(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S30: no registry has it. A file beside the script is named only when the image alone could tell of GPUs."""
    for container, launch in containers(script):
        if not is_file(container.image):
            continue
        options = script.job if launch is None else script.options_of(launch)
        if not container.image.startswith(("/", "$", "~")) and asks_for_gpus(options):
            continue
        guess = guess_from_file(container.image)
        hint = f"; by its name it was made from {guess} (a guess)" if guess else ""
        yield Hit(
            container.line, f"{container.image} is a file of the cluster and cannot be read from a registry{hint}"
        )


@BOOK.rule(
    "S31",
    "note",
    "apptainer --nv checks no requirement",
    fix="check the image against the nodes' driver before submission",
    source="Apptainer's documentation, gpu.rst",
)
def unchecked(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S31."""
    for container, _ in containers(script):
        if container.tool == "apptainer" and "nv" in container.flags and "nvccli" not in container.flags:
            message = f"{container.image}: with --nv nothing compares the image's CUDA with the driver"
            yield Hit(container.line, f"{message}; a mismatch shows at the first CUDA call")


@BOOK.rule(
    "S32", "error", "apptainer without --nv in a GPU job", fix="add --nv", source="Apptainer's documentation, gpu.rst"
)
def without_nv(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S32."""
    others = any(_GPU_SWITCHES & set(c.flags) for c, _ in containers(script) if c.tool == "apptainer")
    for container, launch in containers(script):
        if container.tool != "apptainer" or launch is None or _GPU_SWITCHES & set(container.flags):
            continue
        switched_on = any(f"{name}_NV" in launch.exports for name in ("SINGULARITY", "APPTAINER"))
        if asks_for_gpus(script.options_of(launch)) and not switched_on:
            message = f"{container.image} is started without --nv: the container sees neither GPUs nor driver"
            yield Hit(container.line, message, level="warning" if others else None)


def _enroot_images(script: SlurmScript, inventory: Inventory) -> Iterator[tuple[Container, ImageFacts, frozenset[str]]]:
    for container, launch in containers(script):
        facts = inventory.images.get(container.image)
        options = script.job if launch is None else script.options_of(launch)
        if container.tool in ("pyxis", "enroot") and facts is not None and asks_for_gpus(options):
            given = {a.name for a in script.exported} | {e.partition("=")[0] for e in facts.config.env}
            yield container, facts, frozenset(given)


@BOOK.rule(
    "S33",
    "error",
    "enroot brings no driver into an image without NVIDIA_VISIBLE_DEVICES",
    fix="export NVIDIA_VISIBLE_DEVICES=all",
    source=_HOOK,
    needs=("image",),
)
def no_injection(script: SlurmScript, inventory: Inventory) -> Iterator[Hit]:
    """S33."""
    for container, _, given in _enroot_images(script, inventory):
        if "NVIDIA_VISIBLE_DEVICES" not in given:
            yield Hit(
                container.line,
                f"{container.image} does not set NVIDIA_VISIBLE_DEVICES: enroot adds neither GPUs nor driver",
            )


@BOOK.rule(
    "S40",
    "error",
    "enroot brings no libcuda into an image without NVIDIA_DRIVER_CAPABILITIES",
    fix="export NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    source=_HOOK,
    needs=("image",),
)
def utility_only(script: SlurmScript, inventory: Inventory) -> Iterator[Hit]:
    """S40."""
    for container, _, given in _enroot_images(script, inventory):
        if "NVIDIA_DRIVER_CAPABILITIES" not in given:
            message = f"{container.image} does not set NVIDIA_DRIVER_CAPABILITIES: enroot then adds nvidia-smi only"
            yield Hit(container.line, f"{message}, no libcuda")


@BOOK.rule("S34", "note", "NVIDIA_DISABLE_REQUIRE set to a word that means no", fix="unset the variable", source=_HOOK)
def disable_require(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S34: any text disables the check, also "0" and "false"."""
    for found in script.exported:
        if found.name == "NVIDIA_DISABLE_REQUIRE" and found.value.lower() in ("0", "false", "no", "off"):
            yield Hit(
                found.line,
                f"NVIDIA_DISABLE_REQUIRE={found.value} still turns enroot's requirement check off: any text does",
            )


@BOOK.rule(
    "S35",
    "warning",
    "docker run --gpus all inside a job",
    fix='pass the job\'s GPUs: --gpus "\\"device=$CUDA_VISIBLE_DEVICES\\"", or use pyxis',
    source="NVIDIA/nvidia-container-toolkit issue 211",
)
def docker_in_job(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S35: the daemon starts the container outside the job's cgroup."""
    if not script.is_batch:
        return
    for launch in script.launches:
        run = None if launch.container is None else launch.container.run
        if run is None or launch.container is None or launch.container.tool != "docker":
            continue
        every = any(flag.count == -1 for flag in run.gpu_requests)
        by_runtime = (
            run.runtime == "nvidia" and run.env.get("NVIDIA_VISIBLE_DEVICES", "all") == "all" and not run.gpu_requests
        )
        if every or by_runtime:
            yield Hit(
                run.line, f"the container of {run.image} is started outside the job: it sees every GPU of the node"
            )


@BOOK.rule(
    "S36",
    "warning",
    "a container name that keeps an old image",
    fix="put $SLURM_JOB_ID into the name",
    source="pyxis README",
)
def kept_container(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S36."""
    for options in all_sets(script):
        name, image = options.use("container-name"), options.use("container-image")
        if name is not None and image is not None and "$" not in name.value:
            message = f"--container-name={name.value}: where a container of this name exists it is used again"
            yield Hit(name.line, f"{message} and --container-image={image.value} is not imported")


@BOOK.rule(
    "S37",
    "error",
    "--container wants a bundle's folder",
    fix="give an OCI bundle's absolute path, or use pyxis' --container-image",
    source="Slurm containers.html",
)
def no_bundle(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S37."""
    for options in all_sets(script):
        use = options.use("container")
        if use is not None and (":" in use.value or not use.value.startswith("/")):
            yield Hit(
                use.line, f"--container={use.value} names an image: Slurm wants an OCI bundle's folder on the node"
            )
