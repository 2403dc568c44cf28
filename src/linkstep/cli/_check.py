"""``linkstep check``: prove a schedule file right, or show where it is wrong."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

from linkstep.cli._common import (
    SIZE,
    Command,
    add_fabric,
    add_json,
    busy,
    fabric_of,
    fabric_text,
    print_json,
    wiring_facts,
    wiring_fields,
)
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError, ScheduleError
from linkstep.core.units import format_time, parse_size
from linkstep.correctness import CHECKS
from linkstep.costs import bandwidth_bound, cost_of, seconds_of
from linkstep.files import load_schedule
from linkstep.programs import is_runtime_file

_BOUNDED = tuple(c for c in Collective if not (c.has_root or c.exchanges))
"""Those whose bandwidth bound depends on N alone."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a schedule (.npz or .json)")
    parser.add_argument("--collective", choices=sorted(CHECKS), help="check it as this, whatever the file says it is")
    parser.add_argument("--size", default=SIZE, metavar="BYTES", help=f"bytes in all, of the time; default: {SIZE}")
    add_fabric(parser)
    add_json(parser)


def _refuse_programs(file: str) -> None:
    """Raise if the file is a runtime's: another command proves those."""
    if is_runtime_file(file):
        raise FileError(f"{file} is a runtime's file, not a schedule: `linkstep verify {shlex.quote(file)}` proves it")


def _run(args: argparse.Namespace) -> int:
    fabric_of(args, 1)
    parse_size(args.size)
    _refuse_programs(args.file)
    with busy(f"reading {args.file}"):
        schedule = load_schedule(args.file)
    collective = Collective(args.collective or schedule.collective)
    facts: dict[str, Any] = {"file": args.file, "collective": collective, "rows": schedule.num_rows}
    try:
        with busy("following every chunk"):
            CHECKS[collective](schedule)
    except ScheduleError as error:
        if args.json:
            print_json(facts | {"valid": False, "witness": str(error), "row": error.row})
        else:
            print(f"linkstep: {args.file} is not a valid {collective}: {error}", file=sys.stderr)
        return 1
    fabric = fabric_of(args, schedule.topology.degree)
    cost, seconds = cost_of(schedule, fabric), seconds_of(schedule, fabric, args.size)
    facts |= {"valid": True, "steps": cost.steps, "bandwidth": cost.bandwidth}
    facts |= {"size": args.size, "seconds": float(seconds), "fabric": fabric_text(schedule.topology, args)}
    everyone = schedule.ranks.is_everyone  # bounds are of collectives in which all nodes take part
    facts |= wiring_facts(schedule.topology, collective, cost, fabric) if everyone else {"wiring_bound": None}
    if args.json:
        print_json(facts)
        return 0
    least = len(collective.phases) * bandwidth_bound(schedule.topology.num_nodes)
    optimal = ", bandwidth-optimal" if everyone and collective in _BOUNDED and cost.bandwidth == least else ""
    nodes = f"N={schedule.topology.num_nodes}" + ("" if everyone else f" ({schedule.num_ranks} take part)")
    print(
        f"{args.file}: valid {collective} on {schedule.topology.name or 'an unnamed topology'}, "
        f"{nodes}, {schedule.num_rows} rows: {cost}{optimal}, "
        f"{format_time(seconds)} for {args.size} ({facts['fabric']})"
    )
    for name, text in wiring_fields(facts):
        print(f"{name}: {text}")
    return 0


COMMAND = Command(
    name="check",
    help="prove a schedule file correct and cost it, or show the first row that is wrong",
    example="linkstep check allgather.npz",
    add_arguments=_add_arguments,
    run=_run,
)
