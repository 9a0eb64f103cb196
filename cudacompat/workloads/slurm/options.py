"""The options of sbatch, srun and salloc, and where each one was written.

Sources: the manual pages sbatch(1) and srun(1) of Slurm 22.05 to 26.05; pyxis' options from its README.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cudacompat.workloads.arguments import Grammar, parse

_SHORT = {
    "A": "account", "a": "array", "b": "begin", "B": "extra-node-info", "C": "constraint", "c": "cpus-per-task",
    "D": "chdir", "d": "dependency", "e": "error", "F": "nodefile", "G": "gpus", "i": "input", "J": "job-name",
    "L": "licenses", "M": "clusters", "m": "distribution", "N": "nodes", "n": "ntasks", "o": "output",
    "p": "partition", "q": "qos", "S": "core-spec", "t": "time", "w": "nodelist", "x": "exclude",
    "T": "threads", "r": "relative",
    "H": "hold", "h": "help", "O": "overcommit", "Q": "quiet", "s": "oversubscribe", "V": "version",
    "v": "verbose", "W": "wait", "E": "preserve-env", "l": "label", "u": "unbuffered", "X": "disable-status",
    "Z": "no-allocate", "K": "kill-on-bad-exit", "k": "no-kill", "I": "immediate", "j": "jobid",
}  # fmt: skip
_FLAGS_NAMES = """
    contiguous hold help usage version overcommit overlap quiet verbose parsable requeue no-requeue reboot
    spread-job test-only use-min-nodes preserve-env label unbuffered disable-status no-allocate multi-prog
    quit-on-interrupt allow-overlap exact whole ignore-pbs async debugger-test launch-cmd
    container-mount-home no-container-mount-home container-remap-root no-container-remap-root
    container-entrypoint no-container-entrypoint container-writable container-readonly oversubscribe
    container-entrypoint-log no-container-entrypoint-log
"""
_FLAGS = frozenset(_FLAGS_NAMES.split())
_OPTIONAL = frozenset({"exclusive", "nice", "wait", "no-kill", "get-user-env", "propagate", "pty", "immediate"}) | {
    "kill-on-bad-exit",
}
_WITH_VALUE_NAMES = """
    account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters comment constraint container
    container-id core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency
    distribution error exclude export export-file extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node
    gpus-per-socket gpus-per-task gres gres-flags hint input job-name kill-on-invalid-dep licenses mail-type
    mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network nodefile nodelist nodes ntasks
    ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output partition power prefer
    priority profile qos reservation segment signal sockets-per-node switches thread-spec threads-per-core time
    time-min tmp tres-bind tres-per-task uid wait-all-nodes wckey wrap mpi cpu-bind epilog prolog task-epilog
    task-prolog bcast compress jobid relative slurmd-debug threads resv-ports het-group max-exit-timeout
    accel-bind stepmgr treewidth msg-timeout send-libs container-image container-mounts container-workdir
    container-name container-save container-env external-launcher
"""
_WITH_VALUE = frozenset(_WITH_VALUE_NAMES.split())
GRAMMAR = Grammar(_SHORT, _FLAGS, _OPTIONAL, _WITH_VALUE)
SBATCH_VARIABLES = {
    "SBATCH_GPUS": "gpus",
    "SBATCH_GPUS_PER_NODE": "gpus-per-node",
    "SBATCH_GPUS_PER_TASK": "gpus-per-task",
}


@dataclass(frozen=True, slots=True)
class OptionUse:
    """One option as written: long name, value ("" for none), line."""

    name: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class OptionSet:
    """Options of a job or a step in the order given; the last use of a name wins, as Slurm has it."""

    uses: tuple[OptionUse, ...] = ()

    def use(self, *names: str) -> OptionUse | None:
        """The use that counts of the first name that is given."""
        for name in names:
            for use in reversed(self.uses):
                if use.name == name:
                    return use
        return None

    def value(self, name: str) -> str | None:
        """The value that counts, None when not given."""
        use = self.use(name)
        return None if use is None else use.value

    def number(self, name: str) -> int | None:
        """The value as a whole number, None when not given or not one."""
        value = self.value(name)
        return int(value) if value is not None and value.isdigit() and len(value) < 9 else None

    def has(self, name: str) -> bool:
        """Whether the option is given."""
        return self.use(name) is not None

    def line(self, *names: str) -> int:
        """The line of the option, or 1."""
        use = self.use(*names)
        return 1 if use is None else use.line


def parse_options(words: Sequence[str], line: int) -> tuple[tuple[OptionUse, ...], tuple[str, ...]]:
    """Options at the start of ``words`` and the words after them."""
    found = parse(words, GRAMMAR)
    return tuple(OptionUse(name, value or "", line) for name, value in found.pairs), found.rest


def merge(*sets: Iterable[OptionUse]) -> OptionSet:
    """Later sets win over earlier ones."""
    return OptionSet(tuple(use for group in sets for use in group))
