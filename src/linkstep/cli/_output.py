"""How commands print: tables, fields and JSON, and figures that several of them have."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Container, Iterable, Iterator, Sequence
from enum import Enum
from fractions import Fraction
from pathlib import Path

from linkstep.cli._terminal import printable, raw
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.text import counted, shortened
from linkstep.core.units import format_time
from linkstep.costs import Cost
from linkstep.files.disk import check_writable, to_path, write_atomically
from linkstep.reports.view import View
from linkstep.reports.wiring import WiringStanding

TIMELINE_OPTION = "timeline_option"
"""The argument that says which option names the file of a command's timeline, where it has one."""
TRACE_ENDING = ".perfetto-trace"
"""What ends so is a timeline, and no JSON, whichever option names it."""


def add_json(parser: argparse.ArgumentParser, *, is_short: bool = True) -> None:
    """Add ``--json`` and ``--json-file``, which is ``-o`` too where that is not the name of another file already."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    said = "write the JSON to a .json file too, whatever is printed"
    timeline = parser.get_default(TIMELINE_OPTION)
    if timeline is not None:
        said += f"; a name that ends in {TRACE_ENDING} is that of --{timeline}"
    try:
        parser.add_argument(*["-o"] * is_short, "--json-file", metavar="FILE", help=said)
    except argparse.ArgumentError:  # -o is the schedule, the plan, the model ... that a command makes
        parser.add_argument("--json-file", metavar="FILE", help=said)


def check_json_file(args: argparse.Namespace) -> None:
    """Raise FileError if ``--json-file`` names what cannot be written: asked before the work, not after.

    Where it names a timeline, that becomes the value of the command's option for these.
    """
    name, option = getattr(args, "json_file", None), getattr(args, TIMELINE_OPTION, None)
    if name is None:
        return
    if option is not None and to_path(name).suffix.lower() == TRACE_ENDING:
        if getattr(args, option) is not None:
            raise LinkstepError(f"-o {name} and --{option} {getattr(args, option)} both name the timeline: give one")
        setattr(args, option, Path(name))
        args.json_file = None
        return
    if to_path(name).suffix.lower() != ".json":
        raise FileError(f"{name}: the name of a file with JSON must end in .json")
    check_writable(name)
    for option in ("output", "selector", "timeline", "trace"):
        other = getattr(args, option, None)
        if other is not None and Path(other).absolute() == Path(name).absolute():
            raise LinkstepError(f"--json-file and --{option} must be two files, not both {name}")


def show_json(report: View, args: argparse.Namespace) -> bool:
    """Write and print a report's JSON where the options of ``add_json`` ask for it; whether it was printed."""
    text = json.dumps(report.to_json(), indent=2) + "\n"
    if args.json_file is not None:
        write_atomically(args.json_file, lambda file: file.writelines([text.encode()]))
        args.saved_json = args.json_file  # said when the command is done, below what it prints
    if args.json:
        sys.stdout.write(text)
    return bool(args.json)


COLUMNS = 80
"""Of a terminal, where nothing says how wide it is: a pipe, a file."""
GAP = "  "
"""Between two columns."""


class Style(Enum):
    """How a line looks on a terminal; in a pipe or a file, or with NO_COLOR, all are plain."""

    PLAIN = ""
    BOLD = "1"
    DIM = "2"


def columns() -> int:
    """Return how wide the terminal is, by ``COLUMNS`` or by what it says itself; ``COLUMNS`` here where it is none."""
    return max(40, shutil.get_terminal_size((COLUMNS, 24)).columns)


def print_line(text: str, style: Style = Style.PLAIN) -> None:
    """Print a line in a style, where standard output is a terminal that shows it."""
    if style is Style.PLAIN or not has_styles():
        print(text)
        return
    sys.stdout.flush()
    stream = raw(sys.stdout)
    print(f"\x1b[{style.value}m{printable(text, stream.encoding or 'utf-8')}\x1b[0m", file=stream)


