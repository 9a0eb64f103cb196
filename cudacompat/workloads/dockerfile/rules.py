"""Rules on Dockerfiles: F01-F05, D15, V01-V07, X03."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cudacompat.workloads.dockerfile.reader import Dockerfile, image_use
from cudacompat.workloads.image_rules import add_floating_rule
from cudacompat.workloads.images import tag_cuda
from cudacompat.workloads.interface import Hit, ImageUse, Inventory, RuleBook
from cudacompat.workloads.visible_rules import add_visible_rules

BOOK: RuleBook[Dockerfile] = RuleBook()
_DRIVER = re.compile(
    r"\b(nvidia-driver-\d+\S*|nvidia-utils-\d+\S*|libnvidia-compute-\d+\S*|libcuda1(?:-\d+)?|cuda-drivers\S*)"
)
_TOOLKIT = "NVIDIA container toolkit's documentation"


def _uses(file: Dockerfile) -> Iterator[ImageUse]:
    chain = file.final_chain()
    if chain and chain[-1].base.lower() != "scratch":
        yield image_use(chain[-1])


def _values(file: Dockerfile) -> Iterator[tuple[int, str]]:
    return ((line, value) for name, value, line in file.environment() if name == "CUDA_VISIBLE_DEVICES")


add_floating_rule(BOOK, _uses)
add_visible_rules(BOOK, _values)


@BOOK.rule(
    "F01",
    "warning",
    "CUDA of another major version than the base image's",
    fix="take packages built for the base image's CUDA, or another base",
    source="CUDA compatibility guide",
)
def other_major(file: Dockerfile, _inventory: Inventory) -> Iterator[Hit]:
    """F01: the newer of the two decides which driver the image needs."""
    chain = file.final_chain()
    base = tag_cuda(chain[-1].base) if chain else None
    for brought in file.brought() if base is not None else ():
        if brought.cuda.split(".")[0] != (base or "").split(".")[0]:
            yield Hit(
                brought.line,
                f"{brought.package} brings CUDA {brought.cuda}, the base image {chain[-1].base} "
                f"names CUDA {base}: the newer one decides which driver is needed",
            )


@BOOK.rule(
    "F02",
    "warning",
    "LD_LIBRARY_PATH replaced",
    fix="append to it: LD_LIBRARY_PATH=/my/lib:${LD_LIBRARY_PATH}",
    source="Dockerfile reference",
)
def library_path(file: Dockerfile, _inventory: Inventory) -> Iterator[Hit]:
    """F02: the base image's folders (the driver's on GKE, CUDA's) are no longer searched."""
    for name, value, line in file.environment():
        if name == "LD_LIBRARY_PATH" and "LD_LIBRARY_PATH" not in value and "nvidia" not in value:
            yield Hit(
                line,
                f"LD_LIBRARY_PATH={value} replaces the base image's value: its library folders are no longer searched",
            )


@BOOK.rule(
    "F03",
    "warning",
    "NVIDIA_VISIBLE_DEVICES fixed in the image",
    fix="leave it to whoever starts the container, or set all",
    source=_TOOLKIT,
)
def fixed_devices(file: Dockerfile, _inventory: Inventory) -> Iterator[Hit]:
    """F03."""
    for name, value, line in file.environment():
        if name == "NVIDIA_VISIBLE_DEVICES" and value != "all" and "$" not in value:
            effect = "hides every GPU by default" if value in ("", "void", "none") else "names devices of one machine"
            yield Hit(line, f"NVIDIA_VISIBLE_DEVICES={value} in the image {effect}")


@BOOK.rule(
    "F04",
    "error",
    "driver capabilities without compute",
    fix="NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    source=_TOOLKIT,
)
def no_compute(file: Dockerfile, _inventory: Inventory) -> Iterator[Hit]:
    """F04."""
    for name, value, line in file.environment():
        if (
            name == "NVIDIA_DRIVER_CAPABILITIES"
            and value
            and "$" not in value
            and not {"compute", "all"} & set(value.split(","))
        ):
            yield Hit(line, f"NVIDIA_DRIVER_CAPABILITIES={value}: libcuda is not mounted into containers of this image")


@BOOK.rule(
    "F05",
    "warning",
    "driver packages inside the image",
    fix="remove them: the driver comes from the host",
    source="public failure reports",
)
def driver_inside(file: Dockerfile, _inventory: Inventory) -> Iterator[Hit]:
    """F05: the image's libcuda can hide the host's and must then be of exactly its version."""
    for stage in file.final_chain():
        for instruction in stage.instructions:
            match = _DRIVER.search(instruction.text) if instruction.keyword == "RUN" else None
            if match is not None:
                yield Hit(
                    instruction.line,
                    f"{match[1]} puts driver libraries into the image: they fit one driver version only",
                )


@BOOK.rule(
    "D15",
    "warning",
    "the requirement check turned off",
    fix="remove NVIDIA_DISABLE_REQUIRE",
    source="NVIDIA container toolkit",
)
def guard_off(file: Dockerfile, _inventory: Inventory) -> Iterator[Hit]:
    """D15."""
    for name, value, line in file.environment():
        if name == "NVIDIA_DISABLE_REQUIRE" and value.lower() in ("1", "t", "true", "yes"):
            yield Hit(
                line,
                f"NVIDIA_DISABLE_REQUIRE={value}: an image too new for the driver starts, and "
                "fails at its first CUDA call",
            )
