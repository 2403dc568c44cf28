"""``linkstep fit``: alpha, overhead and bandwidth that explain measured runs best, as a fabric file."""

from __future__ import annotations

import argparse
import sys

from linkstep.cli._command import Command
from linkstep.cli._output import add_json, print_fields, print_table, show_json
from linkstep.core.units import format_time
from linkstep.costs import check_fabric_path, fit, load_runs, save_fabric
from linkstep.reports.fit import FitReport


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="what `linkstep run --json` printed: a run, or a list of runs"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="save the fabric to a .json file, for --fabric")
    parser.add_argument("--plot", metavar="FILE", help="draw times and the fitted lines to a .svg or .png file")
    add_json(parser)


def _print(report: FitReport) -> None:
    source, fabric = report.source, report.fabric
    rows = source.rows
    where = f"{report.num_topologies} topolog{'y' if report.num_topologies == 1 else 'ies'}"
    print(f"fitted to {len(rows)} times on {where}, engine {source.engine}")
    print_fields(
        [
            ("alpha", f"{fabric.alpha} a step"),
            ("overhead", f"{fabric.overhead} a call"),
            ("B", f"{fabric.bandwidth} a node of {report.degree} ports"),
            *([("host", f"{fabric.host_bandwidth} through all its ports together")] if fabric.host_bandwidth else []),
            ("error", f"{source.mean_relative_error:.2%} on average, {source.max_relative_error:.2%} at most"),
        ]
    )
    print()
    lines = [
        (
            row.what, row.method or "-", row.collective, str(row.steps), f"{float(row.t_b):.4f}", str(row.size),
            format_time(row.measured_seconds), format_time(row.fitted_seconds), f"{row.relative_error:+z.2%}",
        )
        for row in rows
    ]  # fmt: skip
    head = ("topology", "method", "collective", "T_L", "T_B", "bytes", "measured", "fitted", "error")
    shown = [k for k, name in enumerate(head) if name != "method" or any(row.method for row in rows)]
    table = [[line[k] for k in shown] for line in (head, *lines)]
    print_table(table[0], table[1:], range(len(shown) - 6, len(shown)))


def _run(args: argparse.Namespace) -> int:
    if args.output is not None:
        check_fabric_path(args.output)
    if args.plot is not None:
        from linkstep.pictures.style import check_drawable  # here: most calls draw nothing

        check_drawable(args.plot)
    runs = [run for file in args.files for run in load_runs(file)]
    found = fit(runs)
    for note in found.notes:
        print(f"linkstep: {note}", file=sys.stderr)
    report = FitReport.of(found, runs, args.files, args.output, args.plot)
    if args.output is not None:
        save_fabric(found.fabric, args.output, report.source.to_json())
    if args.plot is not None:
        from linkstep.pictures.fit import plot_fit

        plot_fit(found, args.plot)
    if show_json(report, args):
        return 0
    _print(report)
    if args.output is not None:
        print(f"saved to {args.output}")
    if args.plot is not None:
        print(f"plotted to {args.plot}")
    return 0


COMMAND = Command(
    name="fit",
    example="linkstep fit ring.json k44.json -o fabric.json --plot fit.svg",
    add_arguments=_add_arguments,
    run=_run,
)
