"""Stage kernel: machine code or compilable PTX for this GPU in every component that brings kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cudacompat import tables
from cudacompat.model import Evidence, Finding, Kernels, Stage
from cudacompat.model.prediction import Confidence
from cudacompat.predict.errors import cuda_error
from cudacompat.predict.kernel_sources import MAIN_COMPONENTS, Code
from cudacompat.predict.launch import Judged, Launch
from cudacompat.predict.needs import cuda_key, is_cuda_version, is_other_build
from cudacompat.predict.offer import offered
from cudacompat.predict.targets import SHARED_TOOLKIT, TEGRA, describe, is_own_target, ptx_compiles_for, sass_runs_on

Fit = Literal["native", "jit", "ptx-too-new", "none", "unknown"]
_WORST: tuple[Fit, ...] = ("native", "jit", "unknown", "ptx-too-new", "none")


@dataclass(frozen=True, slots=True)
class _Judgement:
    """One component's device code against one GPU. ``partly`` names files that have nothing for it."""

    code: Code
    fit: Fit
    isa: str | None = None
    partly: tuple[str, ...] = ()


def judge(launch: Launch) -> Judged:
    """The worst main component decides; a lesser one that lacks code is a named limit."""
    codes, notes = launch.code, launch.code_notes
    if not codes:
        return _nothing(launch, notes)
    capability = launch.gpu.compute_capability
    if capability is None:
        names = ", ".join(code.name for code in codes[:3])
        summary = f"{names}: the GPU's compute capability is not known"
        return Judged(Stage("kernel", "unknown", summary, missing=("gpu",)), notes)
    compiler = _compiler(launch)
    judged = [_judge_code(code, capability, compiler) for code in codes]
    return _decide(launch, judged, compiler.isa, notes)


def _nothing(launch: Launch, notes: tuple[Finding, ...]) -> Judged:
    without = [part for part in launch.image.components if part.name in MAIN_COMPONENTS and is_other_build(part)]
    if without:
        part = without[0]
        summary = f"{part.name} {part.version or ''} is a {part.variant} build: it does not use the GPU"
        return Judged(Stage("kernel", "limited", summary, (part.evidence,)), notes)
    dropped = _toolkit_drops(launch)
    if dropped is not None:
        return dropped
    if launch.image.coverage.depth == "config":
        return Judged(Stage("kernel", "skipped", "layers were not read, so kernels were not looked for"), notes)
    return Judged(Stage("kernel", "skipped", "no component that brings kernels was found"), notes)


def _toolkit_drops(launch: Launch) -> Judged | None:
    """What a toolkit compiles has no code for an architecture that it no longer targets, not even PTX.

    Judged for GPUs that somebody named: a driver alone does not make an old board likely.
    """
    capability = launch.gpu.compute_capability
    need = next((need for need in launch.needs if need.decides), None)
    if capability is None or need is None or not launch.host.gpus:
        return None
    architecture = tables.architecture(capability)
    last = architecture.last_toolkit if architecture else None
    if last is None or cuda_key(need.cuda) <= cuda_key(last):
        return None
    part = need.component
    summary = f"programs built with CUDA {need.cuda} have no code for {_board(launch)}: {last} was the last for it"
    fix = f"Use an image of CUDA {last} or older."
    finding = Finding("no-kernel-image", "error", "kernel", summary, fix, (part.evidence,))
    reason = "by the toolkit's targets: no program's device code was found"
    stage = Stage(
        "kernel",
        "fails",
        summary,
        (part.evidence,),
        cuda_error(209),
        confidence="medium",
        confidence_reason=reason,
    )
    return Judged(stage, (finding,))


@dataclass(frozen=True, slots=True)
class Compiler:
    """What the loaded libcuda makes of device code.

    ``isa`` is the newest PTX ISA that it compiles, None when unknown; ``shared_toolkit`` says that it is of
    CUDA 13 or newer, which takes the machine code of servers on Tegra.
    """

    isa: str | None
    shared_toolkit: bool = False


