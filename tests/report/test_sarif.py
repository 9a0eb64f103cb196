"""SARIF against the published schema, and what GitHub's code scanning asks for beyond it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, FormatChecker

from cudacompat.cli.workload_rules import workload_rules
from cudacompat.model import Finding, Location
from cudacompat.predict.rules import RULES
from cudacompat.report import Other, Result, Style, Unread, renderer
from cudacompat.report.interface import Waiting
from cudacompat.report.sarif import image_uri
from cudacompat.report.verdict_rules import VERDICT_RULES
from cudacompat.workloads import rule_cards
from tests.report.test_hostile import ATTACKS, attacked
from tests.support.reports import REPORTS
from tests.support.results import COMMAND_LINE, RUNS, SCRIPT, WORKLOAD

SCHEMA = Path(__file__).parent.parent / "data" / "sarif" / "sarif-schema-2.1.0.json"


@lru_cache
def validator() -> Draft4Validator:
    return Draft4Validator(json.loads(SCHEMA.read_text()), format_checker=FormatChecker())


def sarif(results: list[Result]) -> dict[str, Any]:
    """The document's only run, once the document is known to follow the schema."""
    text = renderer("sarif")(results, Style())
    assert text.isascii() and text.endswith("\n")
    document = json.loads(text)
    errors = [f"{list(error.path)}: {error.message[:200]}" for error in validator().iter_errors(document)]
    assert errors == []
    assert document["version"] == "2.1.0" and len(document["runs"]) == 1
    run: dict[str, Any] = document["runs"][0]
    check_for_code_scanning(run)
    return run


def check_for_code_scanning(run: dict[str, Any]) -> None:
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        for key in ("shortDescription", "fullDescription", "help"):
            assert rule[key]["text"].strip()
        assert len(rule["shortDescription"]["text"]) <= 1024 and len(rule["fullDescription"]["text"]) <= 1024
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert len(rule["properties"]["tags"]) <= 20
        assert rule.get("name") != rule["id"]
    prints = []
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"].strip()
        assert len(result["locations"]) == 1
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] >= 1
        check_uri(place["artifactLocation"])
        prints.append(result["partialFingerprints"]["cudacompat/v1"])
    assert len(set(prints)) == len(prints)


def check_uri(place: dict[str, str]) -> None:
    uri = place["uri"]
    assert uri.isascii() and not set(uri) & set(' "<>\\^`{}|[]')
    if uri.startswith("file:"):
        assert uri.startswith("file:///") and "uriBaseId" not in place
    else:
        assert uri and not uri.startswith("/") and ":" not in uri and "?" not in uri and "#" not in uri
        assert place["uriBaseId"] == "%SRCROOT%"


@pytest.mark.parametrize("name", RUNS)
def test_every_run_follows_the_schema(name: str) -> None:
    sarif(RUNS[name])


