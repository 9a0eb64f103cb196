"""Ready reports of every outcome, made by hand: no table and no rule of prediction can change them."""

from __future__ import annotations

from dataclasses import replace

from cudacompat.model import (
    Change,
    CompatDirectory,
    Component,
    Coverage,
    CudaError,
    Evidence,
    Finding,
    Gpu,
    HostFacts,
    ImageConfig,
    ImageFacts,
    Kernels,
    Location,
    Prediction,
    Ptx,
    Remedy,
    Report,
    Scenario,
    Stage,
    Target,
    Tool,
    Verdict,
)
from cudacompat.model.prediction import STAGES, Confidence, DriverPath, Outcome, StageName, StageStatus

TOOL = Tool("cudacompat", "0.0.0", "2026-12")
LAYER = "sha256:" + "ab" * 32
REQUIRE = Evidence("env", "NVIDIA_REQUIRE_CUDA", "cuda>=12.8 brand=tesla,driver>=535,driver<536")
CUDART = Evidence("file", "/usr/local/cuda-12.8/lib64/libcudart.so.12.8.90", "libcudart.so.12.8.90", LAYER)
TORCH = Evidence("package", "/usr/lib/python3/site-packages/torch/version.py", "2.7.0+cu128", LAYER)
CUBIN = Evidence("fatbin", "/usr/lib/python3/site-packages/torch/lib/libtorch_cuda.so", "sm_80 90", LAYER)
TOO_OLD = CudaError(35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version")
NOT_SUPPORTED = CudaError(804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted")

A100 = Gpu("NVIDIA A100-SXM4-80GB", "8.0", ("tesla", "nvidia"), None, True, "Ampere")
HOST = HostFacts("535.104.05", "12.2", "linux", "amd64", (A100, A100), "legacy", "1.17.8", "28.0.1")
SOMEWHERE = HostFacts("535.104.05", "12.2")
MIG_A100 = replace(
    A100,
    brands=("nvidia",),
    uuid="GPU-00000000-0000-0000-0000-000000000001",
    mig=("MIG-aaaaaaaa-0000-5000-8000-000000000001", "MIG-bbbbbbbb-0000-5000-8000-000000000002"),
    mig_profiles=("3g.40gb", "1g.10gb"),
    mig_enabled=True,
    memory_mib=81920,
)
ASKED = HostFacts(
    "535.183.01",
    "12.2",
    "linux",
    "amd64",
    (MIG_A100, Gpu()),
    "cdi",
    "1.18.1",
    "29.2.1",
    "NVML",
    ("podman's version could not be learned: it did not answer within 10 seconds",),
    (
        "injection mode cdi: Docker 29.2.0 or newer tries CDI first for --gpus, and a usable CDI spec is there",
        "Docker's default runtime is runc",
        "CDI spec /etc/cdi/nvidia.yaml (driver 530.30.02)",
    ),
    (
        "GPU 1 does not answer: the GPU is lost: it fell off the bus, and a reboot brings it back",
        "/etc/cdi/nvidia.yaml hands in the files of driver 530.30.02, the driver is 535.183.01: CDI containers fail; "
        "write it anew with 'nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml'",
    ),
)
NOBODY = HostFacts(origin="this machine", notes=("no NVIDIA driver found on this machine: give --driver",))

COMPONENTS = (
    Component("cudart", "12.8.90", "12.8", "file-name", CUDART, CUDART.where, LAYER, "dynamic"),
    Component("torch", "2.7.0+cu128", "12.8", "torch-version-py", TORCH, TORCH.where, LAYER, None, "cu128"),
    Component("nccl", "2.26.2", "12.8", "pip", Evidence("package", "nvidia-nccl-cu12", "2.26.2", LAYER)),
    Component("cudart", "12.6.77", "12.6", "machine-code", CUBIN, CUBIN.where, LAYER, "static"),
)
KERNELS = (
    Kernels(CUBIN.where, ("75", "80", "86", "90a"), (Ptx("120", "9.0"),), "torch", layer=LAYER),
    Kernels("/opt/app/kernels.so", ("80",), (), layer=LAYER),
    Kernels("/opt/app/only-ptx.so", (), (Ptx("52", "8.4"), Ptx("90a", "8.4")), origin="table"),
)
COMPAT = CompatDirectory("/usr/local/cuda-12.8/compat", "570.124.06", '{"CUDA version": "12.8"}', True, LAYER)
IMAGE = ImageFacts(
    target=Target("image", "registry:repo/app:1.2", "registry", "sha256:" + "cd" * 32, "linux/amd64"),
    config=ImageConfig(
        "linux/amd64", ("PATH=/bin", "NVIDIA_REQUIRE_CUDA=cuda>=12.8", "NVIDIA_REQUIRE_CUDA=cuda>=12.9")
    ),
    coverage=Coverage("full", False, 11, 12, ("layer 12 is foreign and was left out",)),
    available_platforms=("linux/amd64", "linux/arm64"),
    components=COMPONENTS,
    compat=(COMPAT,),
    kernels=KERNELS,
    evidence=(REQUIRE,),
)
EMPTY = ImageFacts(
    target=Target("image", "alpine:3.22", "docker", None, "linux/amd64"),
    config=ImageConfig("linux/amd64"),
    coverage=Coverage("config", True, 0, 1),
)


def verdict(
    outcome: Outcome,
    summary: str,
    *,
    stage: StageName | None = None,
    path: DriverPath | None = None,
    error: CudaError | None = None,
    confidence: tuple[Confidence, str] = ("high", ""),
    depends_on: tuple[str, ...] = (),
) -> Verdict:
    """A verdict; what is not named is absent."""
    return Verdict(outcome, stage, path, error, *confidence, summary, depends_on)


def stages(**statuses: StageStatus) -> tuple[Stage, ...]:
    """All seven stages: ok, except for those named (driver_library for driver-library)."""
    named = {name.replace("_", "-"): status for name, status in statuses.items()}
    return tuple(
        Stage(name, named.get(name, "ok"), f"a sentence about {name} that says why it is so", (CUDART, CUDART))
        for name in STAGES
    )


def report(prediction: Prediction, host: HostFacts = HOST, image: ImageFacts = IMAGE) -> Report:
    """A report of this prediction."""
    return Report(TOOL, host, image, prediction)


REFUSED = verdict(
    "fails",
    "refused at start: driver 535.104.05 (CUDA 12.2) and brand tesla do not meet the image's requirement, "
    "which is a long sentence that has to go on in a second line",
    stage="start",
    error=CudaError(None, None, "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8"),
)
INSUFFICIENT = verdict("fails", "cudart needs a newer driver", stage="init", error=TOO_OLD)
RUNS = verdict("runs", "runs natively", path="native")
MINOR = verdict(
    "runs-limited", "runs, with limits", path="minor-version", confidence=("medium", "a single source says so")
)
FINDINGS = (
    Finding("requirement-refused", "error", "start", "the requirement is not met", "Use another driver.", (REQUIRE,)),
    Finding("versions-disagree", "warning", "init", "two versions are named", "", (CUDART, TORCH)),
    Finding("S04", "warning", None, "the script asks for no GPU", "Add --gpus=1.", (), Location("job.sh", 7)),
    Finding("config-only", "note", None, "only the config was read"),
)
REMEDIES = (
    Remedy(Change("option", "skip the check with -e NVIDIA_DISABLE_REQUIRE=1"), MINOR),
    Remedy(Change("driver", "install driver 570.26 or newer"), RUNS),
)
SCENARIOS = (
    Scenario({"injection": "legacy"}, REFUSED, "the legacy hook injects the GPU"),
    Scenario({"injection": "cdi", "toolkit": "1.20.0"}, MINOR),
)

REPORTS = {
    "refused": report(Prediction(REFUSED, stages(start="fails", init="skipped"), (), FINDINGS, REMEDIES)),
    "init-fails": report(Prediction(INSUFFICIENT, stages(init="fails"), (), (), REMEDIES)),
    "runs": report(Prediction(RUNS, stages(libraries="skipped"))),
    "minor-version": report(Prediction(MINOR, stages(init="limited"), (), FINDINGS[3:])),
    "depends": report(
        Prediction(
            verdict("depends", "it depends", depends_on=("injection", "forward_compat")),
            stages(start="unknown"),
            SCENARIOS,
            FINDINGS[:1],
            REMEDIES[:1],
        ),
        SOMEWHERE,
    ),
    "unknown": report(
        Prediction(
            verdict("unknown", "cannot be told", confidence=("low", "facts are missing"), depends_on=("driver",)),
            stages(init="unknown"),
        ),
        NOBODY,
    ),
    "no-cuda": report(Prediction(verdict("no-cuda", "nothing of CUDA is in it"), stages()), HOST, EMPTY),
}
