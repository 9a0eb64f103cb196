"""A compat libcuda meets the kernel driver: forward compatibility, 803 or 804."""

from __future__ import annotations

from cudacompat import tables
from cudacompat.model import Evidence, Finding, Gpu, Stage
from cudacompat.model.prediction import Confidence
from cudacompat.predict.errors import cuda_error
from cudacompat.predict.launch import Judged, Launch
from cudacompat.predict.needs import cuda_key
from cudacompat.predict.offer import is_driver_version, note_cuda, note_fields
from cudacompat.stack.loader import version_key

# NVML brand numbers as nvml.h counts them; the note's "device" list holds such numbers.
_BRAND_NUMBERS = {
    "unknown": 0,
    "quadro": 1,
    "tesla": 2,
    "nvs": 3,
    "grid": 4,
    "geforce": 5,
    "titan": 6,
    "vapps": 7,
    "vpc": 8,
    "vcs": 9,
    "vws": 10,
    "cloudgaming": 11,
    "quadrortx": 12,
    "nvidiartx": 13,
    "nvidia": 14,
    "geforcertx": 15,
    "titanrtx": 16,
}


def judge(launch: Launch) -> Judged | None:
    """None when the pair works or is the driver's own version: then the needs decide."""
    version, driver = launch.libcuda.version, launch.host.driver
    if launch.host.os == "jetson":
        return _on_jetson(launch)
    if driver is None:
        summary = f"the compat libcuda {version or ''} cannot be compared with a driver that nobody named"
        return Judged(Stage("init", "unknown", summary, _seen(launch), missing=("driver",)))
    if version is None or not is_driver_version(version):
        summary = "the compat libcuda's driver version cannot be read from its file name"
        return Judged(Stage("init", "unknown", summary, _seen(launch), missing=("compat version",)))
    if version_key(version) == version_key(driver):
        return None
    if version_key(version) < version_key(driver):
        return _older(launch, version)
    return _newer(launch, version)


def _on_jetson(launch: Launch) -> Judged | None:
    """Tegra's compat library has no driver version in its name: its note's CUDA version decides."""
    offered, have = note_cuda(_note(launch)), launch.host.driver_cuda
    if offered is None or have is None:
        summary = "the compat libcuda's CUDA version cannot be compared with the Jetson's"
        return Judged(Stage("init", "unknown", summary, _seen(launch), missing=("compat version",)))
    return None


def _seen(launch: Launch) -> tuple[Evidence, ...]:
    library = launch.libcuda.library
    if library is None:
        return ()
    return (Evidence("file", library.path, f"libcuda {library.version}", library.layer),)


def _older(launch: Launch, version: str) -> Judged:
    too_old = lacks_api(launch, version)
    if too_old is not None:
        return too_old
    summary = f"the compat libcuda {version} is older than the kernel driver {launch.host.driver} and comes first"
    fix = "Take the compat folder out of LD_LIBRARY_PATH (or ld.so.conf.d), or remove cuda-compat from the image."
    finding = Finding("compat-older-than-driver", "error", "init", summary, fix, _seen(launch))
    return Judged(Stage("init", "fails", summary, _seen(launch), cuda_error(803)), (finding,))


def lacks_api(launch: Launch, version: str) -> Judged | None:
    """Error 35 from a libcuda of the image: the runtime asks for its API version before it calls cuInit."""
    cuda = tables.driver_cuda(version).value if is_driver_version(version) else None
    need = next((need for need in launch.needs if need.decides), None)
    if cuda is None or need is None or cuda_key(need.cuda)[0] <= cuda_key(cuda)[0]:
        return None
    part = need.component
    summary = (
        f"{part.name} {part.version or ''} needs CUDA {need.cuda}; the image's own libcuda {version} comes first "
        f"and offers CUDA {cuda}, whatever the kernel driver {launch.host.driver} offers"
    )
    fix = "Keep that libcuda out of the loader's way: the host's own library is then used."
    finding = Finding("own-libcuda-too-old", "error", "init", summary, fix, (part.evidence, *_seen(launch)))
    reason = "which of 35 and 803 is reported depends on what the program asks first"
    stage = Stage(
        "init", "fails", summary, _seen(launch), cuda_error(35), confidence="medium", confidence_reason=reason
    )
    return Judged(stage, (finding,))


def _newer(launch: Launch, version: str) -> Judged | None:
    eligible, grounds = board_is_eligible(launch.gpu, _note(launch))
    if eligible is None:
        summary = f"compat libcuda {version}: whether {_board(launch.gpu)} may use it is not known"
        return Judged(Stage("init", "unknown", summary, _seen(launch), missing=("gpu",)))
    if not eligible:
        return _not_eligible(launch, version, grounds)
    return _branch(launch, version)