def test_a_file_has_its_findings_on_their_lines() -> None:
    told = [
        (
            result["ruleId"],
            result["level"],
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for result in sarif([WORKLOAD])["results"]
    ]
    assert told == [
        ("S04", "error", SCRIPT, 6),
        ("S04", "error", SCRIPT, 6),
        ("X03", "note", SCRIPT, 8),
        ("S17", "warning", SCRIPT, 1),
        ("S12", "warning", SCRIPT, 3),
        ("S12", "warning", SCRIPT, 3),
        ("verdict-fails", "error", SCRIPT, 8),
        ("target-not-read", "warning", SCRIPT, 10),
    ]


def test_silenced_findings_are_suppressed_with_the_reason() -> None:
    suppressions = [result["suppressions"] for result in sarif([WORKLOAD])["results"] if "suppressions" in result]
    assert suppressions == [
        [{"kind": "inSource", "justification": "the nodes have one socket"}],
        [{"kind": "external", "justification": "not here"}],
    ]


def test_what_was_not_judged_is_said_without_a_result() -> None:
    run = sarif([WORKLOAD])
    (note,) = run["invocations"][0]["toolConfigurationNotifications"]
    assert note["message"]["text"].startswith("S15 was not judged: it waits for the Slurm site's facts")
    assert run["tool"]["driver"]["rules"][note["associatedRule"]["index"]]["id"] == "S15"


def test_a_run_with_an_unread_target_was_no_success() -> None:
    assert sarif([REPORTS["runs"]])["invocations"][0]["executionSuccessful"] is True
    invocation = sarif([REPORTS["runs"], Unread("gone:latest", "no such image")])["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "gone:latest: no such image"


def test_what_runs_has_no_result() -> None:
    run = sarif([REPORTS["runs"], REPORTS["no-cuda"]])
    assert run["results"] == []
    assert [target["outcome"] for target in run["properties"]["targets"]] == ["runs", "no-cuda"]


def test_a_command_line_is_no_file_of_the_checkout() -> None:
    (result,) = sarif([COMMAND_LINE])["results"]
    assert "primaryLocationLineHash" in result["partialFingerprints"]
    assert result["message"]["text"].startswith("command line on profile prod: ")


@pytest.mark.parametrize(
    ("reference", "uri"),
    [
        ("registry:repo/app:1.2", "repo/app%3A1.2"),
        ("host.example:5000/app@sha256:ab", "host.example%3A5000/app%40sha256%3Aab"),
        ("docker-archive:out/app.tar", "out/app.tar"),
        ("oci-dir:/tmp/a b", "file:///tmp/a%20b"),
        ("./app.tar", "app.tar"),
        ("docker:", "image"),
        ("x?y#z", "x%3Fy%23z"),
        ("//evil/x", "file:///evil/x"),
        ("é", "%C3%A9"),
        ("a\udc80", "a%80"),
    ],
)
def test_an_image_stands_for_a_file(reference: str, uri: str) -> None:
    assert image_uri(reference) == uri


def prints(results: list[Result]) -> list[str | None]:
    return [result["partialFingerprints"].get("primaryLocationLineHash") for result in sarif(results)["results"]]


def test_an_alert_on_an_image_stays_the_same_when_its_words_change() -> None:
    report = REPORTS["init-fails"]
    other = replace(report.verdict, summary="cudart 13.1 needs driver 590")
    again = replace(report, prediction=replace(report.prediction, verdict=other))
    assert prints([report]) == prints([again]) != [None]
    moved = replace(report, image=replace(report.image, target=replace(report.image.target, reference="other:1")))
    assert prints([report]) != prints([moved])
    # For a file of the checkout the upload works it out from the line's text.
    assert prints([WORKLOAD])[0] is None


@pytest.mark.parametrize("text", [row[1] for row in ATTACKS], ids=[row[0] for row in ATTACKS])
def test_hostile_texts(text: str) -> None:
    run = sarif([attacked(text), Unread(text, text), hostile_file(text)])
    assert all(char.isprintable() for result in run["results"] for char in result["message"]["text"])


@given(st.text(st.characters(), max_size=60))
def test_any_text_at_any_place(text: str) -> None:
    sarif([attacked(text), Unread(text, text), hostile_file(text)])


def hostile_file(text: str) -> Other:
    finding = Finding(text, "error", None, text or "x", text, (), Location(text, 3))
    return replace(WORKLOAD, reference=text, findings=(finding,), waiting=(Waiting(text, text, text),))


def test_every_rule_there_is_makes_a_card() -> None:
    workloads = workload_rules(card.id for card in rule_cards())
    names = [*RULES, *VERDICT_RULES, *workloads]
    findings = tuple(Finding(name, "note", None, "a message", "") for name in names)
    run = sarif([replace(WORKLOAD, findings=findings, rules=workloads, silenced=(), images=(), waiting=())])
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == names
    assert all("help" in rule and "markdown" in rule["help"] for rule in run["tool"]["driver"]["rules"])
