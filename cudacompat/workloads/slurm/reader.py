"""Read a batch script or an srun line: what is asked for, every program started, and how it is started."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from cudacompat.model.host import Injection
from cudacompat.workloads.arguments import Grammar, parse
from cudacompat.workloads.docker.command import DockerRun, is_engine_run, parse_run
from cudacompat.workloads.docker.lines import image_use as engine_use
from cudacompat.workloads.images import is_file, is_unexpanded
from cudacompat.workloads.interface import GpuRequest, ImageUse, Workload
from cudacompat.workloads.launchers import Launcher, find_launcher, unwrap
from cudacompat.workloads.shell.script import Assignment, Command, nested_script, read_script
from cudacompat.workloads.slurm.directives import Directives, read_directives, without_lines
from cudacompat.workloads.slurm.gpus import asks_for_gpus, entries_of, gpu_uses, gpus_per_node, nodes, tasks_per_node
from cudacompat.workloads.slurm.options import OptionSet, OptionUse, merge, parse_options

Tool = Literal["pyxis", "enroot", "apptainer", "docker", "podman", "oci"]
MAX_NESTING = 6
_STEP_PROGRAMS = frozenset({"srun", "salloc"})
_APPTAINER = frozenset({"singularity", "apptainer"})
_APPTAINER_FLAGS = """
    nv nvccli rocm writable writable-tmpfs contain containall cleanenv fakeroot ipc net pid userns no-home
    no-eval no-umask no-init no-privs keep-privs compat allow-setuid underlay
"""
_APPTAINER_GRAMMAR = Grammar(
    {"B": "bind", "H": "home", "W": "workdir", "w": "writable", "c": "contain", "C": "containall",
     "e": "cleanenv", "f": "fakeroot", "i": "ipc", "n": "net", "p": "pid", "s": "shell", "u": "userns"},
    frozenset(_APPTAINER_FLAGS.split()),
)  # fmt: skip
_ENROOT_GRAMMAR = Grammar(
    {
        "c": "conf",
        "e": "env",
        "m": "mount",
        "r": "root",
        "w": "rw",
        "o": "output",
        "a": "arch",
        "n": "name",
        "f": "force",
    },
    frozenset({"root", "rw", "force"}),
)
_SHELL_SHEBANG = re.compile(r"#!.*\b(?:ba|da|z|k|a|c|tc)?sh\b")

# What apptainer can start from, spelt as this tool's own targets are.
_ARCHIVES = ("docker-archive:", "docker-daemon:", "oci-archive:", "oci:")


@dataclass(frozen=True, slots=True)
class Container:
    """A container that a command starts: tool, image as written ("" when only named), its own switches."""

    tool: Tool
    image: str
    line: int
    flags: tuple[str, ...] = ()
    run: DockerRun | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """An srun step: its own options, those with the job's below them, and variables set on its line."""

    own: OptionSet
    options: OptionSet
    line: int
    given: Mapping[str, Assignment] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Launch:
    """One program started.

    ``step`` None: it runs in the batch shell. ``exports`` are the script's exported variables at that
    place, ``settings`` what is set for this program alone (inline, `env`, inside `bash -c`); ``inside`` are
    the names set by what srun starts, after Slurm has set its own.
    """

    words: tuple[str, ...]
    line: int
    launcher: Launcher
    step: Step | None
    container: Container | None
    exports: Mapping[str, Assignment]
    settings: Mapping[str, Assignment]
    inside: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SlurmScript:
    """A batch script, or a text with srun lines only (``is_batch`` False: each line is its own job)."""

    path: str
    text: str
    is_batch: bool
    directives: Directives
    job: OptionSet
    launches: tuple[Launch, ...] = ()
    exported: tuple[Assignment, ...] = ()
    commands: tuple[Command, ...] = ()

    def options_of(self, launch: Launch) -> OptionSet:
        """The options that hold for a launch: the step's over the job's."""
        return self.job if launch.step is None else launch.step.options


def read_slurm(text: str, path: str, *, submit_env: Mapping[str, str] | None = None) -> SlurmScript:
    """Read the script. ``submit_env`` are SBATCH_* variables of the submitting shell, which win over #SBATCH."""
    directives = read_directives(text)
    job = merge(directives.options, _from_environment(submit_env or {}))
    is_batch = bool(directives.options or directives.late or directives.near) or text.startswith("#!")
    base = SlurmScript(path, text, is_batch, directives, job)
    if text.startswith("#!") and not _SHELL_SHEBANG.match(text.split("\n", 1)[0]):
        return base
    script = read_script(text, path, known=_slurm_variables(job))
    base = replace(base, directives=without_lines(directives, script.quoted_lines))
    walk = _Walk(base)
    for command in script.commands:
        walk.top(command)
    return replace(base, launches=tuple(walk.launches), exported=script.exported, commands=script.commands)


