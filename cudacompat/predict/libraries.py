"""Stage libraries: what the frameworks link against is there."""

from __future__ import annotations

import posixpath
import re

from cudacompat.model import CudaError, Evidence, Finding, ImageFacts, SharedLibrary, Stage
from cudacompat.predict.launch import Judged, Launch

_CUDA_SONAME = re.compile(
    r"lib(?:cudart|cublas|cublasLt|cudnn|nccl|cufft|curand|cusparse|cusparseLt|cusolver|nvrtc|nvJitLink|cupti)"
    r"\.so\.[\d.]+"
)
# The one library of a framework without which importing it fails.
_ENTRY_LIBRARIES = re.compile(r".*/torch/lib/libtorch_cuda\.so|.*/onnxruntime/capi/libonnxruntime_providers_cuda\.so")


def judge(launch: Launch) -> Judged:
    """Only a complete reading can say that something is missing."""
    image = launch.image
    entries = [library for library in image.libraries if _ENTRY_LIBRARIES.fullmatch(library.path)]
    if not image.coverage.complete or not entries:
        return Judged(Stage("libraries", "skipped", "no framework library whose needs could be compared"))
    provided = _provided(image)
    for library in entries:
        missing = [name for name in library.needed if _CUDA_SONAME.fullmatch(name) and name not in provided]
        if missing:
            return _missing(library, missing[0])
    return Judged(Stage("libraries", "ok", "the CUDA libraries that the frameworks link against are there"))


def _provided(image: ImageFacts) -> set[str]:
    names = set()
    for path in (*image.files, *image.links):
        names.add(posixpath.basename(path))
    for library in image.libraries:
        names.add(posixpath.basename(library.path))
        names.update(posixpath.basename(name) for name in library.names)
        if library.soname:
            names.add(library.soname)
    return names


def _missing(library: SharedLibrary, name: str) -> Judged:
    summary = f"{library.path} needs {name}, which is nowhere in the image"
    fix = "Install the package that brings it (for wheels: the matching nvidia-* wheel)."
    seen = (Evidence("elf", library.path, f"NEEDED {name}", library.layer),)
    finding = Finding("missing-library", "error", "libraries", summary, fix, seen)
    text = f"{name}: cannot open shared object file: No such file or directory"
    return Judged(Stage("libraries", "fails", summary, seen, CudaError(None, None, text)), (finding,))
