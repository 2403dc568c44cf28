"""What the source says of reports: the words below each field, and the types that a field is made of.

The page docs/reference/reports.md and the schemas in docs/schemas/ are made of these.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass


def summary(kind: type) -> str:
    """Return the first paragraph of a class's docstring."""
    text = " ".join(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].split())
    return text.replace("``", "`")


def field_words(kind: type) -> dict[str, str]:
    """Return what the source says below each field of a dataclass."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            text = " ".join(str(below.value.value).split())
            found[ast.unparse(field.target)] = re.sub(r"``", "`", text)
    return found


def inner_of(hint: object) -> type:
    """Return the dataclass that a type holds."""
    return next(kind for kind in classes_in(hint) if is_dataclass(kind))


def classes_in(hint: object) -> Iterator[type]:
    """List the classes that a type is made of."""
    if isinstance(hint, type) and not typing.get_args(hint):
        yield hint
    for inner in typing.get_args(hint):
        yield from classes_in(inner)


def unit_of(marks: Iterable[object]) -> str | None:
    """Return the unit among what annotates a type: text, as ``linkstep.reports.view`` has it."""
    return next((mark for mark in marks if isinstance(mark, str)), None)
