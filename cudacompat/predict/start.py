"""Stage start: the container runtime accepts the container, or refuses it with a text of its own."""

from __future__ import annotations

from functools import lru_cache

from cudacompat.model import CudaError, Evidence, Finding, Stage
from cudacompat.predict.launch import Judged, Launch
from cudacompat.predict.needs import cuda_key
from cudacompat.stack import Alternative, evaluate_requirements, explain_requirement, requirement_dialect
from cudacompat.stack.requirements import Dialect

_CLI = "nvidia-container-cli: "


def judge(launch: Launch) -> Judged:
    """Requirements, capabilities and files in the way, as far as this injection mode looks at them."""
    if launch.injection in ("legacy", "csv", "enroot") and launch.request.error:
        return _bad_request(launch)
    blocked = _files_in_the_way(launch)
    if blocked is not None:
        return blocked
    return _requirements(launch)


def _bad_request(launch: Launch) -> Judged:
    text = launch.request.error or ""
    summary = f"the container runtime refuses the environment: {text}"
    fix = "Correct the named variable (docker run -e NAME=value overrides the image)."
    names = ("CUDA_VERSION", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_MIG_CONFIG_DEVICES")
    seen = tuple(Evidence("env", name, launch.env[name]) for name in names if name in launch.env)
    finding = Finding("request-invalid", "error", "start", summary, fix, seen)
    return Judged(Stage("start", "fails", summary, seen, CudaError(None, None, text)), (finding,))


def _files_in_the_way(launch: Launch) -> Judged | None:
    """Under WSL the driver files are created, not mounted over: a file of that name stops the start."""
    if launch.host.os != "wsl2" or launch.injection not in ("legacy", "enroot"):
        return None
    names = ("libcuda.so.1", "libnvidia-ml.so.1", "libcuda.so.1.1")
    for library in launch.image.libraries:
        for path in (library.path, *library.names):
            folder, _, name = path.rpartition("/")
            if name in names and "compat" not in path and "stubs" not in path and "/lib" in folder:
                return _mount_error(path, library.layer)
    return None


def _mount_error(path: str, layer: str | None) -> Judged:
    text = f"{_CLI}mount error: file creation failed: {path}: file exists: unknown"
    summary = f"the image brings {path}, and under WSL the runtime cannot put the driver's file there"
    fix = "Remove the driver libraries from the image (they come from a build with the nvidia runtime)."
    seen = (Evidence("file", path, "driver library in the image", layer),)
    finding = Finding("driver-libraries-in-image", "error", "start", summary, fix, seen)
    return Judged(Stage("start", "fails", summary, seen, CudaError(None, None, text)), (finding,))


def _requirements(launch: Launch) -> Judged:
    names = [name for name in launch.env if name.startswith("NVIDIA_REQUIRE_") and launch.env[name]]
    seen = tuple(Evidence("env", name, launch.env[name]) for name in sorted(names))
    dialect = requirement_dialect(launch.injection)
    if dialect is None:
        return _not_evaluated(launch, seen)
    if launch.request.disable_require:
        return _disabled(launch, seen)
    if not launch.request.requirements:
        return Judged(Stage("start", "ok", "the image sets no requirement"))
    if launch.host.driver_cuda is None or (dialect == "c" and launch.host.driver is None):
        summary = "the image's requirements cannot be compared: the driver is not known"
        return Judged(Stage("start", "unknown", summary, seen, missing=("driver",)))
    refusal = refused(launch, dialect)
    if refusal is None:
        return Judged(Stage("start", "ok", "the image's requirements are met", seen))
    return _refused(launch, refusal, seen)


def refused(launch: Launch, dialect: str) -> str | None:
    """The evaluator's error text for this launch, None when it accepts.

    C knows every fact; in csv mode the Go evaluator is given cuda and arch only.
    """
    requirements = launch.request.requirements
    brand = launch.gpu.brands[0] if launch.gpu.brands else None
    named = any("arch" in formula.lower() for formula in requirements)
    return _evaluated(
        requirements,
        cuda=launch.host.driver_cuda,
        driver=launch.host.driver if dialect == "c" else None,
        arch=launch.gpu.compute_capability if named else None,
        brand=brand if dialect == "c" else None,
        dialect="c" if dialect == "c" else "go",
    )


# Scenarios ask the same few questions a thousand times.
@lru_cache(maxsize=128)
def _evaluated(
    requirements: tuple[str, ...],
    *,
    cuda: str | None,
    driver: str | None,
    arch: str | None,
    brand: str | None,
    dialect: Dialect,
) -> str | None:
    return evaluate_requirements(requirements, cuda=cuda, driver=driver, arch=arch, brand=brand, dialect=dialect)


def _refused(launch: Launch, text: str, seen: tuple[Evidence, ...]) -> Judged:
    prefix = _CLI if requirement_dialect(launch.injection) == "c" else ""
    host = f"driver {launch.host.driver or 'of an unknown version'} (CUDA {launch.host.driver_cuda or 'unknown'})"
    board = f" and brand {launch.gpu.brands[0]}" if launch.gpu.brands else ""
    summary = f"the image's requirement is not met by {host}{board}"
    fix = (
        f"It accepts {_accepted(launch)}. NVIDIA_DISABLE_REQUIRE=1 skips the check and leaves the outcome "
        "to CUDA itself."
    )
    finding = Finding("requirement-refused", "error", "start", summary, fix, seen)
    return Judged(Stage("start", "fails", summary, seen, CudaError(None, None, prefix + text)), (finding,))


def _accepted(launch: Launch) -> str:
    """What would meet the formulas, in words: a CUDA version, or driver branches and the brands for them."""
    return _in_words(launch.request.requirements)


@lru_cache(maxsize=32)
def _in_words(requirements: tuple[str, ...]) -> str:
    ways = [way for formula in requirements for way in explain_requirement(formula)]
    by_branch = [way for way in ways if way.branch is not None or way.below is not None]
    versions = sorted({way.cuda for way in ways if way.cuda and way not in by_branch}, key=cuda_key)
    words = [f"a driver of CUDA {versions[-1]} or newer"] if versions else []
    spans = dict.fromkeys(_span(way) for way in sorted(by_branch, key=lambda way: (way.branch or 0, way.below or 0)))
    if spans:
        brands = sorted({brand for way in by_branch for brand in way.brands})
        # Brands of an alternative that names none would not be asked for there.
        of = f" with brand {', '.join(brands)}" if brands and all(way.brands for way in by_branch) else ""
        words.append(f"driver branches {', '.join(spans)}{of}")
    return " or ".join(words) or "other drivers"


def _span(way: Alternative) -> str:
    """The driver branches of an alternative: "535", "450 or newer", "450 to 469", "before 385"."""
    if way.branch is None:
        return f"before {way.below}"
    if way.below is None:
        return f"{way.branch} or newer"
    return str(way.branch) if way.below == way.branch + 1 else f"{way.branch} to {way.below - 1}"


def _disabled(launch: Launch, seen: tuple[Evidence, ...]) -> Judged:
    seen += (Evidence("env", "NVIDIA_DISABLE_REQUIRE", launch.env.get("NVIDIA_DISABLE_REQUIRE", "")),)
    summary = "the requirement check is switched off by NVIDIA_DISABLE_REQUIRE"
    finding = Finding("requirement-disabled", "note", "start", summary, "", seen)
    return Judged(Stage("start", "ok", summary, seen), (finding,))


def _not_evaluated(launch: Launch, seen: tuple[Evidence, ...]) -> Judged:
    if not launch.request.requirements or launch.host.driver_cuda is None:
        return Judged(Stage("start", "ok", f"nothing is checked at start ({launch.injection})", seen))
    text = refused(launch, "c")
    summary = f"requirements are not evaluated here ({launch.injection})"
    if text is None:
        return Judged(Stage("start", "ok", summary, seen))
    message = f"{summary}; the legacy hook would refuse this image on this host: {text}"
    fix = "Expect a refusal on hosts that still inject through the legacy hook."
    finding = Finding("requirement-not-evaluated", "note", "start", message, fix, seen)
    return Judged(Stage("start", "ok", summary, seen), (finding,))
