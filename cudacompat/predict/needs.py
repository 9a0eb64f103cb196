"""Which CUDA runtimes an image would load, and so which driver API it needs."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from cudacompat.model import Component, ImageFacts
from cudacompat.predict.environment import last_wins
from cudacompat.stack.loader import Search, find_needed, split_ld_library_path

FRAMEWORKS = ("torch", "tensorflow", "jax", "onnxruntime-gpu", "cupy", "paddlepaddle-gpu", "vllm", "mxnet")
# Evidence that only repeats what a build intended; a file or a package says more.
_HEARSAY = ("env", "label", "history")
_FRAMEWORK_LIBRARY = re.compile(r"/(?:torch/lib|tensorflow|onnxruntime/capi|paddle/(?:libs|base))/")
_TOOLKIT = re.compile(r"/usr/local/cuda[^/]*/")
# An image may claim anything; numbers beyond this are no CUDA version.
_CUDA = re.compile(r"[1-9][0-9]?(?:\.[0-9]{1,2})?", re.ASCII)
# Parts of a toolkit that no deployed program loads.
_TOOLS = re.compile(r"/(?:bin|nsight[^/]*|extras|compute-sanitizer|nvvm|libnvvp|doc|samples)/")


@dataclass(frozen=True, slots=True)
class Need:
    """A runtime and the driver API version it needs ("12.4").

    ``decides`` is False for a runtime that lies in the image but that nothing found there loads, because
    the frameworks bring their own. ``weak`` marks a version that is only a range's lower end or hearsay.
    """

    component: Component
    cuda: str
    decides: bool
    weak: bool


def runtime_needs(image: ImageFacts) -> tuple[Need, ...]:
    """Every runtime, strongest need first among those that decide.

    Where the frameworks' own libraries were read, the loader's search tells which libcudart they take;
    otherwise a wheel's runtime counts, and the base toolkit's only where something else needs it.
    """
    runtimes = [part for part in image.components if _is_runtime(part)]
    own = [part for part in runtimes if not _of_toolkit(part)]
    toolkit = _best_of_toolkit([part for part in runtimes if _of_toolkit(part)])
    loaded = _loaded_by_frameworks(image)
    toolkit_decides = not own or _somebody_uses_toolkit(image, own, toolkit)
    needs = [_need(part, _is_loaded(part, own) and _is_taken(part, loaded)) for part in own]
    needs += [_need(part, toolkit_decides or part.path in loaded) for part in toolkit]
    return tuple(sorted(needs, key=_strongest_first))


def _loaded_by_frameworks(image: ImageFacts) -> set[str]:
    """Paths of the libcudart files that the loader gives to the frameworks' libraries."""
    value = last_wins(image.config.env).get("LD_LIBRARY_PATH")
    search = Search(image.libraries, image.links, split_ld_library_path(value), image.ld_so_conf)
    found = set()
    for library in image.libraries:
        if not _FRAMEWORK_LIBRARY.search(library.path):
            continue
        for soname in library.needed:
            taken = find_needed(soname, library, search) if soname.startswith("libcudart.so.") else None
            if taken is not None:
                found.add(taken.path)
    return found


def _is_taken(part: Component, loaded: set[str]) -> bool:
    """A dynamic runtime decides when it is taken, or when nobody's choice could be followed."""
    shared = part.name == "cudart" and part.linkage != "static"
    return not shared or not loaded or part.path is None or part.path in loaded


def _strongest_first(need: Need) -> tuple[bool, int, int, bool, bool]:
    """Those that decide, by version; of equal needs the framework's is the one to name."""
    major, minor = cuda_key(need.cuda)
    return (not need.decides, -major, -minor, need.weak, need.component.name == "cudart")


def is_cuda_version(text: str) -> bool:
    """Whether a text can be a CUDA version ("12", "12.4")."""
    return _CUDA.fullmatch(text) is not None


def published_release(version: str | None) -> str | None:
    """A framework's plain release ("2.7.1" of "2.7.1+cu126"); None for pre-releases and private builds.

    NVIDIA's own containers carry builds such as 2.6.0a0+ecf3bae40a.nv25.01, which no wheel table lists.
    """
    base = (version or "").partition("+")[0]
    return base if re.fullmatch(r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,2}", base, re.ASCII) else None


def cuda_key(cuda: str) -> tuple[int, int]:
    """A CUDA version as (major, minor) for comparing; "12" counts as 12.0."""
    numbers = [int(number) for number in re.findall(r"\d+", cuda)[:2]]
    return (numbers[0] if numbers else 0, numbers[1] if len(numbers) > 1 else 0)


def is_other_build(part: Component) -> bool:
    """A framework built for the CPU, or for other makers' GPUs."""
    return (part.variant or "").startswith(("cpu", "rocm", "xpu"))


def _is_runtime(part: Component) -> bool:
    if part.cuda is None or is_other_build(part) or not is_cuda_version(part.cuda):
        return False
    if part.path is not None and _TOOLS.search(part.path):
        return False
    return part.name == "cudart" or part.name in FRAMEWORKS


def _of_toolkit(part: Component) -> bool:
    """A runtime of the base toolkit: under /usr/local/cuda, from a system package, or only announced."""
    if part.name != "cudart":
        return False
    if part.path is not None and "site-packages" in part.path:
        return False
    if part.found_by in (*_HEARSAY, "dpkg", "rpm", "apk", "version-json", "version-txt"):
        return True
    return part.path is not None and _TOOLKIT.match(part.path) is not None


def _is_loaded(part: Component, own: list[Component]) -> bool:
    """A runtime linked into some library counts beside a framework only within the framework's major version.

    What a framework loads has its major version; another one's sits in an extension that may never be used.
    """
    majors = {cuda_key(other.cuda)[0] for other in own if other.name in FRAMEWORKS and other.cuda}
    if part.linkage != "static" or not majors:
        return True
    path = part.path or ""
    beside = "site-packages" not in path or re.search(
        r"-packages/(?:nvidia|torch|tensorflow|jax\w*|onnxruntime)/", path
    )
    return bool(beside) and cuda_key(part.cuda or "")[0] in majors


def _best_of_toolkit(parts: list[Component]) -> list[Component]:
    """What files and packages say beats what the environment announces."""
    seen = [part for part in parts if part.found_by not in _HEARSAY]
    return seen or parts


def _somebody_uses_toolkit(image: ImageFacts, own: list[Component], toolkit: list[Component]) -> bool:
    """Whether a binary outside toolkit and wheels needs a cudart that only the toolkit provides."""
    bundled = {cuda_key(part.cuda)[0] for part in own if part.cuda}
    majors = {cuda_key(part.cuda)[0] for part in toolkit if part.cuda}
    for library in image.libraries:
        if _TOOLKIT.match(library.path) or "site-packages" in library.path:
            continue
        for soname in library.needed:
            match = re.match(r"libcudart\.so\.(\d+)", posixpath.basename(soname))
            if match and int(match[1]) in majors - bundled:
                return True
    return False


def _need(part: Component, decides: bool) -> Need:
    weak = part.found_by in _HEARSAY or "." not in (part.cuda or "")
    return Need(part, part.cuda or "", decides, weak)
