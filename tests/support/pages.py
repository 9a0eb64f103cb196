"""Reads a page strictly: what stands in it, and what a page that stands alone must not have."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_EMPTY = frozenset({"meta", "br", "hr"})
_BRINGS = frozenset({"src", "srcset", "action", "formaction", "data", "poster", "background", "ping", "style"})
_REFUSED = frozenset({"script", "link", "iframe", "img", "object", "embed", "form", "base", "svg", "math", "template"})


class Page(HTMLParser):
    """A page's tags, headings, badges and texts. ``faults`` are things that must not be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.headings: list[int] = []
        self.scopes: list[str | None] = []
        self.badges: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.title = ""
        self.language: str | None = None
        self.text = ""
        self.faults: list[str] = []
        self._badge = False
        self.feed(text)
        self.close()
        self.faults += [f"{tag} is not closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag and judge its attributes."""
        values = dict(attrs)
        self.tags.append(tag)
        if tag not in _EMPTY:
            self.open.append(tag)
        if tag in _REFUSED:
            self.faults.append(f"a {tag}")
        self.faults += [name for name in values if name in _BRINGS or name.startswith("on")]
        if tag == "html":
            self.language = values.get("lang")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "th":
            self.scopes.append(values.get("scope"))
        if tag == "a":
            self.links.append(values.get("href") or "")
        if "id" in values:
            self.ids.append(values["id"] or "")
        if tag == "span" and (values.get("class") or "").startswith("badge"):
            self.badges.append("")
            self._badge = True

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that is open."""
        last = self.open.pop() if self.open else "nothing"
        if last != tag:
            self.faults.append(f"{last} ends as {tag}")

    def handle_data(self, data: str) -> None:
        """Collect texts."""
        inside = self.open[-1] if self.open else ""
        if inside == "title":
            self.title += data
        elif inside != "style":
            self.text += data
        if self._badge and inside == "span":
            self.badges[-1] += data
        if inside not in ("span",):
            self._badge = False


def check_alone(text: str) -> Page:
    """The page, once it is known to be whole, in order, in words, and without anything from outside."""
    page = Page(text)
    assert page.faults == []
    assert text.isascii() and text.startswith("<!DOCTYPE html>\n")
    assert page.language == "en" and page.title.startswith("cudacompat")
    assert page.tags.count("h1") == page.tags.count("main") == page.tags.count("style") == 1
    assert page.headings[0] == 1
    assert all(later <= earlier + 1 for earlier, later in zip(page.headings, page.headings[1:], strict=False))
    assert set(page.scopes) <= {"col", "row"}
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert len(set(page.ids)) == len(page.ids)
    # A word stands in every badge, not a colour and a sign alone.
    assert all(re.search(r"[a-z]{2}", badge) for badge in page.badges)
    style = text[text.index("<style>") : text.index("</style>")]
    assert "prefers-color-scheme: dark" in style and "url(" not in style and "@import" not in style
    return page