def _from_environment(env: Mapping[str, str]) -> tuple[OptionUse, ...]:
    from cudacompat.workloads.slurm.options import SBATCH_VARIABLES

    return tuple(OptionUse(SBATCH_VARIABLES[name], value, 1) for name, value in env.items() if name in SBATCH_VARIABLES)


def _slurm_variables(job: OptionSet) -> dict[str, str]:
    """The variables Slurm sets that follow from the options alone."""
    known: dict[str, str] = {}
    count, per_node, gpus = nodes(job), tasks_per_node(job), gpus_per_node(job)
    if count is not None:
        known["SLURM_JOB_NUM_NODES"] = known["SLURM_NNODES"] = str(count)
    if per_node is not None and count is not None:
        known["SLURM_NTASKS"] = known["SLURM_NPROCS"] = str(per_node * count)
    for name, option in (
        ("SLURM_NTASKS_PER_NODE", "ntasks-per-node"),
        ("SLURM_CPUS_PER_TASK", "cpus-per-task"),
        ("SLURM_GPUS_PER_NODE", "gpus-per-node"),
        ("SLURM_GPUS", "gpus"),
        ("SLURM_GPUS_PER_TASK", "gpus-per-task"),
    ):
        if (value := job.number(option)) is not None:
            known[name] = str(value)
    if gpus is not None:
        known["SLURM_GPUS_ON_NODE"] = str(gpus)
    return known


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a command stands: in which step and container, and which variables hold."""

    exports: Mapping[str, Assignment]
    settings: Mapping[str, Assignment]
    step: Step | None = None
    container: Container | None = None
    depth: int = 0


@dataclass(slots=True)
class _Walk:
    script: SlurmScript
    launches: list[Launch] = field(default_factory=list)

    def top(self, command: Command) -> None:
        """Note one simple command of the script itself."""
        inline = {a.name: a for a in command.assignments}
        self.follow(command, command.words, _Place(command.exports, inline))

    def nested(self, command: Command, outer: _Place) -> None:
        """Note one simple command of a ``bash -c`` that stands at ``outer``."""
        inline = {**outer.settings, **command.exports, **{a.name: a for a in command.assignments}}
        self.follow(command, command.words, replace(outer, settings=inline, depth=outer.depth + 1))

    def follow(self, command: Command, words: tuple[str, ...], place: _Place) -> None:
        """Follow a command line through srun, containers and nested shells to the program it starts."""
        words, extra = unwrap(words)
        line = command.line
        place = replace(place, settings={**place.settings, **{k: Assignment(k, v, line) for k, v in extra.items()}})
        if not words or place.depth > MAX_NESTING:
            return
        if words[0].rsplit("/", 1)[-1] in _STEP_PROGRAMS:
            words, place = self._step(words[1:], line, place)
        elif (found := _container(words, line)) is not None:
            words, place = found[1], replace(place, container=found[0])
        else:
            inner = nested_script(command, words, self.script.path)
            if inner is None:
                self._add(words, line, place)
                return
            for command_inside in inner.commands:
                self.nested(command_inside, place)
            return
        if words:
            self.follow(command, words, replace(place, depth=place.depth + 1))
        else:
            self._add((), line, place)

    def _step(self, words: tuple[str, ...], line: int, place: _Place) -> tuple[tuple[str, ...], _Place]:
        uses, rest = parse_options(words, line)
        own = OptionSet(uses)
        exported = re.findall(r"(?:^|,)(\w+)=([^,]*)", own.value("export") or "")
        settings = {**place.settings, **{name: Assignment(name, value, line) for name, value in exported}}
        step = Step(own, merge(self.script.job.uses, uses), line, settings)
        container = _pyxis(step, place.exports, settings) or place.container
        return rest, replace(place, step=step, settings=settings, container=container)

    def _add(self, words: tuple[str, ...], line: int, place: _Place) -> None:
        # What the srun line itself was given came before Slurm set its own.
        before = {} if place.step is None else place.step.given
        inside = frozenset(k for k, a in place.settings.items() if place.step is not None and before.get(k) is not a)
        settings = MappingProxyType(dict(place.settings))
        launcher = find_launcher(words)
        self.launches.append(
            Launch(words, line, launcher, place.step, place.container, place.exports, settings, inside)
        )


def _container(words: tuple[str, ...], line: int) -> tuple[Container, tuple[str, ...]] | None:
    """The container that a command line starts, and the command inside it."""
    name = words[0].rsplit("/", 1)[-1]
    if name in _APPTAINER:
        return _apptainer(words[1:], line)
    if name == "enroot":
        return _enroot(words[1:], line)
    if is_engine_run(words):
        run = parse_run(words, line)
        return Container("podman" if run.engine == "podman" else "docker", run.image, line, run=run), run.command
    return None


def _pyxis(step: Step, exports: Mapping[str, Assignment], settings: Mapping[str, Assignment]) -> Container | None:
    use = step.options.use("container-image")
    if use is not None:
        return Container("pyxis", use.value, use.line)
    for source in (settings, exports):
        if (found := source.get("PYXIS_CONTAINER_IMAGE")) is not None:
            return Container("pyxis", found.value, found.line)
    named = step.options.use("container-name")
    if named is not None:
        return Container("pyxis", "", named.line)
    bundle = step.options.use("container")
    return Container("oci", bundle.value, bundle.line) if bundle is not None else None


def _apptainer(words: tuple[str, ...], line: int) -> tuple[Container, tuple[str, ...]] | None:
    outer = parse(words, Grammar({}, frozenset({"debug", "quiet", "silent", "verbose", "nocolor"})))
    if not outer.rest or outer.rest[0] not in ("exec", "run", "shell", "instance"):
        return None
    rest = outer.rest[2:] if outer.rest[0] == "instance" else outer.rest[1:]
    found = parse(rest, _APPTAINER_GRAMMAR)
    if not found.rest:
        return None
    flags = tuple(name for name, _ in found.pairs)
    return Container("apptainer", found.rest[0], line, flags), found.rest[1:]


def _enroot(words: tuple[str, ...], line: int) -> tuple[Container, tuple[str, ...]] | None:
    if not words or words[0] not in ("import", "start", "create"):
        return None
    found = parse(words[1:], _ENROOT_GRAMMAR)
    if not found.rest:
        return None
    if words[0] != "start":
        return Container("enroot", found.rest[0], line, (words[0],)), ()
    # What is started by its name was created before: the name is no image.
    return Container("enroot", found.rest[0] if is_file(found.rest[0]) else "", line, ("start",)), found.rest[1:]


def containers(script: SlurmScript) -> Iterator[tuple[Container, Launch | None]]:
    """Every container of the script, once for each image and tool, with the launch that starts it."""
    seen: set[tuple[str, str]] = set()
    for launch in script.launches:
        container = launch.container
        if container is not None and container.image and (container.tool, container.image) not in seen:
            seen.add((container.tool, container.image))
            yield container, launch
    use = script.job.use("container-image")
    if use is not None and ("pyxis", use.value) not in seen:
        yield Container("pyxis", use.value, use.line), None


def workload_of(script: SlurmScript) -> Workload:
    """The script's images and requests in the form that all formats share."""
    images = tuple(_image_use(script, c, launch) for c, launch in containers(script) if c.tool != "oci")
    sets = [script.job] if script.is_batch else [s.step.own for s in script.launches if s.step is not None]
    requests = tuple(request for options in sets for request in _requests(options))
    name = script.job.value("job-name") or script.path.rsplit("/", 1)[-1]
    return Workload("slurm", script.path, name, 1, images, requests)


