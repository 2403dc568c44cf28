"""The schemas of docs/schemas/, as a test wants them: what they do not list may not be there."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"


def load_schema(name: str) -> dict[str, Any]:
    """Return the schema of a format: "find" is that of "linkstep/find"."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def objects_of(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the objects that a document is made of, by name."""
    return {schema["title"]: schema, **schema.get("$defs", {})}


@cache
def _strict(name: str) -> Draft202012Validator:
    schema = load_schema(name)
    for one in objects_of(schema).values():
        one["additionalProperties"] = False
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check_document(document: Any, name: str | None = None) -> None:
    """Raise unless a document is as the schema of its format says, or of the format that is named, member by member."""
    assert list(document)[:2] == ["format", "version"], list(document)[:2]
    found = document["format"].removeprefix("linkstep/")
    assert name in (None, found), (name, found)
    for error in _strict(found).iter_errors(document):
        raise AssertionError(f"{found}: {error.json_path}: {error.message[:300]}")
