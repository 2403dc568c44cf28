"""What ``linkstep show --ranks`` prints: which rank is which host and coordinate, and the job that runs them."""

from __future__ import annotations

import argparse

from linkstep.argument import TopologyArgument
from linkstep.cli._output import COLUMNS, print_table, show_json
from linkstep.core.errors import LinkstepError
from linkstep.reports.ranks import RankRow, RanksReport


def show_ranks(given: TopologyArgument, args: argparse.Namespace) -> int:
    """Print the ranks of a topology."""
    whole = given if given.whole is None else given.whole
    if args.draw is not None:
        raise LinkstepError("--ranks prints a table and draws nothing: give --draw alone")
    report = RanksReport.of(
        given.topology, whole.recipe, args.topology, given.faults,
        None if given.whole is None else whole.topology, ["--both-ways"] if args.both_ways else [],
    )  # fmt: skip
    if show_json(report, args):
        return 0
    print(f"{given.called(args.topology)}: rank r is node r, {report.nodes} in all")
    _print(report)
    print("\nas a job for Slurm (sbatch FILE):\n")
    for line in report.sbatch:
        print(line)
    return 0


def _print(report: RanksReport) -> None:
    named = any(row.host != str(row.rank) for row in report.rank_rows)
    axes = ["x", "y", "z", "w"] if len(report.dimensions) <= 4 else [f"x{i}" for i in range(len(report.dimensions))]
    head = ["rank", *(["host"] if named else []), *axes[: len(report.dimensions)], "linked to ranks"]
    rows = [_cells(row, named) for row in report.rank_rows]
    widths = [max(len(row[c]) for row in (head, *rows)) for c in range(len(head))]
    if sum(widths) + 2 * len(widths) - 2 > COLUMNS:
        head, rows = head[:-1], [row[:-1] for row in rows]
    print_table(head, rows, right=[0, *range(1 + named, 1 + named + len(report.dimensions))])


def _cells(row: RankRow, named: bool) -> list[str]:
    where = [str(place) for place in row.coordinates or ()]
    return [str(row.rank), *([row.host] if named else []), *where, " ".join(map(str, row.neighbours))]
