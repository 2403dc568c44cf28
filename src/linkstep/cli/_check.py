"""``linkstep check``: prove a schedule file right, or show where it is wrong."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from linkstep.cli._common import Command, add_json, print_json
from linkstep.core.errors import ScheduleError
from linkstep.correctness import CHECKS
from linkstep.costs import cost_of, is_bandwidth_optimal
from linkstep.files import load_schedule


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a schedule (.npz or .json)")
    parser.add_argument("--collective", choices=sorted(CHECKS), help="check it as this, whatever the file says it is")
    add_json(parser)


def _run(args: argparse.Namespace) -> int:
    schedule = load_schedule(args.file)
    collective = args.collective or schedule.collective
    facts: dict[str, Any] = {"file": args.file, "collective": collective, "rows": schedule.num_rows}
    try:
        CHECKS[collective](schedule)
    except ScheduleError as error:
        if args.json:
            print_json(facts | {"valid": False, "witness": str(error), "row": error.row})
        else:
            print(f"linkstep: {args.file} is not a valid {collective}: {error}", file=sys.stderr)
        return 1
    cost = cost_of(schedule)
    facts |= {"valid": True, "steps": cost.steps, "bandwidth": cost.bandwidth}
    if args.json:
        print_json(facts)
        return 0
    optimal = (
        ", bandwidth-optimal" if collective != "allreduce" and is_bandwidth_optimal(schedule.topology, cost) else ""
    )
    print(
        f"{args.file}: valid {collective} on {schedule.topology.name or 'an unnamed topology'}, "
        f"N={schedule.topology.num_nodes}, {schedule.num_rows} rows: {cost}{optimal}"
    )
    return 0


COMMAND = Command(
    name="check",
    help="prove a schedule file correct and cost it, or show the first row that is wrong",
    example="linkstep check allgather.npz",
    add_arguments=_add_arguments,
    run=_run,
)