def _requests(options: OptionSet) -> Iterator[GpuRequest]:
    units: dict[str, Literal["node", "job", "task"]] = {"gpus": "job", "gpus-per-task": "task", "tres-per-task": "task"}
    for use in gpu_uses(options):
        for entry in entries_of(use):
            if entry.kind in ("gpu", "shard", "mps"):
                yield GpuRequest(entry.kind, entry.count, units.get(use.name, "node"), use.line, entry.gpu_type)


def _image_use(script: SlurmScript, container: Container, launch: Launch | None) -> ImageUse:
    gpus = asks_for_gpus(script.job if launch is None else script.options_of(launch))
    target, why_not = _target(container)
    if any(cut.line == container.line and cut.option == "container-image" for cut in script.directives.cut):
        target, why_not = None, "its name is cut at an unescaped #"
    if container.run is not None:
        return replace(engine_use(container.run), started_by=container.tool)
    return ImageUse(container.image, container.line, container.tool, _injection(container), target, why_not, gpus)


def _injection(container: Container) -> Injection | None:
    if container.tool in ("pyxis", "enroot"):
        return "enroot"
    if container.tool == "apptainer":
        return "apptainer-nvccli" if "nvccli" in container.flags else "apptainer"
    return None


def _target(container: Container) -> tuple[str | None, str]:
    image = container.image
    if is_unexpanded(image):
        return None, "the name holds variables that this text does not set"
    if is_file(image):
        # Read by content: SIF and squashfs alike, where the cluster's file system is mounted here too.
        return f"sif:{image}", ""
    if image.startswith(("/", "./", "../")) and container.tool != "apptainer":
        return None, "a path on the cluster"
    return _reference(image, container.tool), ""


def _reference(image: str, tool: str) -> str:
    """The image in this program's own spelling of targets."""
    if image.startswith(("dockerd://", "podman://")):
        scheme, _, name = image.partition("://")
        return f"{'docker' if scheme == 'dockerd' else 'podman'}:{name}"
    if tool == "apptainer" and image.startswith(_ARCHIVES):
        return image
    if image.startswith(("/", "./", "../")):
        return f"dir:{image}"
    name = re.sub(r"^[a-z][a-z-]*://", "", image).replace("#", "/")
    return f"registry:{name}"
