"""The table of ``linkstep run``, a line as soon as a size is measured: as text, or as CSV.

Widths are known before the first line: sizes and counts are, and times and rates are never longer than their columns.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Sequence

from linkstep.cli._output import ranks_text
from linkstep.core.units import format_time, write_size
from linkstep.reports.run import RunReport, RunRow
from linkstep.reports.view import to_members

ShowRow = Callable[[RunReport], None]
"""Called with a report of one row, that of the size that was measured last."""

_WIDTH = 8
"""Characters of a time or a rate, such as ``12.3us`` and ``1.23GB/s``."""


def headline(report: RunReport) -> str:
    """Return what runs, in a line or two; a report without rows will do."""
    op = f", {report.operation}" if report.collective.reduces else ""
    cost = "" if report.cost is None else f", {report.cost}"
    cost = cost if report.method is None else f", method {report.method}{cost}"
    ranks = ranks_text(report.ranks, report.forwarders)
    line = f"{report.what}: {report.collective} by {report.engine}, {ranks}, {report.type_}{op}{cost}"
    if report.unswitched:
        line += "\nlinks that open later or close were there all the time: nothing is switched in a run"
    return line


def text_rows(sizes: Sequence[int], *, methods: bool = False) -> ShowRow:
    """Return what prints the lines of a table of these sizes, with the headline and the head before the first.

    ``methods``: sizes have schedules of different methods, which are named.
    """
    widths: list[int] = []

    def show(report: RunReport) -> None:
        [row] = report.rows
        cells = _cells(row, report.engine) | ({"method": row.method or "-"} if methods else {})
        if not widths:
            widths.extend(max(len(name), _WIDTH) for name in cells)
            widths[0] = max(map(len, ["size", *map(write_size, sizes)]))
            widths[1] = max(len("count"), len(str(max(sizes))))
            print(headline(report))
            _print_line(cells.keys(), widths)
        _print_line(cells.values(), widths)

    return show


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


def _print_line(cells: Iterable[str], widths: Sequence[int]) -> None:
    print("  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)), flush=True)


def _rate(rate: float) -> str:
    for unit, scale in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if rate >= scale:
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
            "over ours": f"{row.own_median_seconds / row.median_seconds:.2f}x",
        }
    if row.predicted_seconds is not None:
        cells |= {
            "predicted": format_time(row.predicted_seconds),
            "of it": f"{row.predicted_seconds / row.median_seconds:.0%}",
        }
    if row.cables_over_schedule is not None:
        cells["cables carried"] = "{:.3f} to {:.3f} of the schedule's bytes".format(*row.cables_over_schedule)
    return cells
