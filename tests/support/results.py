"""Ready results of whole runs, for the formats that a CI job shows: images, files with findings by line, faults."""

from __future__ import annotations

from cudacompat.model import Finding, Location
from cudacompat.predict.rules import Rule
from cudacompat.report.interface import Nested, Other, Result, Silenced, Unread, Waiting
from tests.support.reports import REPORTS, verdict

SCRIPT = "jobs/train.sbatch"
_TWICE = "srun starts 4 copies of torchrun on each node: 16 processes share 4 GPUs"
_FINDINGS = (
    Finding("S04", "error", None, _TWICE, "--ntasks-per-node=1", (), Location(SCRIPT, 6)),
    # Two launchers on one line: the same rule at the same place.
    Finding("S04", "error", None, _TWICE, "--ntasks-per-node=1", (), Location(SCRIPT, 6)),
    Finding(
        "X03", "note", None, "repo/app can become another image at any time", "name a digest", (), Location(SCRIPT, 8)
    ),
    Finding("S17", "warning", None, "the job has no time limit", "", (), Location(SCRIPT, None)),
)
_SILENCED = Finding("S12", "warning", None, "CPUs are bound to one socket", "--cpu-bind=none", (), Location(SCRIPT, 3))
_RULES = {
    "S04": Rule(
        "S04", None, "Launcher processes and GPUs do not match.", "Seen with Slurm 22.05.", "It is plain.", "One."
    ),
    "X03": Rule("X03", None, "An image without a fixed tag.", "Tags move.", "Look.", "Name a digest."),
}
_TOOL = {"tool": {"name": "cudacompat", "version": "0.0.0", "data_edition": "2026-12"}}


def _words(_: object) -> str:
    return "the text format has tests of its own\n"


WORKLOAD = Other(
    SCRIPT,
    _FINDINGS,
    dict(_TOOL),
    _words,
    verdict("fails", _TWICE),
    silenced=(
        Silenced(_SILENCED, "the nodes have one socket", f"{SCRIPT}, line 2", True),
        Silenced(_SILENCED, "not here", "cudacompat.toml", False),
    ),
    images=(
        Nested("registry:repo/app:1.2", 8, REPORTS["init-fails"]),
        Nested("registry:repo/app:1.2", 9, REPORTS["runs"]),
        Nested("gone:latest", 10, None, "gone: there is no such image"),
    ),
    waiting=(
        Waiting("S15", "a GPU type that the site does not have", "the Slurm site's facts (`scontrol show node`)"),
    ),
    rules=_RULES,
)
COMMAND_LINE = Other(
    "command line",
    (
        Finding(
            "D02",
            "error",
            None,
            "--gpus 0,1 is no list of devices",
            "--gpus '\"device=0,1\"'",
            (),
            Location("command line", 1),
        ),
    ),
    dict(_TOOL),
    _words,
    verdict("fails", "--gpus 0,1 is no list of devices"),
    is_file=False,
    place="profile prod",
)
CLEAN = Other(SCRIPT, (), dict(_TOOL), _words, verdict("runs", "nothing in the request is wrong by itself"))
RUNS: dict[str, list[Result]] = {
    "runs": [REPORTS["runs"]],
    "fails": [REPORTS["refused"]],
    "depends": [REPORTS["depends"]],
    "several": [*REPORTS.values(), REPORTS["runs"], Unread("gone:latest", "no such image")],
    "workload": [WORKLOAD],
    "command-line": [COMMAND_LINE, CLEAN],
}
