"""Write docs/reference/reports.md and docs/schemas/: every view, from the dataclasses of ``linkstep.reports``.

    python scripts/make_reports_page.py

A test compares the files with what this makes of the source.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path

from linkstep.reports import VIEWS, ViewRow, load_view
from linkstep.reports.view import FieldForm, fields_of, member_name

if not __package__:  # run as a script, which has only its own folder to import from
    sys.path.insert(0, str(Path(__file__).parents[1]))
from scripts.report_schemas import make_schema
from scripts.report_words import classes_in, field_words, inner_of, summary, unit_of

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "reports.md"
SCHEMAS = PAGE.parents[1] / "schemas"
RENAMES = Path(__file__).with_name("report_renames.md")
UNITS = ("seconds", "bit/s", "bytes")
"""What a member's type says instead of "number"."""
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
>>> facts["format"], facts["version"], facts["frontier"][0]["t_b"], facts["frontier"][0]["allreduce_seconds"]
('linkstep/find', 2, '8/5', 0.000148)

```

## What holds for every document

- It is one JSON object, and begins with `format`, such as "linkstep/find", and `version`, a number: what people and
  programs may rely on. A version only ever gains members; what is renamed or means something else raises it.
- One name is one thing, of one type and unit, in all reports. Times are `seconds` or end in `_seconds`, bandwidths of
  nodes, hosts and links end in `_bandwidth` and are in bit/s, data is `size` or ends in `_bytes`: numbers all. `t_b` is
  T_B in M/B, `steps` T_L; what ends in `_bound` is what nothing beats. `seconds` are predicted, `measured_seconds` and
  those of a [run](#run) were measured, `elapsed_seconds` is what a command spent. Counts are plain nouns (`nodes`,
  `ranks`) or begin with `num_` where the noun is a list elsewhere.
- Numbers are exact: a fraction is text, such as "1023/1024"; times and ratios are floats in JSON and Fractions in
  Python. `null` is what was not determined, or is not there.
- `docs/schemas/` has a JSON Schema (draft 2020-12) for each format, made from the source as this page is:
  `schemas/find.json` is that of "linkstep/find"; `schemas/files/` has those of files that people write too. Tests hold
  what every command prints and saves against them.
- A command that fails prints an [error](#error) instead, on standard output, and the same line on standard error; the
  exit code stays what it is. What was judged and found wrong is a report of its own ([refutation](#refutation), or
  [verification](#verification) with its `status`).

`--json` prints the document instead of text. `--json-file FILE` writes it to a file besides, whole or not at all, so
that one call gives both: `linkstep find 16 4 -o result.json` prints its table too. `-o` is the same option, but for
commands whose `-o` is what they make (`schedule`, `baselines`, `wire`, `lower`, `synthesize`, `fit`, `profile`) and
`reproduce`, whose `--output` is a folder. What cannot be written is refused before any work, and a command that fails
leaves the file as it was.

Files of ours are such documents too, and say so by the same two members: "linkstep/topology" and "linkstep/schedule"
([data model](../concepts/data-model.md#files)), "linkstep/fabric", "linkstep/run" and "linkstep/selector"
([fabrics](../concepts/fabrics.md)), "linkstep/model" ([training](../concepts/training-simulation.md)). A [run](#run) is
what `linkstep run --json` prints. Quantities in
files that people write, such as the alpha of a fabric, are text with a unit, exactly. Trace events for Perfetto and
files for runtimes are in formats of others.

T_L is in steps, T_B in M/B: times the data, over the bandwidth of a node. This page is made from the source by
`scripts/make_reports_page.py`.

## All reports
"""
RENAMED = """
## What was renamed in version 2

Files of earlier versions are read as before. Of what commands print, this has other names now:

"""
LEFT_OUT = ", may be left out"
WORDS: dict[object, str] = {
    int: "integer", float: "number", str: "text", bool: "boolean", Fraction: "fraction", types.NoneType: "null",
}  # fmt: skip


def make_page() -> str:
    """Return the page."""
    seen: set[type] = set()
    parts = [OPENING, "\n| format | class | printed by | schema |\n|---|---|---|---|\n"]
    parts += [
        f"| [linkstep/{row.report}](#{row.report}) | `{row.module}.{row.kind}` | {command(row)} "
        f"| [{row.report}.json](../schemas/{row.report}.json) |\n"
        for row in VIEWS
    ]
    for row in VIEWS:
        kind = load_view(row.report)
        parts.append(f"\n## {row.report}\n\n{summary(kind)} Printed by {command(row)}.\n\n{table(kind)}")
        parts += [f"\n### {part.__name__}\n\n{summary(part)}\n\n{table(part)}" for part in parts_of(kind, seen)]
    return "".join([*parts, RENAMED, RENAMES.read_text()])


def command(row: ViewRow) -> str:
    """Say what prints a view."""
    return f"`{row.command}`" if row.command.startswith("linkstep") else row.command


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
            yield (
                member_name(name),
                type_words(hints[name]),
                words.get(name, "").replace("|", "\\|") or " ".join(inside),
            )


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


def type_words(hint: object) -> str:
    """Say in words what a member is."""
    if typing.get_origin(hint) is typing.Annotated:
        inner, *marks = typing.get_args(hint)
        unit, said = unit_of(marks), type_words(inner)
        if unit in UNITS:
            return unit
        if FieldForm.FLOAT in marks or FieldForm.NUMBER in marks:
            return said.replace("fraction", "number")
        return said if unit else f"{said.removesuffix(' or null')}{LEFT_OUT}"
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


def make_schemas() -> dict[str, str]:
    """Return the schema of every view, by the name of its file."""
    return {f"{row.report}.json": json.dumps(make_schema(load_view(row.report)), indent=1) + "\n" for row in VIEWS}


if __name__ == "__main__":
    PAGE.write_text(make_page())
    for name, text in make_schemas().items():
        (SCHEMAS / name).write_text(text)
