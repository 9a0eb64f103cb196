"""Rules on #SBATCH lines as text: S02, S03, S17, S18, S19, S29."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cudacompat.model.prediction import Level
from cudacompat.workloads.interface import Hit, Inventory
from cudacompat.workloads.slurm.book import BOOK, all_sets
from cudacompat.workloads.slurm.gpus import GPU_OPTIONS, gpu_entries, gres_entries
from cudacompat.workloads.slurm.reader import SlurmScript

_PATHS = frozenset({"output", "error", "input", "chdir", "job-name", "comment", "mail-user"})
_NEAR = {
    "space": "there is a blank after the #",
    "hashes": "there are two #",
    "indented": "it does not start at the first column",
    "misspelt": "the word is not SBATCH",
    "case": "SBATCH must be in capitals",
}


@BOOK.rule(
    "S02", "error", "#SBATCH after the first command",
    fix="move the #SBATCH lines up, before the first command", source="run with Slurm 22.05.8",
)  # fmt: skip
def late_directives(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S02: one finding for each block of late lines."""
    first = script.directives.first_command
    previous = -1
    for line, text in script.directives.late:
        if line != previous + 1:
            yield Hit(line, f"{text.strip()} stands after the first command (line {first}): sbatch ignores it silently")
        previous = line


@BOOK.rule(
    "S03", "warning", "a line that looks like a directive and is a comment",
    fix='write "#SBATCH " at the start of the line', source="run with Slurm 22.05.8",
)  # fmt: skip
def near_misses(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S03."""
    for line, text, kind in script.directives.near:
        yield Hit(line, f"{text[:80]} is a comment to sbatch: {_NEAR[kind]}")


@BOOK.rule(
    "S17", "error", "a word where --gpus and its kin want a number",
    fix="write the number alone, or type:number: --gpus=2, --gpus-per-node=a100:2", source="run with Slurm 22.05.8",
)  # fmt: skip
def gpu_word(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S17: --gpus=gpu:2 and --gpus=all name a GPU type "gpu" or "all"."""
    for options in all_sets(script):
        for name in GPU_OPTIONS:
            use = options.use(name)
            if use is None or name in ("gres", "tres-per-task"):
                continue
            for entry in gpu_entries(use.value):
                if (entry.gpu_type or "").lower() in ("gpu", "gpus", "all", "any"):
                    message = f"--{name}={use.value} asks for GPUs of a type named {entry.gpu_type!r}: no node has it"
                    yield Hit(use.line, message)


@BOOK.rule(
    "S18", "error", "--gres names no resource",
    fix="write --gres=gpu:2 or --gres=gpu:a100:2", source="run with Slurm 22.05.8",
)  # fmt: skip
def bad_gres(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S18: gpus:2, gpu=2, gres/gpu:1, nvidia.com/gpu:1, and "--gres = gpu:2"."""
    for options in all_sets(script):
        use = options.use("gres")
        for entry in gres_entries(use.value) if use is not None else ():
            if entry.kind == "=" or ("gpu" in entry.kind.lower() and entry.kind != "gpu") or "=" in entry.kind:
                line = 1 if use is None else use.line
                yield Hit(line, f'--gres={entry.text}: Slurm answers "Invalid generic resource (gres) specification"')


@BOOK.rule(
    "S19", "error", "a variable in an #SBATCH line",
    fix="write the value, or give the option on sbatch's command line", source="run with Slurm 22.05.8",
)  # fmt: skip
def variables(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S19: no shell reads the line, so the text goes to Slurm as it is."""
    for use in script.directives.options:
        if re.search(r"\$[A-Za-z_{(]", use.value):
            level: Level | None = "warning" if use.name in _PATHS else None
            message = f"--{use.name}={use.value}: sbatch expands no variables, the text {use.value!r} itself is used"
            yield Hit(use.line, message, level=level)


@BOOK.rule(
    "S29", "error", "an unescaped # in an image's name",
    fix="escape it (\\#) or put the value in quotes", source="run with Slurm 22.05.8; pyxis README",
)  # fmt: skip
def cut_image(script: SlurmScript, _inventory: Inventory) -> Iterator[Hit]:
    """S29: the rest of the line is a comment."""
    for cut in script.directives.cut:
        if cut.option == "container-image":
            yield Hit(cut.line, f"the image is cut to {cut.kept!r}: {cut.dropped!r} is a comment to sbatch")
