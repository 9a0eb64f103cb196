"""The pages in a real browser: it takes them as they are, and has nothing to complain of."""

from __future__ import annotations

import re
from pathlib import Path

from cudacompat.report import Style, Unread, renderer
from tests.report.test_hostile import attacked
from tests.report.test_html import hostile_file, matrix
from tests.support.browser import load
from tests.support.pages import Page

HOSTILE = "</title></style></code><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def test_chromium_builds_both_pages_as_written(tmp_path: Path) -> None:
    report = renderer("html")([attacked(HOSTILE), Unread(HOSTILE, HOSTILE), hostile_file(HOSTILE)], Style())
    for name, text in (("report", report), ("matrix", matrix(HOSTILE))):
        path = tmp_path / f"{name}.html"
        path.write_text(text)
        document, complaints = load(path, tmp_path / "profile")
        assert complaints == []
        written, built = Page(text), Page(document)
        # A parser mends what is wrong: where nothing is, the same elements come out, with the same words.
        assert built.tags == written.tags
        assert built.faults == written.faults == []
        assert re.sub(r"\s+", " ", built.text).strip() == re.sub(r"\s+", " ", written.text).strip()
        assert built.title == written.title
