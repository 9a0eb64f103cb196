"""Programs that start several GPU processes: torchrun, accelerate, deepspeed, composer, vLLM and their kin.

The question asked of each command line: how many processes does one copy of it start on one node, for
which each wants a GPU of its own?
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Program = Literal[
    "torchrun", "accelerate", "deepspeed", "composer", "vllm", "tgi", "sglang", "mpirun", "python", "other"
]
_WRAPPERS = frozenset({"exec", "time", "nohup", "command", "sudo", "stdbuf", "unbuffer", "catchsegv"})
_VALUE_WRAPPERS = frozenset({"timeout", "nice", "ionice", "taskset", "numactl", "chrt"})
# Tools that run a program in an environment: options that take a value, after the word "run".
_RUNNERS: Mapping[str, frozenset[str]] = {
    "conda": frozenset({"-n", "--name", "-p", "--prefix", "--cwd"}),
    "mamba": frozenset({"-n", "--name", "-p", "--prefix", "--cwd"}),
    "micromamba": frozenset({"-n", "--name", "-p", "--prefix", "--cwd", "-e", "--env"}),
    "uv": frozenset({"--with", "--python", "-p", "--project", "--directory", "--extra", "--group", "--env-file"}),
    "poetry": frozenset({"-C", "--directory", "-P", "--project"}),
    "pixi": frozenset({"-e", "--environment", "--manifest-path"}),
    "pipenv": frozenset(),
    "pdm": frozenset({"-p", "--project"}),
}
_PYTHON = re.compile(r"python[\d.]*$")
_TORCH_MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch"})
# How servers name the number of GPUs a model is split over: vLLM, text-generation-inference, SGLang.
_SPLIT_OPTIONS = ("--tensor-parallel-size", "-tp", "--num-shard", "--tp-size", "--tp")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Launcher:
    """What a command line starts.

    ``processes`` is per node and per copy of the launcher: a number, "gpu" (as many as GPUs are visible),
    or None when the text does not say. ``total`` is the number over all nodes where that is what the option
    means. ``nodes`` is (least, most) as the launcher is told, None when not told or not a number.
    ``rendezvous`` tells whether agents are told to find each other; ``tensor_parallel`` x
    ``pipeline_parallel`` is the number of GPUs a server splits its model over.
    """

    program: Program
    processes: int | Literal["gpu"] | None = None
    total: int | None = None
    nodes: tuple[int, int] | None = None
    rendezvous: bool = False
    standalone: bool = False
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None

    @property
    def starts_workers(self) -> bool:
        """Whether it is an agent that starts worker processes of its own."""
        return self.program in ("torchrun", "accelerate", "deepspeed", "composer")

    @property
    def model_gpus(self) -> int | None:
        """GPUs that one served model is split over, None when the command line does not say."""
        if self.tensor_parallel is None and self.pipeline_parallel is None:
            return None
        return (self.tensor_parallel or 1) * (self.pipeline_parallel or 1)


def unwrap(words: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Take off `env A=b`, `time`, `numactl ...` and their kin: the command and what they set."""
    rest = list(words)
    settings: dict[str, str] = {}
    while rest:
        name = rest[0].rsplit("/", 1)[-1]
        if name == "env":
            rest = rest[1:]
            while rest and (rest[0].startswith("-") or _ASSIGNMENT.fullmatch(rest[0])):
                match = _ASSIGNMENT.fullmatch(rest.pop(0))
                if match:
                    settings[match[1]] = match[2]
        elif name in _WRAPPERS:
            rest = rest[1:]
        elif name in _RUNNERS and "run" in rest[1:4]:
            rest = _after_run(rest[rest.index("run") + 1 :], _RUNNERS[name])
        elif name in _VALUE_WRAPPERS:
            rest = _after_options(rest[1:], takes_number=name == "timeout")
        else:
            break
    return tuple(rest), settings


def _after_run(words: list[str], with_value: frozenset[str]) -> list[str]:
    index = 0
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in with_value else 1
    return words[index:]


def _after_options(words: list[str], *, takes_number: bool) -> list[str]:
    index = 0
    while index < len(words) and words[index].startswith("-"):
        separate = len(words[index]) == 2 and index + 1 < len(words) and words[index + 1][:1].isdigit()
        index += 2 if separate else 1
    return words[index + 1 :] if takes_number else words[index:]


def find_launcher(words: Sequence[str]) -> Launcher:
    """What ``words`` starts. Plain programs give program "python" or "other" and nothing else."""
    command, _ = unwrap(words)
    if not command:
        return Launcher("other")
    name, arguments = command[0].rsplit("/", 1)[-1], command[1:]
    if _PYTHON.match(name):
        return _python(arguments)
    if name == "accelerate" and arguments[:1] == ("launch",):
        return _accelerate(arguments[1:])
    return _PROGRAMS.get(name, _other)(arguments)