def has_styles() -> bool:
    """Whether standard output is a terminal with bold and dim text: not with ``NO_COLOR``, nor where TERM is dumb."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_text(text: str, style: Style = Style.PLAIN, indent: str = "") -> None:
    """Print a sentence, broken where words allow it; later lines are indented."""
    for line in textwrap.wrap(
        text, columns(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ):  # fmt: skip
        print_line(line, style)


def print_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Iterable[int] = (),
    *,
    drop: Sequence[int] = (),
    styles: Sequence[Style] = (),
) -> None:
    """Print columns padded to their widest cell, no line wider than the terminal.

    ``right`` lists the columns aligned right, ``drop`` those that a narrow terminal does without, the first first.
    Where that is not enough, text in the last column is broken into lines, and then the longest words of the widest
    column lose their middle. ``styles`` are of the rows, in order.
    """
    table = [list(head), *map(list, rows)]
    kept = list(range(len(head)))
    for column in drop:
        if _width(table, kept) <= columns():
            break
        kept.remove(column)
    aligned = {kept.index(c) for c in right if c in kept}
    cells = [[row[c] for c in kept] for row in table]
    looks = [Style.PLAIN, *styles, *[Style.PLAIN] * len(cells)]
    for row, style in zip(_fitted(cells, aligned), looks, strict=False):
        for line in row:
            print_line(line, style)


def _width(table: list[list[str]], kept: list[int]) -> int:
    return sum(_widest(table, c) for c in kept) + len(GAP) * (len(kept) - 1)


def _widest(table: list[list[str]], column: int) -> int:
    return max(len(row[column]) for row in table)


_LEAST = 12
"""Characters that a column keeps."""
_NARROW = 7
"""Characters that are enough for text that is broken into lines."""


def _fitted(cells: list[list[str]], aligned: set[int]) -> Iterator[list[str]]:
    """Yield the lines of each row, padded, within the columns of the terminal."""
    count, last = len(cells[0]), len(cells[0]) - 1
    widths = [_widest(cells, c) for c in range(count)]
    over = sum(widths) + len(GAP) * last - columns()
    if over > 0 and last and last not in aligned and widths[last] - over >= _NARROW:
        widths[last] -= over
        over = 0
    while over > 0 and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
        over -= 1
    for row in cells:
        lines = textwrap.wrap(row[last], max(widths[last], 1), break_on_hyphens=False) if last else [row[0]]
        shown = [shortened(cell, width) for cell, width in zip(row[:last], widths, strict=False)]
        yield [
            GAP.join(_padded(cell, widths[c], c in aligned) for c, cell in enumerate(line)).rstrip()
            for line in ([*shown, (lines or [""])[0]], *([*[""] * last, more] for more in lines[1:]))
        ]


def _padded(cell: str, width: int, right: bool) -> str:
    return cell.rjust(width) if right else cell.ljust(width)


def print_fields(fields: Iterable[tuple[str, str]], verbatim: Container[str] = ()) -> None:
    """Print ``name  value`` lines, values aligned and broken where words allow it; ``verbatim`` ones stay whole."""
    pairs = wrapped(fields, verbatim)
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print(f"  {name.ljust(width)}  {value}".rstrip())


def wrapped(fields: Iterable[tuple[str, str]], verbatim: Container[str] = ()) -> list[tuple[str, str]]:
    """Return the fields with long values as several lines, the later ones without a name; ``verbatim`` ones stay whole.

    >>> [(name, len(value)) for name, value in wrapped([("text", "a b " * 25), ("code", "c d " * 25)], ["code"])]
    [('text', 71), ('', 27), ('code', 100)]
    """
    pairs = list(fields)
    width = max(24, columns() - 4 - max(len(name) for name, _ in pairs))
    found: list[tuple[str, str]] = []
    for name, value in pairs:
        lines = textwrap.wrap(value, width, break_long_words=False, break_on_hyphens=False)
        if name in verbatim or not lines:
            lines = [value]
        found += [(name, lines[0]), *(("", line) for line in lines[1:])]
    return found


def halves_text(halves: Sequence[Cost]) -> str:
    """Return what the two halves of an allreduce cost, once where they are the same.

    >>> halves_text((Cost(3, Fraction(7, 8)), Cost(3, Fraction(7, 8))))
    '3 steps and 0.8750 M/B each half'
    """
    first, second = halves
    if first == second:
        return f"{counted(first.steps, 'step')} and {float(first.bandwidth):.4f} M/B each half"
    return " + ".join(f"({counted(half.steps, 'step')}, {float(half.bandwidth):.4f} M/B)" for half in (first, second))


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
