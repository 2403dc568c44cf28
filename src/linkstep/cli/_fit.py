"""``linkstep fit``: alpha, overhead and bandwidth that explain measured runs best, as a fabric file."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from linkstep.cli._common import Command, add_json, print_fields, print_json, print_table
from linkstep.core.units import format_time, write_bandwidth, write_time
from linkstep.costs import Fit, Run, check_fabric_path, fit, load_runs, save_fabric


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="what `linkstep run --json` printed: a run, or a list of runs"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="save the fabric to a .json file, for --fabric")
    parser.add_argument("--plot", metavar="FILE", help="plot times and the fitted lines to a .png or .svg file")
    add_json(parser)


def _rows(found: Fit) -> list[dict[str, Any]]:
    return [
        {
            "what": point.what,
            "collective": point.collective,
            "steps": point.cost.steps,
            "bandwidth": str(point.cost.bandwidth),
            "degree": point.degree,
            "size": point.size,
            "seconds": point.seconds,
            "fitted": found.seconds(point),
            "error": found.error(point),
        }
        for point in found.points
    ]


def _source(found: Fit, runs: list[Run], files: list[str]) -> dict[str, Any]:
    """Return where the figures of a fabric are from, as its file keeps it."""
    return {
        "fitted_to": files,
        "engine": runs[0].engine,
        "testbeds": sorted({run.testbed for run in runs if run.testbed is not None}),
        "mean_error": found.mean_error,
        "max_error": found.max_error,
        "notes": list(found.notes),
        "rows": _rows(found),
    }


def _print(found: Fit, runs: list[Run]) -> None:
    fabric, host, topologies = found.fabric, found.fabric.host_bandwidth, len({point.what for point in found.points})
    where = f"{topologies} topolog{'y' if topologies == 1 else 'ies'}, engine {runs[0].engine}"
    print(f"fitted to {len(found.points)} times on {where}")
    print_fields(
        [
            ("alpha", f"{write_time(fabric.alpha)} a step"),
            ("overhead", f"{write_time(fabric.overhead)} a call"),
            ("B", f"{write_bandwidth(fabric.node_bandwidth)} a node of {fabric.degree} ports"),
            *([] if host is None else [("host", f"{write_bandwidth(host)} through all ports of a host together")]),
            ("error", f"{found.mean_error:.2%} on average, {found.max_error:.2%} at most"),
        ]
    )
    print()
    lines = [
        (
            point.what, point.collective, str(point.cost.steps), f"{float(point.cost.bandwidth):.4f}", str(point.size),
            format_time(point.seconds), format_time(found.seconds(point)), f"{found.error(point):+z.2%}",
        )
        for point in found.points
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
    source = _source(found, runs, args.files)
    if args.output is not None:
        save_fabric(found.fabric, args.output, source)
    if args.plot is not None:
        from linkstep.pictures.fit import plot_fit

        plot_fit(found, args.plot)
    if args.json:
        fabric = found.fabric
        values = {
            "alpha": write_time(fabric.alpha),
            "bandwidth": write_bandwidth(fabric.node_bandwidth),
            "overhead": write_time(fabric.overhead),
            "host_bandwidth": None if fabric.host_bandwidth is None else write_bandwidth(fabric.host_bandwidth),
            "degree": fabric.degree,
        }
        print_json(values | source | {"file": args.output, "plot": args.plot})
        return 0
    _print(found, runs)
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
