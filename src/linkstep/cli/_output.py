"""How commands print: tables, fields and JSON, and figures that several of them have."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Container, Iterable, Sequence
from fractions import Fraction
from typing import Any

from linkstep.core.units import format_time
from linkstep.costs import Cost
from linkstep.reports.wiring import WiringStanding

COLUMNS = 80
"""Of a terminal; what is longer is wrapped where words allow it."""


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(value: Any) -> None:
    """Print what a report's ``to_json`` says, or a list of such."""
    json.dump(value, sys.stdout, indent=2)
    print()


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


def wrapped(fields: Iterable[tuple[str, str]], verbatim: Container[str] = ()) -> list[tuple[str, str]]:
    """Return the fields with long values as several lines, the later ones without a name; ``verbatim`` ones stay whole.

    >>> [(name, len(value)) for name, value in wrapped([("text", "a b " * 25), ("code", "c d " * 25)], ["code"])]
    [('text', 71), ('', 27), ('code', 100)]
    """
    pairs = list(fields)
    width = COLUMNS - 4 - max(len(name) for name, _ in pairs)
    found: list[tuple[str, str]] = []
    for name, value in pairs:
        lines = textwrap.wrap(value, width, break_long_words=False, break_on_hyphens=False)
        if name in verbatim or not lines:
            lines = [value]
        found += [(name, lines[0]), *(("", line) for line in lines[1:])]
    return found


def both_halves(halves: tuple[Cost, Cost]) -> tuple[str, str]:
    """Return steps and bandwidth of the two halves of an allreduce, once where they are the same."""
    first, second = halves
    steps = str(second.steps) if first.steps == second.steps else f"{first.steps}+{second.steps}"
    bandwidth = f"{float(second.bandwidth):.4f}"
    return steps, bandwidth if first.bandwidth == second.bandwidth else f"{float(first.bandwidth):.4f}+{bandwidth}"


AT_MOST = "<=: at most, as if every port ran slower by what its host lacks"
"""Said below a table that has such times, under a limit of hosts."""
ONE_MESSAGE = "times count one message a link and step; what a schedule has more of, `linkstep schedule` adds"
"""Below a table of costs where messages take time of their own."""


def time_text(seconds: Fraction, at_most: bool | None = False) -> str:
    """Return a time, marked where it is what something takes at most."""
    return f"{'<=' if at_most else ''}{format_time(seconds)}"


def wiring_fields(found: WiringStanding | None) -> list[tuple[str, str]]:
    """Return the line that says how good T_B is on this wiring; none if no wiring allows less."""
    return [] if found is None or found.summary is None else [("on this wiring", found.summary)]


def ranks_text(ranks: int, forwarders: int) -> str:
    """Return how many take part, and how many nodes besides only forward.

    >>> ranks_text(12, 0), ranks_text(12, 4), ranks_text(3, 1)
    ('12 ranks', '12 ranks (4 more nodes forward)', '3 ranks (1 more node forwards)')
    """
    more = f" ({forwarders} more {'node forwards' if forwarders == 1 else 'nodes forward'})"
    return f"{ranks} ranks{more if forwarders else ''}"
