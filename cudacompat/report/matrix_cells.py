"""What a cell of the matrix says: a sign, a short word, and a sentence."""

from __future__ import annotations

from cudacompat.model import Verdict

# Outcome -> the style's symbol and the word of the legend.
OUTCOMES = {
    "runs": ("ok", "runs"),
    "runs-limited": ("limited", "runs with limits"),
    "depends": ("depends", "depends on facts that were not given"),
    "fails": ("fails", "fails, with the error code or the stage"),
    "unknown": ("unknown", "cannot be told"),
    "no-cuda": ("skipped", "nothing of CUDA in the image"),
}
STAGE_WORDS = {
    "cpu": "image for another processor",
    "gpu": "no GPU handed in",
    "req": "refused at start (requirement)",
    "lib": "wrong driver library",
    "libs": "a library is missing",
}
_SHORT_STAGES = {"platform": "cpu", "request": "gpu", "start": "req", "driver-library": "lib", "libraries": "libs"}


def short(verdict: Verdict) -> str:
    """At most four characters: the error code of a failure, or its stage; empty for what does not fail."""
    if verdict.outcome != "fails":
        return ""
    if verdict.error is not None and verdict.error.code is not None:
        return str(verdict.error.code)
    return _SHORT_STAGES.get(verdict.stage or "", verdict.stage or "")