def _note(launch: Launch) -> str | None:
    return launch.libcuda.library.compat_note if launch.libcuda.library else None


def _board(gpu: Gpu) -> str:
    return gpu.name or "the GPU"


def board_is_eligible(gpu: Gpu, note: str | None) -> tuple[bool | None, str]:
    """Whether forward compatibility supports the board, and on which grounds.

    The table's answer counts first; where NVIDIA's documents leave it open, the note's own brand list
    does (reading the list as NVML brands is ours: no NVIDIA text explains the key).
    """
    if gpu.forward_compat is not None:
        return gpu.forward_compat, "NVIDIA's list of supported boards"
    devices = note_fields(note).get("device")
    if isinstance(devices, list) and gpu.brands:
        listed = {_BRAND_NUMBERS.get(brand) in devices for brand in gpu.brands}
        if len(listed) == 1:
            return listed.pop(), "the compat library's own brand list"
    return None, ""


def _not_eligible(launch: Launch, version: str, grounds: str) -> Judged:
    board = _board(launch.gpu)
    summary = f"the compat libcuda {version} is newer than the driver, and {board} may not use forward compatibility"
    fix = "Keep the compat library out of the loader's way, or use a driver that offers the CUDA version itself."
    finding = Finding("compat-not-eligible", "error", "init", summary, fix, _seen(launch))
    from_note = grounds.startswith("the compat")
    confidence: Confidence = "medium" if from_note else "high"
    reason = grounds if from_note else ""
    stage = Stage(
        "init",
        "fails",
        summary,
        _seen(launch),
        cuda_error(804),
        confidence=confidence,
        confidence_reason=reason,
    )
    return Judged(stage, (finding,))


def _branch(launch: Launch, version: str) -> Judged | None:
    accepted, grounds, confidence = branch_is_accepted(version, launch.host.driver or "", _note(launch))
    if accepted is None:
        summary = f"whether compat libcuda {version} works on driver {launch.host.driver} is not known ({grounds})"
        return Judged(Stage("init", "unknown", summary, _seen(launch), missing=("compat branch",)))
    if not accepted:
        return _wrong_branch(launch, version, grounds, confidence)
    return _dropped_architecture(launch, version)


def branch_is_accepted(version: str, driver: str, note: str | None) -> tuple[bool | None, str, Confidence]:
    """Whether a compat libcuda accepts the host's driver branch: its own note first, then the tables."""
    listed = note_fields(note).get("driver")
    if isinstance(listed, list) and listed and all(isinstance(number, int) for number in listed):
        return tables.driver_branch(driver) in listed, "the compat library's own branch list", "high"
    known = tables.forward_compat(version, driver)
    if known.value is None:
        return None, known.basis, "low"
    return known.value in ("yes", "native"), known.basis, known.confidence


def _wrong_branch(launch: Launch, version: str, grounds: str, confidence: Confidence) -> Judged:
    branch = tables.driver_branch(launch.host.driver or "")
    summary = f"the compat libcuda {version} does not accept driver branch {branch} ({grounds})"
    fix = "Use a driver branch that the compat package supports, or one that offers the CUDA version itself."
    finding = Finding("compat-branch-unsupported", "error", "init", summary, fix, _seen(launch))
    reason = "" if confidence == "high" else f"from {grounds}"
    level: Confidence = "medium" if confidence == "high" else confidence
    stage = Stage(
        "init",
        "fails",
        summary,
        _seen(launch),
        cuda_error(803),
        confidence=level,
        confidence_reason=reason or "which of 803 and 3 is reported varies",
    )
    return Judged(stage, (finding,))


def _dropped_architecture(launch: Launch, version: str) -> Judged | None:
    """The compat driver itself must still support the GPU: from branch 590 on, Volta and older are gone."""
    capability = launch.gpu.compute_capability
    architecture = tables.architecture(capability) if capability else None
    if architecture is None or architecture.last_driver_branch is None:
        return None
    if tables.driver_branch(version) <= architecture.last_driver_branch:
        return None
    summary = f"compat libcuda {version} no longer supports {architecture.name} ({capability})"
    fix = f"Use a compat package of branch {architecture.last_driver_branch} or older."
    finding = Finding("compat-drops-architecture", "error", "init", summary, fix, _seen(launch))
    # JuliaPackaging/Yggdrasil#14178
    reason = "by the architecture table and one report: cuInit succeeds, creating a context fails"
    stage = Stage("init", "fails", summary, _seen(launch), confidence="medium", confidence_reason=reason)
    return Judged(stage, (finding,))
