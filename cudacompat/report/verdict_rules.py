"""What list-shaped formats say of a verdict that no finding speaks for, explained like findings."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cudacompat.model.prediction import Level, Outcome
from cudacompat.predict.rules import Rule

NOT_READ = "target-not-read"
# Outcome -> the rule that stands for it, and its level. What runs or has no CUDA needs no line in a list.
OF_OUTCOME: Mapping[Outcome, tuple[str, Level]] = MappingProxyType(
    {
        "fails": ("verdict-fails", "error"),
        "depends": ("verdict-depends", "warning"),
        "unknown": ("verdict-unknown", "warning"),
        "runs-limited": ("verdict-runs-limited", "note"),
    }
)
_ALL = (
    Rule(
        "verdict-fails",
        None,
        "The image is predicted to fail on this host.",
        "A launch stage fails; the message names it with the error that a user would see.",
        "cudacompat check TARGET --verbose shows the evidence behind each stage.",
        "The report's remedies were predicted again before they were listed; the first one is the cheapest.",
    ),
    Rule(
        "verdict-depends",
        None,
        "Whether the image runs depends on facts that nobody gave.",
        "The prediction differs between the possible values of these facts.",
        "cudacompat check TARGET lists the outcome for each value.",
        "Give the facts: --driver, --gpu, --injection, --host FILE, or a profile in cudacompat.toml.",
    ),
    Rule(
        "verdict-unknown",
        None,
        "Whether the image runs cannot be told.",
        "Evidence in the image or facts about the host are missing; nothing is assumed in their place.",
        "The message and the report's coverage name what is missing.",
        "Give the host's facts, and leave out --quick so that the layers are read.",
    ),
    Rule(
        "verdict-runs-limited",
        None,
        "The image runs, with named limits.",
        "It starts and computes by minor version compatibility, by JIT at first load, or with a part falling back.",
        "cudacompat check TARGET names the limits.",
        "Nothing has to change; --fail-on limited makes a job stop for it.",
    ),
    Rule(
        NOT_READ,
        None,
        "A target could not be read.",
        "It is missing, refused, broken or of an unknown type, or the network failed.",
        "cudacompat inspect TARGET says the same sentence.",
        "Mend what the message names and check again; until then nothing is known about it.",
    ),
)
VERDICT_RULES: Mapping[str, Rule] = MappingProxyType({rule.name: rule for rule in _ALL})