def _other(arguments: tuple[str, ...]) -> Launcher:
    return _server("other", arguments)


def _composer(arguments: tuple[str, ...]) -> Launcher:
    return Launcher("composer", processes=_number(arguments, "-n", "--nproc"))


def _vllm(arguments: tuple[str, ...]) -> Launcher:
    return _server("vllm", arguments)


def _tgi(arguments: tuple[str, ...]) -> Launcher:
    return Launcher("tgi", tensor_parallel=_number(arguments, "--num-shard"))


def _python(arguments: tuple[str, ...]) -> Launcher:
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-m":
        rest.pop(0)
    module = rest[1] if rest[:1] == ["-m"] and len(rest) > 1 else ""
    after = tuple(rest[2:])
    if module in _TORCH_MODULES:
        return _torchrun(after)
    if module.startswith("accelerate.commands.launch"):
        return _accelerate(after)
    if module.startswith("deepspeed.launcher"):
        return _deepspeed(after)
    if module.startswith("vllm."):
        return _server("vllm", after)
    if module.startswith("sglang"):
        return Launcher("sglang", tensor_parallel=_number(after, "--tp", "--tp-size", "--tensor-parallel-size"))
    return _server("python", after)


def _server(program: Program, arguments: tuple[str, ...]) -> Launcher:
    return Launcher(
        program,
        tensor_parallel=_number(arguments, *(_SPLIT_OPTIONS if program != "python" else _SPLIT_OPTIONS[:1])),
        pipeline_parallel=_number(arguments, "--pipeline-parallel-size", "-pp"),
    )


def _torchrun(arguments: tuple[str, ...]) -> Launcher:
    arguments = _own_arguments(arguments)
    per_node = _value(arguments, "--nproc-per-node")
    processes: int | Literal["gpu"] | None
    if per_node is None:
        processes = 1
    elif per_node in ("gpu", "auto"):
        processes = "gpu"
    else:
        processes = _integer(per_node)
    return Launcher(
        "torchrun",
        processes=processes,
        nodes=_node_range(_value(arguments, "--nnodes")),
        rendezvous=any(_value(arguments, f) is not None for f in ("--rdzv-endpoint", "--node-rank")),
        standalone="--standalone" in arguments,
    )


def _own_arguments(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The launcher's own options: up to the training script."""
    for index, word in enumerate(arguments):
        if word.endswith(".py"):
            return arguments[:index]
    return arguments


def _node_range(text: str | None) -> tuple[int, int] | None:
    match = re.fullmatch(r"(\d+)(?::(\d+))?", text or "")
    return (int(match[1]), int(match[2] or match[1])) if match else None


def _accelerate(arguments: tuple[str, ...]) -> Launcher:
    own = _own_arguments(arguments)
    machines = _number(own, "--num-machines")
    return Launcher(
        "accelerate",
        total=_number(own, "--num-processes"),
        nodes=None if machines is None else (machines, machines),
        rendezvous=_value(own, "--main-process-ip") is not None or _value(own, "--machine-rank") is not None,
    )


def _deepspeed(arguments: tuple[str, ...]) -> Launcher:
    own = _own_arguments(arguments)
    nodes = _number(own, "--num-nodes")
    processes = _number(own, "--num-gpus")
    return Launcher(
        "deepspeed",
        processes="gpu" if processes is None and _value(own, "--include") is None else processes,
        nodes=None if nodes is None else (nodes, nodes),
        rendezvous=_value(own, "--hostfile") is not None,
    )


def _mpirun(arguments: tuple[str, ...]) -> Launcher:
    return Launcher("mpirun", total=_number(arguments, "-n", "-np", "--np", "-c"))


def _value(arguments: Sequence[str], name: str) -> str | None:
    """The last value of an option; "-" and "_" inside long names are the same, as these programs have it."""
    wanted = name.replace("_", "-")
    found: str | None = None
    for index, word in enumerate(arguments):
        written, equals, value = word.partition("=")
        if written.replace("_", "-") != wanted:
            continue
        if equals:
            found = value
        elif index + 1 < len(arguments):
            found = arguments[index + 1]
    return found


def _number(arguments: Sequence[str], *names: str) -> int | None:
    for name in names:
        value = _value(arguments, name)
        if value is not None:
            return _integer(value)
    return None


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,6}", text) else None


_PROGRAMS: Mapping[str, Callable[[tuple[str, ...]], Launcher]] = {
    "torchrun": _torchrun,
    "deepspeed": _deepspeed,
    "composer": _composer,
    "vllm": _vllm,
    "api_server": _vllm,
    "text-generation-launcher": _tgi,
    "mpirun": _mpirun,
    "mpiexec": _mpirun,
    "orterun": _mpirun,
}
