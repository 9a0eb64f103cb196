"""Validates documents against the shipped schemas, more strictly than a reader may: no key without a description."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import cudacompat

FOLDER = Path(cudacompat.__file__).parent / "report" / "schema"


def strict(schema: Any) -> Any:
    """The schema with keys refused that it does not describe; open where a schema is composed of others."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if "properties" in schema and "allOf" not in schema:
        closed.setdefault("additionalProperties", False)
    return closed


@lru_cache
def _registry(strictly: bool) -> Registry[Any]:
    loaded = [json.loads(path.read_text()) for path in FOLDER.glob("*.json")]
    return Registry().with_resources(
        (item["$id"], Resource.from_contents(strict(item) if strictly else item)) for item in loaded
    )


def validate(document: object, name: str) -> None:
    """Raise when a document does not follow the schema ``name`` ("report-v1")."""
    schema = json.loads((FOLDER / f"{name}.json").read_text())
    composed = "allOf" in schema
    checked = schema if composed else strict(schema)
    Draft202012Validator(checked, registry=_registry(not composed)).validate(document)
