"""``linkstep synthesize``: search for an allgather with given steps and chunks, or prove there is none."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from linkstep.cli._common import (
    Command,
    add_bandwidth,
    add_faults,
    add_json,
    print_fields,
    print_json,
    print_table,
    read,
)
from linkstep.cli._progress import progress_bar
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import parse_fraction, parse_time
from linkstep.correctness import check
from linkstep.costs import bandwidth_bound, cost_of, is_bandwidth_optimal
from linkstep.files import check_savable, save
from linkstep.methods.synthesis import ParetoPoint, Synthesis, pareto, synthesize


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topology", metavar="RECIPE|FILE", help="a recipe, or a topology file; small ones, up to 64 nodes or so"
    )
    parser.add_argument("--steps", type=int, required=True, metavar="S", help="steps, at most")
    parser.add_argument(
        "--chunks", type=int, required=True, metavar="P", help="equal chunks a shard (--pareto: at most)"
    )
    parser.add_argument(
        "--at-most", metavar="T_B", help="accept any T_B up to this, such as 7/8; without it, look for the least"
    )
    parser.add_argument("--pareto", action="store_true", help="list the best trade-offs of steps and T_B instead")
    parser.add_argument("--time-limit", default="60s", metavar="TIME", help="stop after this long (60s)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="start the search elsewhere (0)")
    parser.add_argument("-o", "--output", metavar="FILE", help="save the schedule (.npz, or .json to read it)")
    add_bandwidth(parser)
    add_faults(parser)
    add_json(parser)


def _run(args: argparse.Namespace) -> int:
    topology = read(args.topology, args).topology
    seconds = float(parse_time(args.time_limit))
    at_most = None if args.at_most is None else parse_fraction(args.at_most, "--at-most")
    if args.pareto:
        if args.output is not None or at_most is not None:
            raise LinkstepError("--pareto makes several schedules: give neither --output nor --at-most with it")
        with progress_bar("synthesize", " pairs of steps and chunks") as bar:
            points = pareto(topology, args.steps, args.chunks, time_limit=seconds, seed=args.seed, progress=bar)
        _print_pareto(args, topology, points)
        return 0 if points else 1
    if args.output is not None:
        check_savable(Schedule, args.output)
    with progress_bar("synthesize", " models tried") as bar:
        result = synthesize(
            topology, args.steps, args.chunks, bandwidth=at_most, time_limit=seconds, seed=args.seed, progress=bar
        )
    if result.schedule is not None:
        check(result.schedule)
        if args.output is not None:
            save(result.schedule, args.output)
    if args.json:
        _print_facts(args, topology, result)
    else:
        _print_result(args, topology, result)
    return 0 if result.status == "found" else 1


def _print_facts(args: argparse.Namespace, topology: Topology, result: Synthesis) -> None:
    facts: dict[str, Any] = {
        "recipe": topology.name or None,
        "status": result.status,
        "reason": result.reason,
        "chunks": args.chunks,
        "bandwidth_at_least": result.bound,
        "seconds": round(result.seconds, 3),
    }
    if result.schedule is not None:
        cost = cost_of(result.schedule)
        facts |= {
            "steps": cost.steps,
            "bandwidth": cost.bandwidth,
            "bandwidth_optimal": is_bandwidth_optimal(topology, cost),
            "best": result.is_best,
            "rows": result.schedule.num_rows,
            "file": args.output,
        }
    print_json(facts)


def _print_result(args: argparse.Namespace, topology: Topology, result: Synthesis) -> None:
    wanted = f"an allgather in at most {args.steps} steps with {args.chunks} chunks a shard"
    if args.at_most is not None:
        wanted += f" and T_B at most {args.at_most}"
    where = topology.name or args.topology
    if result.schedule is None:
        verdict = f"{wanted} is impossible" if result.status == "impossible" else f"unknown whether there is {wanted}"
        print(f"{where}: {verdict}: {result.reason}")
        return
    cost = cost_of(result.schedule)
    optimal = "yes" if is_bandwidth_optimal(topology, cost) else f"no (bound {bandwidth_bound(topology.num_nodes)})"
    print(f"{where}: found {wanted}, checked")
    print_fields(
        [
            ("T_L", f"{cost.steps} steps"),
            ("T_B", f"{cost.bandwidth} = {float(cost.bandwidth):.4f} M/B"),
            ("bandwidth-optimal", optimal),
            ("proven", result.reason),
            ("rows", str(result.schedule.num_rows)),
        ]
    )
    if args.output is not None:
        print(f"saved to {args.output}")


def _print_pareto(args: argparse.Namespace, topology: Topology, points: list[ParetoPoint]) -> None:
    if args.json:
        rows = [
            {
                "steps": point.cost.steps,
                "bandwidth": point.cost.bandwidth,
                "chunks": point.schedule.unit,
                "proven": point.proven,
            }
            for point in points
        ]
        print_json(
            {"recipe": topology.name or None, "max_steps": args.steps, "max_chunks": args.chunks, "points": rows}
        )
        return
    if not points:
        print("linkstep: time ran out before any schedule was found", file=sys.stderr)
        return
    print_table(
        ("steps", "T_B", "", "chunks", "proven"),
        (
            (
                str(point.cost.steps),
                str(point.cost.bandwidth),
                f"{float(point.cost.bandwidth):.4f}",
                str(point.schedule.unit),
                "yes" if point.proven else "no",
            )
            for point in points
        ),
        right=(0, 1, 3),
    )


COMMAND = Command(
    name="synthesize",
    help="search a small topology for an allgather with given steps and chunks, or prove there is none",
    example="linkstep synthesize Diamond --steps 3 --chunks 2 --at-most 7/8 -o diamond.json",
    add_arguments=_add_arguments,
    run=_run,
)
