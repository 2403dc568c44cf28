"""``linkstep synthesize``: search for an allgather with given steps and chunks, or prove there is none."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from linkstep.cli._command import Command
from linkstep.cli._fabric_options import add_bandwidth
from linkstep.cli._output import add_json, print_fields, print_table, show_json
from linkstep.cli._progress import progress_bar
from linkstep.cli._quantities import add_seconds, add_seed
from linkstep.cli._signals import one_stop
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.text import counted
from linkstep.core.topology import Topology
from linkstep.core.units import parse_fraction
from linkstep.correctness import check
from linkstep.files import check_savable, save
from linkstep.methods.synthesis import pareto, synthesize
from linkstep.reports.synthesis import ParetoReport, SynthesisReport

SECONDS = 60.0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topology", metavar="RECIPE|FILE", help="a recipe, or a topology file; small ones, up to 64 nodes or so"
    )
    parser.add_argument("--steps", type=int, required=True, metavar="T", help="steps, at most")
    parser.add_argument(
        "--chunks", type=int, required=True, metavar="P", help="equal chunks of each shard (--pareto: at most)"
    )
    parser.add_argument(
        "--at-most", metavar="T_B", help="accept any T_B up to this, such as 7/8; without it, look for the least"
    )
    parser.add_argument("--pareto", action="store_true", help="list the best trade-offs of steps and T_B instead")
    add_seconds(parser, "on the search", SECONDS, "--time-limit")
    add_seed(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="save the schedule (.npz, or .json to read it)")
    add_bandwidth(parser)
    add_faults(parser)
    add_json(parser)


def _run(args: argparse.Namespace) -> int:
    topology = read(args.topology, args).topology
    seconds = args.seconds
    at_most = None if args.at_most is None else parse_fraction(args.at_most, "--at-most")
    if args.pareto:
        if args.output is not None or at_most is not None:
            raise LinkstepError("--pareto makes several schedules: give neither --output nor --at-most with it")
        return _list_pareto(topology, seconds, args)
    if args.output is not None:
        check_savable(Schedule, args.output)
    with progress_bar("synthesize", " models tried") as bar, one_stop():
        result = synthesize(
            topology, args.steps, args.chunks, bandwidth=at_most, time_limit=seconds, seed=args.seed, progress=bar
        )
    if result.schedule is not None:
        check(result.schedule)
        if args.output is not None:
            save(replace(result.schedule, method="synthesized"), args.output)
    report = SynthesisReport.of(topology, result, args.chunks, args.output)
    if not show_json(report, args):
        _print(report, args)
    return 0 if report.status == "found" else 1


def _list_pareto(topology: Topology, seconds: float, args: argparse.Namespace) -> int:
    with progress_bar("synthesize", " pairs of steps and chunks") as bar, one_stop():
        points = pareto(topology, args.steps, args.chunks, time_limit=seconds, seed=args.seed, progress=bar)
    report = ParetoReport.of(topology, points, args.steps, args.chunks)
    if not show_json(report, args):
        _print_pareto(report)
    return 0 if points else 1


def _print(report: SynthesisReport, args: argparse.Namespace) -> None:
    wanted = f"an allgather in at most {args.steps} steps with {report.chunks_per_shard} chunks a shard"
    if args.at_most is not None:
        wanted += f" and T_B at most {args.at_most}"
    where, found = report.recipe or args.topology, report.found
    if found is None:
        verdict = f"{wanted} is impossible" if report.status == "impossible" else f"unknown whether there is {wanted}"
        print(f"{where}: {verdict}: {report.reason}")
        return
    print(f"{where}: found {wanted}, checked")
    print_fields(
        [
            ("T_L", counted(found.steps, "step")),
            ("T_B", f"{found.t_b} = {float(found.t_b):.4f} M/B"),
            ("bandwidth-optimal", "yes" if found.bandwidth_optimal else f"no (bound {report.bandwidth_bound})"),
            ("proven", report.reason),
            ("rows", str(found.num_rows)),
        ]
    )
    if found.output is not None:
        print(f"saved to {found.output}")


def _print_pareto(report: ParetoReport) -> None:
    if not report.points:
        print("linkstep: time ran out before any schedule was found", file=sys.stderr)
        return
    print_table(
        ("steps", "T_B", "", "chunks", "proven"),
        (
            (
                str(point.steps),
                str(point.t_b),
                f"{float(point.t_b):.4f}",
                str(point.chunks_per_shard),
                "yes" if point.proven else "no",
            )
            for point in report.points
        ),
        right=(0, 1, 3),
    )


COMMAND = Command(
    name="synthesize",
    example="linkstep synthesize Diamond --steps 3 --chunks 2 --at-most 7/8",
    add_arguments=_add_arguments,
    run=_run,
)
