"""The table of ``linkstep run``, a line as soon as a size is measured: as text, or as CSV.

Widths are known before the first line: sizes and counts are, and times and rates are never longer than their columns.
Where the terminal is too narrow for all, columns are left out; JSON and CSV have them.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Collection, Mapping, Sequence

from linkstep.cli._output import GAP, columns, print_text, ranks_text
from linkstep.core.units import format_time, write_size
from linkstep.reports.run import RunReport, RunRow
from linkstep.reports.view import to_members

ShowRow = Callable[[RunReport], None]
"""Called with a report of one row, that of the size that was measured last."""

_TIME, _RATE, _SPAN = len("123.4us"), len("1.23GB/s"), len("0.998-1.002")
_WIDTHS = dict.fromkeys(("min", "median", "p99"), _TIME) | {"algbw": _RATE, "busbw": _RATE, "cables": _SPAN}
"""Characters of what is wider than the name of its column."""
_DROPPED = ("count", "min", "algbw", "p99", "of it", "cables", "busbw")
"""What a narrow terminal does without, the first first."""


def headline(report: RunReport) -> str:
    """Return what runs; a report without rows will do."""
    op = f", {report.operation}" if report.collective.reduces else ""
    cost = "" if report.cost is None else f", {report.cost}"
    cost = cost if report.method is None else f", method {report.method}{cost}"
    ranks = ranks_text(report.ranks, report.forwarders)
    return f"{report.what}: {report.collective} by {report.engine}, {ranks}, {report.type_}{op}{cost}"


def text_rows(sizes: Sequence[int], methods: Collection[str] = ()) -> ShowRow:
    """Return what prints the lines of a table of these sizes, with the headline and the head before the first.

    ``methods``: those of the sizes, if they differ; each is named in its line.
    """
    widths: dict[str, int] = {}

    def show(report: RunReport) -> None:
        [row] = report.rows
        cells = _cells(row, report.engine) | ({"method": row.method or "-"} if methods else {})
        if not widths:
            widths.update(_fitting({name: max(len(name), _WIDTHS.get(name, 0)) for name in cells} | own))
            print_text(headline(report))
            if report.unswitched:
                print_text("links that open later or close were there all the time: nothing is switched in a run")
            if "cables" in widths:
                print_text("cables: the bytes that they carried over those of the schedule, least and most")
            _print_line({name: name for name in widths}, widths)
        _print_line(cells, widths)

    own = {"size": max(map(len, ["size", *map(write_size, sizes)])), "count": max(5, len(str(max(sizes))))}
    own |= {"method": max(map(len, ["method", *methods]))} if methods else {}
    return show


def _fitting(widths: dict[str, int]) -> dict[str, int]:
    """Return the columns that fit the terminal."""
    for name in _DROPPED:
        if sum(widths.values()) + len(GAP) * (len(widths) - 1) <= columns():
            break
        widths.pop(name, None)
    return widths


def csv_rows() -> ShowRow:
    """Return what prints the lines of a CSV table, with the names of columns before the first."""
    writer: list[csv.DictWriter[str]] = []

    def show(report: RunReport) -> None:
        members = to_members(report.rows[0])
        cables = members["cables_over_schedule"]
        members["cables_over_schedule"] = None if cables is None else "{:.4f}-{:.4f}".format(*cables)
        if not writer:
            writer.append(csv.DictWriter(sys.stdout, list(members), lineterminator="\n"))
            writer[0].writeheader()
        writer[0].writerow(members)
        sys.stdout.flush()

    return show


def _print_line(cells: Mapping[str, str], widths: Mapping[str, int]) -> None:
    print(GAP.join(cells[name].rjust(width) for name, width in widths.items()), flush=True)


def _rate(rate: float) -> str:
    """Return bytes a second with three digits.

    >>> _rate(999.6e6), _rate(1.523e12), _rate(12.0)
    ('1GB/s', '1.52TB/s', '12B/s')
    """
    for unit, scale in (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if rate >= 0.9995 * scale:
            return f"{rate / scale:.3g}{unit}"
    return f"{rate:.3g}B/s"


def _cells(row: RunRow, engine: str) -> dict[str, str]:
    """Return the cells of a line by the names of their columns."""
    cells = {
        "size": write_size(row.size),
        "count": str(row.count),
        "min": format_time(row.min_seconds),
        "median": format_time(row.median_seconds),
        "p99": format_time(row.p99_seconds),
        "algbw": _rate(row.algbw),
        "busbw": _rate(row.busbw),
        "wrong": str(row.wrong),
    }
    if row.own_median_seconds is not None:
        cells |= {
            f"{engine}'s own": format_time(row.own_median_seconds),
            "speed-up": f"{row.own_median_seconds / row.median_seconds:.2f}x",
        }
    if row.predicted_seconds is not None:
        cells |= {
            "predicted": format_time(row.predicted_seconds),
            "of it": f"{row.predicted_seconds / row.median_seconds:.0%}",
        }
    if row.cables_over_schedule is not None:
        cells["cables"] = "{:.3f}-{:.3f}".format(*row.cables_over_schedule)
    return cells
