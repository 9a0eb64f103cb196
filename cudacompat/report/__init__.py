"""Reports for people and programs. A new output format is one file here and one line in ``FORMATS``."""

from __future__ import annotations

import importlib

from cudacompat.report.interface import Other, Render, Result, Unread
from cudacompat.report.style import Style

# Name on the command line -> module with a function ``render(results, style) -> str``.
FORMATS = {
    "text": "cudacompat.report.text",
    "json": "cudacompat.report.json",
    "sarif": "cudacompat.report.sarif",
    "junit": "cudacompat.report.junit",
    "github": "cudacompat.report.github",
    "markdown": "cudacompat.report.markdown",
    "html": "cudacompat.report.html",
}
# What commands without a verdict can write.
PLAIN_FORMATS = ("text", "json")

__all__ = ["FORMATS", "PLAIN_FORMATS", "Other", "Render", "Result", "Style", "Unread", "renderer"]


def renderer(name: str) -> Render:
    """The function that writes a format; its module is imported only now."""
    render: Render = importlib.import_module(FORMATS[name]).render
    return render