def _compiler(launch: Launch) -> Compiler:
    cuda = offered(launch).cuda if launch.host.driver or launch.host.driver_cuda else None
    if cuda is None:
        return Compiler(None)
    return Compiler(tables.ptx_isa_for_cuda(cuda).value, cuda_key(cuda) >= SHARED_TOOLKIT)


def _judge_code(code: Code, capability: str, compiler: Compiler) -> _Judgement:
    """A component runs where its main files do; a set of alternatives runs where any file does."""
    if not code.files:
        return _Judgement(code, "unknown")
    fits = [(file, *file_fit(file, capability, compiler)) for file in code.files]
    best = min(fits, key=lambda item: _WORST.index(item[1]))
    worst = max(fits, key=lambda item: _WORST.index(item[1]))
    chosen = worst if code.all_needed else best
    failing = tuple(file.path for file, fit, _ in fits if fit in ("none", "ptx-too-new"))
    return _Judgement(code, chosen[1], chosen[2], failing)


def file_fit(file: Kernels, capability: str, compiler: Compiler) -> tuple[Fit, str | None]:
    """How one file's device code fits a GPU, and the PTX ISA that mattered.

    Machine code is preferred, as the driver does; an unknown driver ISA leaves PTX undecided.
    """
    driver_isa = compiler.isa
    if any(sass_runs_on(target, capability, shared_toolkit=compiler.shared_toolkit) for target in file.sass):
        return "native", None
    usable = [ptx for ptx in file.ptx if ptx_compiles_for(ptx.arch, capability)]
    if not usable:
        return "none", None
    oldest = min(usable, key=lambda ptx: cuda_key(ptx.isa))
    if driver_isa is None:
        return "unknown", oldest.isa
    if cuda_key(oldest.isa) <= cuda_key(driver_isa):
        return "jit", oldest.isa
    return "ptx-too-new", oldest.isa


def _decide(launch: Launch, judged: list[_Judgement], driver_isa: str | None, notes: tuple[Finding, ...]) -> Judged:
    main = [item for item in judged if item.code.name in MAIN_COMPONENTS or item.code.name == "program"]
    deciding = main or judged
    worst = max(deciding, key=lambda item: _WORST.index(item.fit))
    rest = [item for item in judged if item is not worst and item.fit in ("none", "ptx-too-new")]
    limits = (*_lesser(launch, rest), *_compilers(launch, driver_isa), *notes)
    if worst.fit in ("none", "ptx-too-new"):
        return _fails(launch, worst, driver_isa, limits)
    if worst.fit == "unknown":
        return _unknown(launch, worst, limits)
    return _runs(launch, worst, judged, limits)


def _board(launch: Launch) -> str:
    capability = launch.gpu.compute_capability
    return f"{launch.gpu.name} ({capability})" if launch.gpu.name else f"compute capability {capability}"


def _seen(item: _Judgement) -> tuple[Evidence, ...]:
    return tuple(Evidence("fatbin", file.path, describe(file), file.layer) for file in item.code.files[:3])


def _fails(launch: Launch, item: _Judgement, driver_isa: str | None, limits: tuple[Finding, ...]) -> Judged:
    if item.fit == "none":
        rule, error = "no-kernel-image", cuda_error(209)
        summary = f"{item.code.title} has no code for {_board(launch)}: {item.code.words()}"
        fix = "Use a build that targets this GPU, or another GPU from its list."
    else:
        rule, error = "unsupported-ptx", cuda_error(222)
        summary = (
            f"{item.code.title} has only PTX {item.isa} for {_board(launch)}, "
            f"and driver {launch.host.driver} compiles up to {driver_isa}"
        )
        least = tables.cuda_for_ptx_isa(item.isa or "").value
        fix = f"Use a driver of CUDA {least} or newer, or a build with machine code for this GPU."
    finding = Finding(rule, "error", "kernel", summary, fix, _seen(item))
    stage = Stage(
        "kernel",
        "fails",
        summary,
        _seen(item),
        error,
        confidence=item.code.confidence,
        confidence_reason=item.code.grounds,
    )
    return Judged(stage, (finding, *limits))


