"""GPUs by what users type and by what tools print."""

from __future__ import annotations

from dataclasses import replace

from cudacompat import tables
from cudacompat.errors import UsageError
from cudacompat.host.values import compute_capability, present
from cudacompat.model import Gpu

# nvidia-smi's product brands in the words of libnvidia-container.
_BRANDS = {
    "tesla": "tesla",
    "nvidia": "nvidia",
    "geforce": "geforce",
    "geforce rtx": "geforcertx",
    "titan": "titan",
    "titan rtx": "titanrtx",
    "quadro": "quadro",
    "quadro rtx": "quadrortx",
    "nvidia rtx": "nvidiartx",
    "nvs": "nvs",
    "grid": "grid",
    "nvidia virtual applications": "vapps",
    "nvidia virtual pc": "vpc",
    "nvidia virtual compute server": "vcs",
    "nvidia rtx virtual workstation": "vws",
    "nvidia cloud gaming": "cloudgaming",
    "nvidia gaming": "cloudgaming",
}


def named_gpu(name: str, capability: str | None = None) -> Gpu:
    """The GPU that a user means. A name that the table lacks needs a compute capability beside it.

    Raises UsageError when the name says nothing, says too much, or contradicts the capability.
    """
    wanted = compute_capability(capability) if capability is not None else None
    try:
        model = tables.find_gpu(name)
    except UsageError:
        if wanted is None:
            raise
        return Gpu(name.strip(), wanted)
    if wanted not in (None, model.compute_capability):
        raise UsageError(f"{model.name} has compute capability {model.compute_capability}, not {wanted}")
    return _from_model(model)


def _from_model(model: tables.GpuModel) -> Gpu:
    return Gpu(
        model.name,
        model.compute_capability,
        model.brands,
        None,
        model.forward_compat,
        model.architecture,
    )


def capability_only(capability: str) -> Gpu:
    """A GPU of which only the compute capability is known; its brand and class stay open."""
    value = compute_capability(capability)
    known = tables.architecture(value)
    return Gpu(None, value, architecture=known.name if known else None)


def brand_word(product_brand: str | None) -> str | None:
    """nvidia-smi's product brand in libnvidia-container's words, None for one that is not known."""
    return _BRANDS.get((present(product_brand) or "").lower())


def observed_gpu(
    name: str | None,
    *,
    brand: str | None = None,
    capability: str | None = None,
    uuid: str | None = None,
    architecture: str | None = None,
) -> tuple[Gpu, str | None]:
    """A GPU as a tool reports it, and a sentence where the table does not know it.

    What was observed wins over the table: the brand that the driver reports, in libnvidia-container's
    words (see ``brand_word``), is the one that counts.
    """
    seen_name, seen_capability = present(name), _capability(capability)
    gpu, note = _looked_up(seen_name, seen_capability)
    return replace(
        gpu,
        name=seen_name or gpu.name,
        compute_capability=seen_capability or gpu.compute_capability,
        brands=(brand,) if brand else gpu.brands,
        uuid=present(uuid),
        architecture=gpu.architecture or present(architecture),
    ), note


def _looked_up(name: str | None, capability: str | None) -> tuple[Gpu, str | None]:
    if name is None:
        return Gpu(), "the tool named a GPU without its product name"
    try:
        return _from_model(tables.find_gpu(name)), None
    except UsageError as error:
        return Gpu(name, capability), None if capability else str(error)


def _capability(text: str | None) -> str | None:
    try:
        return compute_capability(present(text) or "")
    except UsageError:
        return None


def is_jetson(gpu: Gpu) -> bool:
    """Whether the GPU is a Jetson module's: such hosts run L4T, whose driver numbers mean something else."""
    try:
        return gpu.name is not None and tables.find_gpu(gpu.name).gpu_class == "jetson"
    except UsageError:
        return False
