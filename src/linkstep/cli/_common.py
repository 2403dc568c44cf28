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

from linkstep.cli._progress import progress_bar
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import COLLECTIVES, Schedule
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.costs import Fabric
from linkstep.files import SUFFIXES, load
from linkstep.make import Made, schedule
from linkstep.recipe import Recipe, parse

DEFAULT = Collective.ALLREDUCE
"""The collective of every command that makes a schedule, unless another is asked for."""


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


def add_collective(parser: argparse.ArgumentParser) -> None:
    """Add ``--collective`` and ``--root``: what a schedule is made for."""
    parser.add_argument("--collective", choices=COLLECTIVES, help="default: the file's own, else allreduce")
    parser.add_argument("--root", type=int, default=0, metavar="NODE", help="of a broadcast or a reduce; default: 0")


def add_fabric(parser: argparse.ArgumentParser) -> None:
    """Add ``--alpha`` and ``--bandwidth``: what a step and a byte take."""
    parser.add_argument("--alpha", default="10us", metavar="TIME", help="latency of a hop; default: 10us")
    parser.add_argument(
        "--bandwidth", default="100Gbps", metavar="RATE", help="B of a node, over all its ports; default: 100Gbps"
    )


def fabric_of(args: argparse.Namespace, degree: int) -> Fabric:
    """Return the fabric that ``add_fabric``'s options describe, for nodes with this many ports."""
    return Fabric.of(args.alpha, args.bandwidth, max(degree, 1))


def schedule_of(given: Given, collective: str | None, root: int, **how: Any) -> Made:
    """Return the file's schedule, checked, or make one as ``linkstep schedule`` does."""
    if given.schedule is None:
        with progress_bar("schedule") as bar:
            return schedule(given.recipe or given.topology, collective or DEFAULT, root=root, progress=bar, **how)
    if collective not in (None, given.schedule.collective):
        raise LinkstepError(f"the file holds a {given.schedule.collective}, not the {collective} of --collective")
    check(given.schedule)
    return Made(given.schedule, "file")