def _unknown(launch: Launch, item: _Judgement, limits: tuple[Finding, ...]) -> Judged:
    if item.code.files:
        summary = f"{item.code.title} needs PTX {item.isa} compiled for {_board(launch)}: driver unknown"
        return Judged(Stage("kernel", "unknown", summary, _seen(item), missing=("driver",)), limits)
    summary = f"{item.code.title}: its device code was not read and no table lists it"
    finding = Finding("kernels-unknown", "warning", "kernel", summary, "Run without --quick, on the full image.")
    stage = Stage("kernel", "unknown", summary, missing=(f"device code of {item.code.name}",))
    return Judged(stage, (finding, *limits))


def _runs(launch: Launch, worst: _Judgement, judged: list[_Judgement], limits: tuple[Finding, ...]) -> Judged:
    if worst.fit == "jit":
        summary = f"{worst.code.title} is compiled from PTX {worst.isa} at first load on {_board(launch)}"
        fix = "Expect a slow first start; the compile cache keeps the result."
        limits += (Finding("jit-at-first-load", "note", "kernel", summary, fix, _seen(worst)),)
        status: Literal["ok", "limited"] = "limited"
    else:
        names = ", ".join(sorted({item.code.name for item in judged if item.fit == "native"})[:4])
        summary = f"machine code for {_board(launch)} is there ({names})"
        limit = next((item.message for item in limits if item.rule in _LIMITS), None)
        status = "limited" if limit else "ok"
        summary = f"{summary}; {limit}" if limit else summary
    confidence, grounds = _sureness(launch, worst)
    stage = Stage("kernel", status, summary, _seen(worst), confidence=confidence, confidence_reason=grounds)
    return Judged(stage, limits)


def _sureness(launch: Launch, item: _Judgement) -> tuple[Confidence, str]:
    """Servers' machine code on Tegra rests on reports, against the wording of NVIDIA's guide."""
    capability = launch.gpu.compute_capability or ""
    own = any(is_own_target(target, capability) for file in item.code.files for target in file.sass)
    if item.fit != "native" or capability not in TEGRA or own or item.code.confidence != "high":
        return item.code.confidence, item.code.grounds
    return "medium", "reports say that CUDA 13 drivers run servers' machine code on Tegra, NVIDIA's guide excludes it"


_MOST_NAMED = 5
_COMPILERS = ("nvrtc", "numba", "numba-cuda")
_LIMITS = ("component-without-kernels", "jit-compiler-too-new")


def _lesser(launch: Launch, items: list[_Judgement]) -> tuple[Finding, ...]:
    """One finding for all lesser components that lack code, each with what it has."""
    if not items:
        return ()
    named = [f"{item.code.title} ({item.code.words()})" for item in items[:_MOST_NAMED]]
    more = f", and {len(items) - _MOST_NAMED} more" if len(items) > _MOST_NAMED else ""
    message = f"no usable code for {_board(launch)} in {', '.join(named)}{more}"
    fix = "Whatever calls it fails or falls back; use a build that targets this GPU."
    seen = tuple(evidence for item in items[:_MOST_NAMED] for evidence in _seen(item)[:1])
    return (Finding("component-without-kernels", "warning", "kernel", message, fix, seen),)


def _compilers(launch: Launch, driver_isa: str | None) -> tuple[Finding, ...]:
    """Compilers in the image write PTX of their own CUDA version, whatever the libraries carry."""
    for part in launch.image.components:
        known = part.cuda is not None and "." in part.cuda and is_cuda_version(part.cuda)
        if part.name not in _COMPILERS or part.cuda is None or not known or driver_isa is None:
            continue
        isa = tables.ptx_isa_for_cuda(part.cuda).value
        if isa is not None and cuda_key(isa) > cuda_key(driver_isa):
            message = f"{part.name} of CUDA {part.cuda} writes PTX {isa}, this driver compiles up to {driver_isa}"
            fix = "Kernels that are compiled at run time need a newer driver, or machine code as their output."
            return (Finding("jit-compiler-too-new", "note", "kernel", message, fix, (part.evidence,)),)
    return ()
