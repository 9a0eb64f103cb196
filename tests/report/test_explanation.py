"""``explain``: every finding and error has words, and what is unknown gets near names."""

from __future__ import annotations

import pytest

from cudacompat import tables
from cudacompat.errors import UsageError
from cudacompat.predict.rules import RULES
from cudacompat.report import Style
from cudacompat.report.explanation import (
    explain_document,
    explain_text,
    find,
    list_document,
    list_text,
)
from tests.support.schemas import validate


@pytest.mark.parametrize("name", RULES)
def test_every_rule(name: str) -> None:
    rule = find(name)
    text = explain_text(rule, Style())
    assert text.startswith(f"{name}: ")
    assert "Cause" in text and "How to confirm it" in text and "What to do" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    validate(explain_document(rule), "explain-v1")


@pytest.mark.parametrize("entry", tables.errors(), ids=lambda entry: str(entry.code))
def test_every_error(entry: tables.ErrorEntry) -> None:
    text = explain_text(find(str(entry.code)), Style())
    assert str(entry.code) in text and "Meaning" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    validate(explain_document(entry), "explain-v1")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("804", 804),
        ("CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", 804),
        ("cudaErrorInsufficientDriver", 35),
        (" cudaerrorinsufficientdriver ", 35),
    ],
)
def test_errors_are_found_by_number_and_both_names(text: str, code: int) -> None:
    found = find(text)
    assert isinstance(found, tables.ErrorEntry)
    assert found.code == code


def test_error_names_the_findings_that_predict_it() -> None:
    text = explain_text(find("804"), Style())
    assert "compat-not-eligible" in text


@pytest.mark.parametrize("name", ["Requirement_Refused", "requirement-refused"])
def test_rules_are_found_in_any_case(name: str) -> None:
    assert find(name) is RULES["requirement-refused"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("requirement-refusd", "did you mean requirement-refused"),
        ("CUDA_ERROR_NO_BINARY", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        ("zzzz", "lists all"),
        ("", "lists all"),
        ("\x1b[2J", "no finding"),
    ],
)
def test_unknown_name_is_refused_with_near_ones(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find(text)


def test_list_has_them_all() -> None:
    text = list_text(Style())
    assert all(name in text for name in RULES)
    assert all(len(line) <= 100 for line in text.splitlines())
    document = list_document()
    validate(document, "explain-v1")
    assert len(document["rules"]) == len(RULES)
    assert len(document["errors"]) == len(tables.errors())
