"""Write docs/reports.md: every view, member by member, from the dataclasses of ``linkstep.reports`` and their words.

    python scripts/make_reports_page.py

A test compares the page with what this makes of the source.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path

from linkstep.reports import VIEWS, load_view
from linkstep.reports.view import FieldForm, fields_of, member_name

PAGE = Path(__file__).parents[1] / "docs" / "reports.md"
OPENING = """\
# Reports

What commands print with `--json`, and what a page or a notebook can show: a value went in, these are the facts. Each
view is a frozen dataclass in `src/linkstep/reports/`; `report.to_json()` is its JSON.

```pycon
>>> from linkstep import Fabric, find
>>> from linkstep.reports.find import FindReport
>>> from linkstep.reports.pricing import Pricing
>>> report = FindReport.of(find(5, 4), Pricing("1MB", Fabric.of("10us", "100Gbps", 4)))
>>> report.frontier[0].name, report.frontier[0].allreduce_seconds
('K_5', Fraction(37, 250000))
>>> facts = report.to_json()
>>> facts["report"], facts["version"], facts["frontier"][0]["bandwidth"], facts["frontier"][0]["allreduce_seconds"]
('find', 1, '4/5', 0.000148)

```

Every view says which it is (`report`) and of which version (`version`, 1 so far), before the members that this page
lists: a version only ever gains members. Some commands print a list of views: `families`, `reproduce`, `catalog stats`,
`testbed status`, `verify` of several files. A [run](#run) is also a file that [`linkstep fit`](fabrics.md) reads.

Numbers are exact: a fraction is text, such as "1023/1024"; times and ratios are floats in JSON and Fractions in Python.
T_L is in steps, T_B in M/B: times the data, over the bandwidth of a node. `null` is what was not determined, or is not
there. This page is made from the source by `scripts/make_reports_page.py`.
"""
LEFT_OUT = ", may be left out"
WORDS: dict[object, str] = {
    int: "integer", float: "number", str: "text", bool: "boolean", Fraction: "fraction", types.NoneType: "null",
}  # fmt: skip


def make_page() -> str:
    """Return the page."""
    seen: set[type] = set()
    parts = [OPENING, "\n| report | class | printed by |\n|---|---|---|\n"]
    parts += [f"| [{row.report}](#{row.report}) | `{row.module}.{row.kind}` | `{row.command}` |\n" for row in VIEWS]
    for row in VIEWS:
        kind = load_view(row.report)
        parts.append(f"\n## {row.report}\n\n{summary(kind)} Printed by `{row.command}`.\n\n{table(kind)}")
        parts += [f"\n### {part.__name__}\n\n{summary(part)}\n\n{table(part)}" for part in parts_of(kind, seen)]
    return "".join(parts)


def summary(kind: type) -> str:
    """Return the first paragraph of a class's docstring."""
    text = " ".join(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].split())
    return text.replace("``", "`")


def table(kind: type) -> str:
    """Return the members of a view or of a part of one."""
    lines = "".join(f"| `{name}` | {type_} | {words} |\n" for name, type_, words in members(kind))
    return f"| member | type | meaning |\n|---|---|---|\n{lines}"


def members(kind: type) -> Iterator[tuple[str, str, str]]:
    """List the members that JSON has: name, type and meaning."""
    hints, words = typing.get_type_hints(kind, include_extras=True), field_words(kind)
    for name, forms in fields_of(kind):
        if FieldForm.INLINE in forms:
            left_out = LEFT_OUT if types.NoneType in classes_in(hints[name]) else ""
            yield from ((member, type_ + left_out, text) for member, type_, text in members(inner_of(hints[name])))
        elif FieldForm.UNWRITTEN not in forms:
            inside = [summary(inner) for inner in classes_in(hints[name]) if is_dataclass(inner)]
            yield member_name(name), type_words(hints[name]), words.get(name, "") or "".join(inside)


def inner_of(hint: object) -> type:
    """Return the dataclass that a type holds."""
    return next(kind for kind in classes_in(hint) if is_dataclass(kind))


def parts_of(kind: type, seen: set[type]) -> Iterator[type]:
    """List the dataclasses that a view's JSON holds as objects and were not seen before, depth first."""
    hints = typing.get_type_hints(kind, include_extras=True)
    for name, forms in fields_of(kind):
        inside = () if FieldForm.UNWRITTEN in forms else filter(is_dataclass, classes_in(hints[name]))
        for inner in inside:
            if inner in seen:
                continue
            if FieldForm.INLINE not in forms:
                seen.add(inner)
                yield inner
            yield from parts_of(inner, seen)


def classes_in(hint: object) -> Iterator[type]:
    """List the classes that a type is made of."""
    if isinstance(hint, type) and not typing.get_args(hint):
        yield hint
    for inner in typing.get_args(hint):
        yield from classes_in(inner)


def type_words(hint: object) -> str:
    """Say in words what a member is."""
    if typing.get_origin(hint) is typing.Annotated:
        inner, *marks = typing.get_args(hint)
        if FieldForm.FLOAT in marks:
            return "seconds" if "seconds" in marks else type_words(inner).replace("fraction", "number")
        return f"{type_words(inner).removesuffix(' or null')}{LEFT_OUT}"
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return " or ".join(dict.fromkeys(type_words(inner) for inner in typing.get_args(hint)))
    if typing.get_origin(hint) is tuple:
        inner = [one for one in typing.get_args(hint) if one is not Ellipsis]
        return "list of " + type_words(inner[0]) if len(set(inner)) == 1 else "list"
    if typing.get_origin(hint) is not None:
        return "object"
    if isinstance(hint, type) and is_dataclass(hint):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "text"
    return WORDS[hint]


def field_words(kind: type) -> dict[str, str]:
    """Return what the source says below each field of a dataclass."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            text = " ".join(str(below.value.value).split())
            found[ast.unparse(field.target)] = re.sub(r"``", "`", text).replace("|", "\\|")
    return found


if __name__ == "__main__":
    PAGE.write_text(make_page())
