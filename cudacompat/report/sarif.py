"""SARIF 2.1.0: for code scanning, editors and whatever else collects findings of many tools."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote

from cudacompat._version import __version__
from cudacompat.model import Report
from cudacompat.predict.rules import Rule
from cudacompat.report.document import Document
from cudacompat.report.interface import Other, Result, Unread, Waiting
from cudacompat.report.items import Item, advised, items, items_of, place_of, rule_of
from cudacompat.report.style import Style

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"
HOME = "https://github.com/cudacompat/cudacompat"
# The name that editors and code scanning give to the checkout's root.
_ROOT = "%SRCROOT%"
# What GitHub compares alerts by; its upload action works it out for files of the checkout, for images nobody can.
_GITHUB_PRINT = "primaryLocationLineHash"
_OUR_PRINT = "cudacompat/v1"
_SOURCES = ("docker-archive:", "oci-archive:", "oci-dir:", "docker:", "podman:", "registry:", "oci:", "dir:", "sif:")
_FILES = ("docker-archive:", "oci-archive:", "oci-dir:", "oci:", "dir:", "sif:")
# Surrogates that stand for no byte of a file's name: YAML's escapes can write them, UTF-8 cannot.
_UNWRITABLE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_CLEAN = Style()


def render(results: Sequence[Result], style: Style) -> str:
    """One run with a result for each point; the rules are explained, silenced findings are suppressed."""
    del style
    found = list(items(results))
    names = list(dict.fromkeys([item.rule for item in found] + [rule.rule for rule in _waiting(results)]))
    places = {name: place for place, name in enumerate(names)}
    run: Document = {
        "tool": {"driver": _driver(names, found, results)},
        "invocations": [_invocation(results, places)],
        "columnKind": "unicodeCodePoints",
        "results": _results(found, places),
        "properties": {"targets": [_target(result) for result in results]},
    }
    document = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _waiting(results: Sequence[Result]) -> list[Waiting]:
    return [rule for result in results if isinstance(result, Other) for rule in result.waiting]


def _driver(names: Sequence[str], found: Sequence[Item], results: Sequence[Result]) -> Document:
    editions = {result.tool.data_edition for result in results if isinstance(result, Report)}
    return {
        "name": "cudacompat",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": HOME,
        "properties": {"dataEditions": sorted(editions)},
        "rules": [_rule(name, found, results) for name in names],
    }


def _rule(name: str, found: Sequence[Item], results: Sequence[Result]) -> Document:
    """A rule's card with its explanation. Code scanning refuses cards without one, so a name stands in for it."""
    level = next((item.level for item in found if item.rule == name), "note")
    card: Document = {
        "id": _CLEAN.clean(name),
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["cuda"], "problem.severity": {"note": "recommendation"}.get(level, level)},
    }
    rule = rule_of(name, results)
    if rule is None:
        plain = _text(f"Rule {_CLEAN.clean(name, 200)} of cudacompat.")
        return {**card, "shortDescription": plain, "fullDescription": plain, "help": plain}
    if "-" in name:
        card["name"] = "".join(part.capitalize() for part in name.split("-"))
    card["shortDescription"] = {"text": rule.title}
    card["fullDescription"] = {"text": f"{rule.title} {rule.cause}"}
    card["help"] = {"text": _help(rule, ""), "markdown": _help(rule, "**")}
    if rule.stage is not None:
        card["properties"] = {**_properties(card), "tags": ["cuda", rule.stage]}
    return card


def _properties(card: Document) -> Document:
    found = card["properties"]
    return dict(found) if isinstance(found, dict) else {}


def _help(rule: Rule, mark: str) -> str:
    parts = (("Cause", rule.cause), ("How to confirm it", rule.confirm), ("What to do", rule.fix))
    return "\n\n".join(f"{mark}{title}:{mark} {text}" for title, text in parts if text)


