"""Read a Dockerfile's instructions, stages and the packages that bring CUDA.

Source: Dockerfile reference (continuation lines, escape directive, ARG and ENV substitution, heredocs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from cudacompat.workloads.images import is_unexpanded
from cudacompat.workloads.interface import ImageUse, Workload

_HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?:(:?[-+])([^}]*))?\})")
_PAIR = re.compile(r"(\w+)=(\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:\\.|[^\s\\])*)")
_PIP_INDEX = re.compile(r"download\.pytorch\.org/whl/(?:nightly/)?cu(\d{2})(\d)\b")
_PIP_LOCAL = re.compile(
    r"\b(torch|torchvision|torchaudio|vllm|jax|jaxlib|cupy|xformers)(?:\[[\w,-]*\])?==[\w.]+\+cu(\d{2})(\d)\b"
)
_PIP_SUFFIX = re.compile(r"\b(cupy-cuda|nvidia-[a-z-]+-cu|onnxruntime-gpu-cu|jax\[cuda)(\d{2})(x|_local|_pip|\b)")
_APT = re.compile(
    r"\b(cuda-(?:toolkit|runtime|libraries|compat|cudart|compiler|minimal-build|nvcc)(?:-dev)?)-(\d{2})-(\d)\b"
)
_CONDA = re.compile(r"\b(pytorch-cuda|cudatoolkit|cuda-version|cuda-toolkit)[= <>]*=\s*\"?(\d{2})\.(\d)")
# Longer than any image's name; ARGs that double each other end here.
_MAX_VALUE = 4096


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: keyword in capitals, its text with continuation lines joined, first line's number."""

    keyword: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Stage:
    """One build stage: base as written and after ARG substitution, its name, its instructions."""

    base: str
    written: str
    name: str
    line: int
    instructions: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True)
class Brought:
    """A package that brings CUDA, and the version its name tells."""

    line: int
    package: str
    cuda: str


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """A Dockerfile's stages, the last of which is what a build without --target makes."""

    path: str
    stages: tuple[Stage, ...]

    def final_chain(self) -> tuple[Stage, ...]:
        """The last stage and those it is built on, the last one first."""
        below: list[int | None] = []
        names: dict[str, int] = {}
        for number, stage in enumerate(self.stages):
            # FROM can name a stage that stands above it only.
            below.append(names.get(stage.base.lower()))
            if stage.name:
                names[stage.name.lower()] = number
        chain: list[Stage] = []
        place = len(below) - 1 if below else None
        while place is not None:
            chain.append(self.stages[place])
            place = below[place]
        return tuple(chain)

    def environment(self) -> Iterator[tuple[str, str, int]]:
        """ENV settings of the final image: name, value as written, line; the oldest first."""
        for stage in reversed(self.final_chain()):
            for instruction in stage.instructions:
                if instruction.keyword == "ENV":
                    yield from _env(instruction)

    def brought(self) -> Iterator[Brought]:
        """Packages that RUN lines of the final image install and that bring CUDA."""
        for stage in reversed(self.final_chain()):
            for instruction in stage.instructions:
                if instruction.keyword == "RUN":
                    yield from packages(instruction)


def read_dockerfile(text: str, path: str) -> Dockerfile:
    """Read a Dockerfile; lines that are no instruction are left out."""
    stages: list[Stage] = []
    arguments: dict[str, str] = {}
    body: list[Instruction] = []
    for instruction in _instructions(text):
        if instruction.keyword == "ARG" and not stages:
            name, equals, value = instruction.text.partition("=")
            if equals:
                arguments[name.strip()] = _substitute(value.strip().strip("\"'"), arguments)
        elif instruction.keyword == "FROM":
            if stages:
                stages[-1] = replace(stages[-1], instructions=tuple(body))
            body = []
            stages.append(_stage(instruction, arguments))
        elif stages:
            body.append(instruction)
    if stages:
        stages[-1] = replace(stages[-1], instructions=tuple(body))
    return Dockerfile(path, tuple(stages))


def _stage(instruction: Instruction, arguments: Mapping[str, str]) -> Stage:
    words = [word for word in instruction.text.split() if not word.startswith("--")]
    written = words[0] if words else ""
    name = words[2] if len(words) > 2 and words[1].lower() == "as" else ""
    return Stage(_substitute(written, arguments), written, name, instruction.line)


def _substitute(text: str, arguments: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        known = arguments.get(match[1] or match[2])
        if match[3] and match[3].endswith("-") and known in (None, ""):
            return match[4] or ""
        return match[0] if known is None else known

    return _VARIABLE.sub(value, text)[:_MAX_VALUE]


def _instructions(text: str) -> Iterator[Instruction]:
    escape = "`" if re.match(r"#\s*escape\s*=\s*`", text, re.IGNORECASE) else "\\"
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        joined = [stripped]
        while joined[-1].endswith(escape):
            joined[-1] = joined[-1][:-1].rstrip()
            following = next(((n, t) for n, t in lines if t.strip() and not t.strip().startswith("#")), None)
            if following is None:
                break
            joined.append(following[1].strip())
        whole = " ".join(joined)
        for match in _HEREDOC.finditer(whole):
            body = []
            for _, inner in lines:
                if inner.strip() == match[2]:
                    break
                body.append(inner.strip())
            whole += "\n" + "\n".join(body)
        keyword, _, rest = whole.partition(" ")
        if keyword.isalpha():
            yield Instruction(keyword.upper(), rest.strip(), number)


def _env(instruction: Instruction) -> Iterator[tuple[str, str, int]]:
    pairs = _PAIR.findall(instruction.text)
    if pairs and re.match(r"\w+=", instruction.text):
        for name, value in pairs:
            yield name, value[1:-1] if value[:1] in "\"'" else value, instruction.line
    else:
        name, _, value = instruction.text.partition(" ")
        yield name, value.strip(), instruction.line


def packages(instruction: Instruction) -> Iterator[Brought]:
    """Packages of one RUN line that name a CUDA version."""
    text, line = instruction.text, instruction.line
    for match in _PIP_INDEX.finditer(text):
        yield Brought(line, "PyTorch's wheel index", f"{match[1]}.{match[2]}")
    for pattern in (_PIP_LOCAL, _APT, _CONDA):
        for match in pattern.finditer(text):
            yield Brought(line, match[1], f"{match[2]}.{match[3]}")
    for match in _PIP_SUFFIX.finditer(text):
        yield Brought(line, f"{match[1]}{match[2]}", f"{match[2]}.0")


def workload_of(file: Dockerfile) -> Workload:
    """The base image of the final stage in the form that all formats share."""
    chain = file.final_chain()
    uses = (image_use(chain[-1]),) if chain and chain[-1].base.lower() != "scratch" else ()
    return Workload("dockerfile", file.path, file.path.rsplit("/", 1)[-1], 1, uses)


def image_use(stage: Stage) -> ImageUse:
    """The use of a stage's base image."""
    unexpanded = is_unexpanded(stage.base)
    why_not = "its ARG has no default" if unexpanded else ""
    target = None if unexpanded else f"registry:{stage.base}"
    return ImageUse(stage.base, stage.line, "FROM", None, target, why_not, None, MappingProxyType({}))
