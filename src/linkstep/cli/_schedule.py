"""``linkstep schedule``: make a schedule for a topology, check it, save it."""

from __future__ import annotations

import argparse
from typing import Any

from linkstep.bfb import bfb_allgather, bfb_certificate
from linkstep.check import check
from linkstep.cli._common import Command, add_json, print_fields, print_json, read
from linkstep.cli._progress import progress_bar
from linkstep.cost import bandwidth_bound, cost_of, is_bandwidth_optimal, is_moore_optimal, moore_steps
from linkstep.files import check_savable, save
from linkstep.schedule import Schedule
from linkstep.topology import Topology


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology file")
    parser.add_argument("-o", "--output", metavar="FILE", help="save the schedule (.npz, or .json to read it)")
    parser.add_argument("--chunks", type=int, metavar="P", help="cut each shard into exactly P equal chunks")
    parser.add_argument(
        "--size", metavar="BYTES", help="bytes gathered in all, such as 1MB: decides where links differ in latency"
    )
    add_json(parser)


def _run(args: argparse.Namespace) -> int:
    topology = read(args.topology).topology
    if args.output:
        check_savable(Schedule, args.output)
    with progress_bar("cost") as bar:
        certificate = bfb_certificate(topology, progress=bar)
    with progress_bar("schedule") as bar:
        schedule = bfb_allgather(topology, args.chunks, size=args.size, progress=bar)
    check(schedule)
    if args.output:
        save(schedule, args.output)
    cost = cost_of(schedule)
    why = certificate.explain_bandwidth()
    if args.json:
        facts: dict[str, Any] = {
            "recipe": topology.name or None,
            "collective": schedule.collective,
            "steps": cost.steps,
            "bandwidth": cost.bandwidth,
            "unit": schedule.unit,
            "rows": schedule.num_rows,
            "bandwidth_optimal": is_bandwidth_optimal(topology, cost),
            "moore_optimal": is_moore_optimal(topology, cost),
            "limited_by": why,
            "best_bfb_bandwidth": certificate.cost.bandwidth,
            "file": args.output,
        }
        print_json(facts)
        return 0
    print(f"{topology.name or args.topology}: BFB {schedule.collective}, checked")
    best = f"{certificate.cost.bandwidth} M/B"
    grid = "" if cost.bandwidth == certificate.cost.bandwidth else f" (without --chunks: {best})"
    print_fields(
        [
            ("T_L", f"{cost.steps} steps, {optimal_steps(topology, cost.steps)}"),
            ("T_B", f"{cost.bandwidth} = {float(cost.bandwidth):.4f} M/B{grid}"),
            ("bandwidth-optimal", optimal_bandwidth(topology.num_nodes, why)),
            ("chunks a shard", str(schedule.unit)),
            ("rows", str(schedule.num_rows)),
        ]
    )
    if args.output:
        print(f"saved to {args.output}")
    return 0


def optimal_steps(topology: Topology, steps: int) -> str:
    """Say whether the steps are Moore-optimal."""
    least = moore_steps(topology.num_nodes, topology.degree)
    return "Moore-optimal" if steps == least else f"not Moore-optimal (bound {least})"


def optimal_bandwidth(num_nodes: int, why: str | None) -> str:
    """Say whether the best BFB schedule is bandwidth-optimal, and what prevents it."""
    return "yes" if why is None else f"no, the bound is {bandwidth_bound(num_nodes)}; {why}"


COMMAND = Command(
    name="schedule",
    help="make the best breadth-first-broadcast allgather of a topology, check it and save it",
    example="linkstep schedule 'Torus(8,8)' -o allgather.npz",
    add_arguments=_add_arguments,
    run=_run,
)