def _invocation(results: Sequence[Result], places: dict[str, int]) -> Document:
    """How the run went: a target that was not read is a fault of the run, a rule that waits for facts a note."""
    unread = [result for result in results if isinstance(result, Unread)]
    return {
        "executionSuccessful": not unread,
        "toolExecutionNotifications": [
            {"level": "error", "message": _text(f"{result.reference}: {result.error}")} for result in unread
        ],
        "toolConfigurationNotifications": [
            {
                "level": "note",
                "message": _text(f"{rule.rule} was not judged: it waits for {rule.waits_for}."),
                "associatedRule": {"id": _CLEAN.clean(rule.rule), "index": places[rule.rule]},
            }
            for rule in dict.fromkeys(_waiting(results))
        ],
    }


def _results(found: Sequence[Item], places: dict[str, int]) -> list[Document]:
    seen: Counter[str] = Counter()
    return [_result(item, places[item.rule], seen) for item in found]


def _result(item: Item, place: int, seen: Counter[str]) -> Document:
    about = "" if item.path == item.subject else f"{item.subject}{f' on {item.host}' if item.host else ''}: "
    result: Document = {
        "ruleId": _CLEAN.clean(item.rule),
        "ruleIndex": place,
        "level": item.level,
        "message": _text(about + advised(item.message, item.fix)),
        "locations": [_location(item)],
        "partialFingerprints": _fingerprints(item, seen),
    }
    if item.silenced is not None:
        kind = "inSource" if item.silenced.in_file else "external"
        result["suppressions"] = [{"kind": kind, "justification": _CLEAN.clean(item.silenced.reason)}]
    return result


def _text(text: str) -> Document:
    return {"text": _CLEAN.clean(text)}


def _location(item: Item) -> Document:
    """A place: code scanning wants a file and a line for every result, so an image stands for a file of its name."""
    uri = _file_uri(item.path) if item.path is not None else image_uri(item.subject)
    artifact = {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": _ROOT}
    return {
        "physicalLocation": {"artifactLocation": artifact, "region": {"startLine": max(1, item.line or 1)}},
        "logicalLocations": [{"fullyQualifiedName": _CLEAN.clean(item.subject) or "image", "kind": "resource"}],
    }


def image_uri(reference: str) -> str:
    """A URI for an image: the file's own for archives and folders, else the reference as a relative path."""
    source = next((name for name in _SOURCES if reference.startswith(name)), "")
    place = reference[len(source) :]
    if source in _FILES or place.startswith(("/", "./", "../")):
        return _file_uri(place)
    return _escaped(place.lstrip("/")) or "image"


def _file_uri(path: str) -> str:
    if path.startswith("/"):
        return f"file://{_escaped(posixpath.normpath(path).replace('//', '/', 1))}"
    return _escaped(posixpath.normpath(path)) or "file"


def _escaped(path: str) -> str:
    """A path as a URI's. A colon is escaped too: in a relative path it would end a scheme."""
    return quote(_UNWRITABLE.sub("\ufffd", path).encode("utf-8", "surrogateescape"), safe="/-._~")


def _fingerprints(item: Item, seen: Counter[str]) -> Document:
    """What stays the same from run to run. Of several results that agree in all of it, each has its number."""
    parts = (item.rule, item.subject, item.host, item.path or "", item.message)
    digest = _digest(parts)
    seen[digest] += 1
    prints: Document = {_OUR_PRINT: f"{digest}:{seen[digest]}"}
    if item.path is None:
        # The message may name versions that change while the alert is still the same one.
        stable = _digest((item.rule, item.subject, item.host))
        seen[stable] += 1
        prints[_GITHUB_PRINT] = f"{stable[:16]}:{seen[stable]}"
    return prints


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _target(result: Result) -> Document:
    """What a target came to, also where it has no result."""
    if isinstance(result, Unread):
        return {"reference": _CLEAN.clean(result.reference), "error": _CLEAN.clean(result.error)}
    name = result.target.reference if isinstance(result, Report) else result.reference
    host = place_of(result) if isinstance(result, Report) else result.place
    verdict = result.verdict
    document: Document = {"reference": _CLEAN.clean(name), "outcome": verdict.outcome, "stage": verdict.stage}
    document["summary"] = _CLEAN.clean(verdict.summary)
    document["points"] = sum(1 for _ in items_of(result))
    return {**document, "host": _CLEAN.clean(host)} if host else document
