"""Outcomes and statuses in words, for the formats that show them as a page."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cudacompat.model import Location, Report, Verdict
from cudacompat.model.prediction import Outcome
from cudacompat.report.interface import Other, Result, Unread
from cudacompat.report.items import place_of

# Outcome -> the style's symbol and the words beside it.
WORDS: Mapping[Outcome, tuple[str, str]] = MappingProxyType(
    {
        "runs": ("ok", "runs"),
        "runs-limited": ("limited", "runs with limits"),
        "depends": ("depends", "depends"),
        "fails": ("fails", "fails"),
        "unknown": ("unknown", "unknown"),
        "no-cuda": ("skipped", "no CUDA"),
    }
)
_PATHS = {"minor-version": "by minor version compatibility", "forward-compat": "by forward compatibility"}


def headline(verdict: Verdict) -> str:
    """The outcome in a few words: "fails at init, error 35"."""
    words = [WORDS[verdict.outcome][1] + (f" at {verdict.stage}" if verdict.stage else "")]
    if verdict.error is not None and verdict.error.code is not None:
        words.append(f"error {verdict.error.code}")
    if verdict.path in _PATHS:
        words.append(_PATHS[verdict.path])
    return ", ".join(words)


def name_of(result: Result) -> str:
    """What was checked, with its platform, and on which host where one run has several."""
    if isinstance(result, Report):
        platform = f" ({result.target.platform})" if result.target.platform else ""
        place = place_of(result)
        return f"{result.target.reference}{platform}{f' on {place}' if place else ''}"
    place = "" if isinstance(result, Unread) else result.place
    return f"{result.reference}{f' on {place}' if place else ''}"


def spot(location: Location) -> str:
    """A place in a file: "job.sh:7", or the file alone."""
    return location.path if location.line is None else f"{location.path}:{location.line}"


def symbol_of(result: Result) -> str:
    """The name of the sign in front of it."""
    return "fails" if isinstance(result, Unread) else WORDS[result.verdict.outcome][0]


def said_of(result: Result) -> tuple[str, str]:
    """Headline and sentence of one result."""
    if isinstance(result, Unread):
        return "could not be read", result.error
    return headline(result.verdict), result.verdict.summary


def tools_of(results: list[Result]) -> str:
    """Who says so: "cudacompat 0.1.0, tables of 2026-12"; empty where nothing was read."""
    for result in results:
        if isinstance(result, Report):
            return f"{result.tool.name} {result.tool.version}, tables of {result.tool.data_edition}"
        if isinstance(result, Other) and isinstance(tool := result.document.get("tool"), dict):
            return f"{tool.get('name')} {tool.get('version')}, tables of {tool.get('data_edition')}"
    return ""
