"""What commands share: the table row of a command, reading RECIPE|FILE, printing tables and JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.files import SUFFIXES, load
from linkstep.recipe import Recipe, parse


@dataclass(frozen=True)
class Command:
    """One row of the command table: the help, the parser and the completion are made from it."""

    name: str
    help: str
    """One line, as `linkstep --help` lists it."""
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


@dataclass(frozen=True)
class Given:
    """What a RECIPE|FILE argument named: a topology, with its recipe or its schedule where there is one."""

    topology: Topology
    recipe: Recipe | None = None
    schedule: Schedule | None = None


def read(text: str) -> Given:
    """Read RECIPE|FILE: what ends like a file of ours or exists is a file, all else a recipe."""
    path = Path(text)
    if path.suffix.lower() in SUFFIXES or path.exists():
        thing = load(path)
        if isinstance(thing, Schedule):
            return Given(thing.topology, schedule=thing)
        return Given(thing)
    recipe = parse(text)
    return Given(recipe.topology(), recipe=recipe)


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> None:
    """Print columns padded to their widest cell; ``right`` lists the columns aligned right."""
    table = [list(head), *map(list, rows)]
    widths = [max(len(row[c]) for row in table) for c in range(len(head))]
    aligned = set(right)
    for row in table:
        cells = [
            cell.rjust(w) if c in aligned else cell.ljust(w)
            for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def print_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Print ``name  value`` lines, values aligned."""
    pairs = list(fields)
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print(f"  {name.ljust(width)}  {value}".rstrip())


def print_json(value: Any) -> None:
    """Print a value as JSON; Fractions become strings such as "1023/1024"."""
    json.dump(value, sys.stdout, indent=2, default=_jsonable)
    print()


def _jsonable(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
