"""``linkstep fit``: alpha, overhead and bandwidth that explain measured runs best, as a fabric file."""

from __future__ import annotations

import argparse
import sys

from linkstep.cli._command import Command
from linkstep.cli._output import add_json, print_fields, print_json, print_table
from linkstep.core.units import format_time
from linkstep.costs import check_fabric_path, fit, load_runs, save_fabric
from linkstep.reports.fit import FitReport


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="what `linkstep run --json` printed: a run, or a list of runs"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="save the fabric to a .json file, for --fabric")
    parser.add_argument("--plot", metavar="FILE", help="plot times and the fitted lines to a .png or .svg file")
    add_json(parser)


def _print(report: FitReport) -> None:
    rows, fabric = report.source.rows, report.fabric
    where = f"{report.num_topologies} topolog{'y' if report.num_topologies == 1 else 'ies'}"
    print(f"fitted to {len(rows)} times on {where}, engine {report.source.engine}")
    print_fields(
        [
            ("alpha", f"{fabric.alpha} a step"),
            ("overhead", f"{fabric.overhead} a call"),
            ("B", f"{fabric.bandwidth} a node of {report.degree} ports"),
            *([("host", f"{fabric.host_bandwidth} through all its ports together")] if fabric.host_bandwidth else []),
            ("error", f"{report.source.mean_error:.2%} on average, {report.source.max_error:.2%} at most"),
        ]
    )
    print()
    lines = [
        (
            row.what, row.collective, str(row.steps), f"{float(row.bandwidth):.4f}", str(row.size),
            format_time(row.seconds), format_time(row.fitted), f"{row.error:+z.2%}",
        )
        for row in rows
    ]  # fmt: skip
    print_table(("topology", "collective", "T_L", "T_B", "bytes", "measured", "fitted", "error"), lines, range(2, 8))


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
    if args.json:
        print_json(report.to_json())
        return 0
    _print(report)
    if args.output is not None:
        print(f"saved to {args.output}")
    if args.plot is not None:
        print(f"plotted to {args.plot}")
    return 0


COMMAND = Command(
    name="fit",
    help="fit alpha, overhead and bandwidth to measured runs, as a fabric file",
    example="linkstep fit ring.json k44.json -o fabric.json --plot fit.svg",
    add_arguments=_add_arguments,
    run=_run,
)
