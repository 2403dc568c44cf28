"""JSON Schemas (draft 2020-12) of the reports, from the dataclasses of ``linkstep.reports`` and their words.

``make_reports_page.py`` writes them to docs/schemas/; this only makes them. A schema lets members be that it does not
know, since a version only ever gains members. ``x-unit`` says what a number or a fraction is counted in.
"""

from __future__ import annotations

import types
import typing
from dataclasses import is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from scripts.report_words import classes_in, field_words, inner_of, summary, unit_of

from linkstep.reports.view import FORMATS, FieldForm, View, fields_of, member_name

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FRACTION = {"type": "string", "pattern": "^-?[0-9]+(/[0-9]+)?$"}
PLAIN: dict[object, dict[str, Any]] = {
    int: {"type": "integer"}, float: {"type": "number"}, str: {"type": "string"}, bool: {"type": "boolean"},
    Fraction: FRACTION, types.NoneType: {"type": "null"},
}  # fmt: skip


def make_schema(kind: type[View]) -> dict[str, Any]:
    """Return the schema of a view's JSON, whole: the parts that it holds are in ``$defs``."""
    parts: dict[str, Any] = {}
    body = _object(kind, parts)
    name = FORMATS + kind.report
    head = {"format": {"const": name}, "version": {"const": kind.version}}
    return {
        "$schema": DIALECT,
        "$id": f"urn:linkstep:{kind.report}:{kind.version}",
        "title": name,
        "description": summary(kind),
        "type": "object",
        "required": ["format", "version", *body["required"]],
        "properties": head | body["properties"],
        **({"$defs": dict(sorted(parts.items()))} if parts else {}),
    }


def _object(kind: type, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a dataclass's members; what they hold is added to ``parts``."""
    hints, words = typing.get_type_hints(kind, include_extras=True), field_words(kind)
    required: list[str] = []
    properties: dict[str, Any] = {}
    for name, forms in fields_of(kind):
        hint = hints[name]
        if FieldForm.UNWRITTEN in forms:
            continue
        if FieldForm.INLINE in forms:
            inner = _object(inner_of(hint), parts)
            properties |= inner["properties"]
            required += [] if types.NoneType in classes_in(hint) else inner["required"]
            continue
        is_optional = FieldForm.OPTIONAL in forms
        said = {"description": words[name]} if words.get(name) else {}
        properties[member_name(name)] = said | _schema(_without_null(hint) if is_optional else hint, parts)
        required += [] if is_optional else [member_name(name)]
    return {"type": "object", "required": required, "properties": properties}


def _without_null(hint: object) -> object:
    """Return the type of a member that is left out where it is None."""
    inner = typing.get_args(hint)[0]
    (kept,) = (one for one in typing.get_args(inner) if one is not types.NoneType)
    return kept


def _schema(hint: object, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _annotated(args, parts)
    if origin in (types.UnionType, typing.Union):
        return _either([_schema(one, parts) for one in args])
    if origin is tuple:
        return _array(args, parts)
    if origin is not None:  # a mapping
        return {"type": "object", "additionalProperties": _schema(args[1], parts)}
    if isinstance(hint, type) and is_dataclass(hint):
        if hint.__name__ not in parts:
            parts[hint.__name__] = {}  # first, for what holds itself
            parts[hint.__name__] = {"description": summary(hint)} | _object(hint, parts)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"type": "string", "enum": [str(one.value) for one in hint if one.value]}
    return dict(PLAIN[hint])


def _annotated(args: tuple[Any, ...], parts: dict[str, Any]) -> dict[str, Any]:
    inner, *marks = args
    is_number = FieldForm.FLOAT in marks or FieldForm.NUMBER in marks
    found = _schema(inner, parts)
    if is_number:
        nullable = types.NoneType in classes_in(inner)
        found = {"type": ["number", "null"] if nullable else "number"}
    unit = unit_of(marks)
    return found | ({"x-unit": unit} if unit else {})


def _array(args: tuple[Any, ...], parts: dict[str, Any]) -> dict[str, Any]:
    if args[-1] is Ellipsis:
        return {"type": "array", "items": _schema(args[0], parts)}
    items = [_schema(one, parts) for one in args]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _either(several: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of any of several; null is one more type where there is but one besides."""
    others = [one for one in several if one != PLAIN[types.NoneType]]
    if len(others) == len(several) or len(others) > 1 or "$ref" in others[0]:
        return {"anyOf": several}
    (one,) = others
    enum = {"enum": [*one["enum"], None]} if "enum" in one else {}
    return one | {"type": [one["type"], "null"]} | enum
