"""Stage init: the driver API that the loaded libcuda offers against what the runtimes need."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cudacompat import tables
from cudacompat.model import Component, CudaError, Evidence, Finding, Stage
from cudacompat.predict import forward
from cudacompat.predict.errors import cuda_error
from cudacompat.predict.launch import Judged, Launch
from cudacompat.predict.needs import Need, cuda_key, is_other_build
from cudacompat.predict.offer import Offer, offered
from cudacompat.stack.loader import version_key


@dataclass(frozen=True, slots=True)
class _Met:
    """How one need is met: a path, or an error when it is not."""

    need: Need
    path: str | None
    reason: str


def judge(launch: Launch) -> Judged:
    """Driver and libcuda must fit each other, the GPU must be known to them, then the needs count."""
    for check in (_driver_given, _libcuda_fits, _gpu_is_driven):
        judged = check(launch)
        if judged is not None:
            return judged
    return _needs(launch)


def _driver_given(launch: Launch) -> Judged | None:
    if launch.host.driver is not None or launch.host.driver_cuda is not None:
        return None
    wanted = describe_needs(launch)
    summary = f"the driver version is not known{wanted}"
    return Judged(Stage("init", "unknown", summary, missing=("driver",)))


def describe_needs(launch: Launch) -> str:
    """What the strongest deciding need asks of a driver, for a sentence that must do without one."""
    needs = [need for need in launch.needs if need.decides]
    if not needs:
        return ""
    strongest = needs[0]
    floor = tables.minor_compat_floor(strongest.cuda).value
    least = floor or tables.toolkit_driver_minimum(strongest.cuda).value
    asks = f"; {strongest.component.name} needs CUDA {strongest.cuda}"
    return f"{asks}: driver {least} or newer" if least else asks


def _libcuda_fits(launch: Launch) -> Judged | None:
    """A libcuda of the image must fit the kernel driver: 803 and 804 come from here."""
    if launch.libcuda.kind == "compat":
        return forward.judge(launch)
    if launch.libcuda.kind == "baked":
        return _baked(launch)
    return None


def _baked(launch: Launch) -> Judged | None:
    version, library = launch.libcuda.version, launch.libcuda.library
    if version is None:
        seen = (Evidence("file", library.path, "libcuda without a version", library.layer),) if library else ()
        summary = "the version of the image's own libcuda, which comes first, is not known"
        return Judged(Stage("init", "unknown", summary, seen, missing=("libcuda version",)))
    if version_key(version) == version_key(launch.host.driver):
        return None
    too_old = forward.lacks_api(launch, version)
    if too_old is not None:
        return too_old
    summary = f"libcuda {version} of the image does not fit the kernel driver {launch.host.driver}"
    fix = "Remove the driver libraries from the image."
    finding = Finding("driver-libraries-in-image", "error", "init", summary, fix)
    return Judged(Stage("init", "fails", summary, error=cuda_error(803)), (finding,))


def _gpu_is_driven(launch: Launch) -> Judged | None:
    """A board that the driver's branch does not support is no CUDA device at all."""
    capability = launch.gpu.compute_capability
    if capability is None or launch.host.os != "linux" or launch.host.driver is None:
        return None
    architecture = tables.architecture(capability)
    if architecture is None:
        return None
    branch = tables.driver_branch(launch.host.driver)
    first, last = architecture.first_driver_branch, architecture.last_driver_branch
    if first is not None and branch < first:
        return _not_driven(launch, capability, f"needs branch {first} or newer", architecture.source)
    if last is not None and branch > last:
        return _not_driven(launch, capability, f"was last supported by branch {last}", architecture.source)
    return None


def _not_driven(launch: Launch, capability: str, why: str, source: str) -> Judged:
    board = launch.gpu.name or f"a GPU of compute capability {capability}"
    summary = f"driver {launch.host.driver} does not drive {board}: it {why}"
    fix = "Install a driver branch that supports the board."
    finding = Finding("gpu-not-supported-by-driver", "error", "init", summary, fix)
    reason = f"architecture table: {source}"
    error = cuda_error(100)
    stage = Stage("init", "fails", summary, error=error, confidence="medium", confidence_reason=reason)
    return Judged(stage, (finding,))


def _needs(launch: Launch) -> Judged:
    offer = offered(launch)
    needs = launch.needs
    if not needs:
        return _nothing_needed(launch, offer)
    if offer.cuda is None:
        summary = f"the CUDA version of driver {launch.host.driver} is not known ({offer.basis})"
        return Judged(Stage("init", "unknown", summary, missing=("driver_cuda",)))
    met = [_meet(need, offer) for need in needs]
    unmet = [item for item in met if item.path is None and item.need.decides]
    notes = _leftovers([item for item in met if not item.need.decides], offer) + offer.findings
    if unmet:
        return _too_old(launch, unmet[0], offer, notes)
    return _met([item for item in met if item.need.decides], offer, notes, launch.host.driver)


def _nothing_needed(launch: Launch, offer: Offer) -> Judged:
    if not launch.image.components:
        return Judged(Stage("init", "skipped", "no CUDA runtime was found in the image"), offer.findings)
    if all(is_other_build(part) for part in launch.image.components):
        return Judged(Stage("init", "skipped", "only builds without CUDA were found"), offer.findings)
    known = [part for part in launch.image.components if part.name not in ("libcuda-compat", "driver", "stub")]
    if not known:
        return Judged(Stage("init", "skipped", "only driver libraries were found"), offer.findings)
    names = ", ".join(sorted({part.name for part in known})[:4])
    summary = f"{names}: no CUDA runtime version was found to compare with the driver"
    return Judged(Stage("init", "unknown", summary, missing=("cuda runtime version",)), offer.findings)


