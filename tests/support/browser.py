"""A real browser for the tests of pages: headless Chromium with a profile of its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.servers import unavailable

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
)
_SECONDS = 120


def load(page: Path, profile: Path) -> tuple[str, list[str]]:
    """The document that the browser made of a page, and what it complains of in the page's console."""
    program = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if program is None:
        unavailable("chromium is not installed")
    command = [str(program), *_OPTIONS, f"--user-data-dir={profile}", "--dump-dom", page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    log = done.stderr.decode(errors="replace")
    assert done.returncode == 0, log
    return done.stdout.decode(), [line for line in log.splitlines() if "CONSOLE" in line]