def _meet(need: Need, offer: Offer) -> _Met:
    """Native, by minor version compatibility, or not at all; grounds in half a sentence."""
    wanted, available = cuda_key(need.cuda), cuda_key(offer.cuda or "")
    if wanted <= available:
        return _Met(need, "native", f"CUDA {need.cuda} is within the driver's {offer.cuda}")
    if wanted[0] != available[0]:
        return _Met(need, None, f"needs CUDA {need.cuda}, the driver offers {offer.cuda}")
    if offer.tegra:
        return _Met(need, "minor-version", f"CUDA {need.cuda} on {offer.cuda} within one major version")
    floor = tables.minor_compat_floor(need.cuda).value
    if floor is None:
        return _Met(need, None, f"needs CUDA {need.cuda}, the driver offers {offer.cuda}")
    if not at_least(offer.driver, floor) and not offer.by_cuda_only:
        return _Met(need, None, f"CUDA {need.cuda} needs driver {floor} or newer")
    return _Met(need, "minor-version", f"CUDA {need.cuda} runs on {offer.cuda} from driver {floor} on")


def at_least(driver: str, floor: str) -> bool:
    """Whether a driver is not older than a floor; a bare branch number stands for some release of it."""
    have, want = version_key(driver), version_key(floor)
    if len(have) == 1:
        return have[0] >= want[0]
    length = max(len(have), len(want))
    padded = [key + (0,) * (length - len(key)) for key in (have, want)]
    return padded[0] >= padded[1]


def _too_old(launch: Launch, item: _Met, offer: Offer, notes: tuple[Finding, ...]) -> Judged:
    part = item.need.component
    summary = f"{_named(part)} needs CUDA {item.need.cuda}, {offer.words(launch)}"
    if "driver" in item.reason and "offers" not in item.reason:
        summary = f"{_named(part)}: {item.reason}, the host has {launch.host.driver}"
    fix = f"Use a newer driver, or an image built for CUDA {offer.cuda} or older."
    finding = Finding("driver-too-old", "error", "init", summary, fix, (part.evidence,))
    confidence, reason = offer.confidence, offer.basis
    if item.need.weak and confidence == "high":
        confidence, reason = "medium", f"the need is taken from {part.found_by}"
    error: CudaError = cuda_error(35)
    stage = Stage("init", "fails", summary, (part.evidence,), error, confidence=confidence, confidence_reason=reason)
    return Judged(stage, (finding, *notes))


def _named(part: Component) -> str:
    """A part by name and version: "torch 2.9.1+cu130"; the base runtime by what it is."""
    if part.name != "cudart":
        return f"{part.name} {part.version}" if part.version else part.name
    if part.linkage == "static" and part.path:
        return f"the CUDA runtime in {part.path.rpartition('/')[2]}"
    return f"the CUDA runtime {part.version}" if part.version else "the CUDA runtime"


def _met(items: list[_Met], offer: Offer, notes: tuple[Finding, ...], kernel_driver: str | None) -> Judged:
    by_minor = [item for item in items if item.path == "minor-version"]
    strongest = (by_minor or items)[0]
    part = strongest.need.component
    plain = part.name == "cudart" and part.linkage != "static"
    summary = strongest.reason if plain else f"{_named(part)}: {strongest.reason}"
    weak = strongest.need.weak or offer.confidence != "high"
    reason = offer.basis if offer.confidence != "high" else f"the need is taken from {part.found_by}"
    stage = Stage(
        "init",
        "limited" if by_minor else "ok",
        summary,
        (part.evidence,),
        path="forward-compat" if offer.forward else ("minor-version" if by_minor else "native"),
        confidence="high" if not weak else ("low" if offer.confidence == "low" else "medium"),
        confidence_reason=reason if weak else "",
    )
    if offer.forward:
        stage = replace(stage, summary=f"{summary} (compat libcuda {offer.driver} on driver {kernel_driver})")
    extra = (_minor_note(strongest, offer),) if by_minor else ()
    return Judged(stage, (*extra, *notes))


def _minor_note(item: _Met, offer: Offer) -> Finding:
    message = (
        f"{_named(item.need.component)} is of CUDA {item.need.cuda}, newer than the driver's {offer.cuda}: "
        "minor version compatibility. PTX of that build does not compile on this driver (222), and features "
        "new since then fail (36)"
    )
    fix = "Make sure that the program carries machine code for the GPU, or use a newer driver."
    return Finding("minor-version-compatibility", "note", "init", message, fix, (item.need.component.evidence,))


def _leftovers(items: list[_Met], offer: Offer) -> tuple[Finding, ...]:
    found = []
    for item in items:
        if item.path is None:
            part = item.need.component
            message = (
                f"{_named(part)} (CUDA {item.need.cuda}) would fail on this driver ({offer.cuda}); "
                "the frameworks found bring an older runtime and do not load it"
            )
            fix = "Expect error 35 from whatever is linked against it."
            seen: tuple[Evidence, ...] = (part.evidence,)
            found.append(Finding("base-runtime-too-new", "warning", "init", message, fix, seen))
    return tuple(found[:1])
