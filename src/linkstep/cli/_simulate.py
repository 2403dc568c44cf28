"""``linkstep simulate``: run what a runtime would run, lowered here or read from its file, on a simulated fabric."""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

from linkstep.assembly import assemble
from linkstep.cli._common import (
    DEFAULT,
    Command,
    add_collective,
    add_fabric,
    add_faults,
    add_json,
    fabric_of,
    fabric_values,
    print_fields,
    print_json,
    read,
    schedule_of,
    wiring_facts,
    wiring_fields,
)
from linkstep.cli._lower import parse_bytes
from linkstep.cli._progress import progress_bar
from linkstep.core.errors import FileError, LinkstepError, TopologyError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import format_time, parse_size, parse_time
from linkstep.costs import Cost, Fabric, bound_if_quick, cost_of, seconds_of
from linkstep.lowering import TARGETS, check_fits, lower
from linkstep.programs import read_program, runtime_text
from linkstep.simulation import Simulation, bound_time, simulate_program, used_links

_DEFAULT_TARGET = "msccl"
_SAME = 5e-4
_OF_SCHEDULES = ("to", "collective", "channels", "instances", "gather")
"""Options that a runtime file has settled already."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topology", metavar="RECIPE|FILE", help="a recipe, a topology or schedule file, or a runtime's file as it is"
    )
    to = f"the runtime to lower a schedule for; default: {_DEFAULT_TARGET}"
    parser.add_argument("--to", choices=tuple(TARGETS), help=to)
    add_collective(parser)
    parser.add_argument(
        "--on",
        metavar="RECIPE|FILE",
        help="the topology a runtime's file runs on; default: a link for each pair it uses",
    )
    add_fabric(parser)
    add_faults(parser)
    parser.add_argument("--size", default="1MB", metavar="BYTES", help="the data in all; default: 1MB")
    parser.add_argument("--reduction", metavar="RATE", help="how fast a node adds up; default: infinitely")
    parser.add_argument("--instruction", default="0s", metavar="TIME", help="overhead of an instruction; default: none")
    parser.add_argument("--channels", type=int, metavar="C", help="channels of each link; default: the fewest that fit")
    parser.add_argument("--instances", type=int, metavar="I", help="cut messages into I; default: 1")
    parser.add_argument("--gather", metavar="BYTES", help="as for linkstep lower, at this size")
    parser.add_argument("--timeline", metavar="FILE", help="draw when each link is busy, to a .svg or .png file")
    add_json(parser)


def _run_file(text: str, args: argparse.Namespace) -> tuple[Simulation, Fabric]:
    for option in _OF_SCHEDULES:
        if getattr(args, option) is not None:
            raise LinkstepError(f"--{option} is for schedules: {args.topology} is a runtime's file and runs as it is")
    try:
        program = read_program(text)
    except FileError as error:
        raise FileError(f"{args.topology}: {error}") from None
    if args.faults and args.on is None:
        raise LinkstepError("faults are those of a topology: name the one the file runs on with --on")
    topology = used_links(program) if args.on is None else read(args.on, args).topology
    if program.num_ranks == 1 or not topology.num_links:
        raise LinkstepError(f"{args.topology}: nothing is sent, so there is nothing to simulate")
    fabric = fabric_of(args, topology.degree).on(topology)
    with progress_bar("simulate", " stages") as bar:
        bar(0, 1)
        done = simulate_program(program, topology, fabric, args.size, instruction_time=parse_time(args.instruction))
        bar(1, 1)
    return done, fabric


def _make_schedule(args: argparse.Namespace) -> Schedule:
    """Return the schedule to simulate, once it is known that the options suit it."""
    if args.on is not None:
        raise LinkstepError("--on is for runtime files: a schedule runs on its own topology")
    given = read(args.topology, args)
    if given.topology.num_nodes == 1:
        raise LinkstepError("one node alone has nothing to send")
    if given.schedule is None:
        check_fits(
            args.to or _DEFAULT_TARGET, given.topology, args.collective or DEFAULT,
            channels=args.channels, instances=1 if args.instances is None else args.instances,
        )  # fmt: skip
    return schedule_of(given, args.collective, args.root, fabric=fabric_of(args, given.topology.degree)).schedule


def _run_schedule(schedule: Schedule, args: argparse.Namespace) -> tuple[Simulation, Fabric]:
    to, topology = args.to or _DEFAULT_TARGET, schedule.topology
    fabric = fabric_of(args, topology.degree).on(topology)
    with progress_bar("lower", " parts") as bar:
        lowered = lower(
            schedule, to, channels=args.channels, instances=1 if args.instances is None else args.instances,
            gather=None if args.gather is None else parse_bytes(args.gather, "--gather"),
            max_bytes=ceil(parse_size(args.size)), progress=bar,
        )  # fmt: skip
    with progress_bar("simulate", " stages") as bar:
        bar(0, 2)
        program = assemble(lowered)
        bar(1, 2)
        done = simulate_program(
            program, schedule.topology, fabric, args.size, instruction_time=parse_time(args.instruction),
            predicted=float(seconds_of(schedule, fabric, args.size)),
        )  # fmt: skip
        bar(2, 2)
    return done, fabric


def _check_options(args: argparse.Namespace) -> None:
    """Raise for what no fabric and no data can be, before anything is made."""
    if not parse_size(args.size):
        raise LinkstepError(f"--size must be more than 0 bytes, not {args.size}")
    if args.gather is not None:
        parse_bytes(args.gather, "--gather")
    parse_time(args.instruction)
    fabric_of(args, 1)


def _end(topology: Topology, node: int) -> int | str:
    return node if topology.labels is None else topology.labels[node]


def _bound_seconds(done: Simulation, fabric: Fabric, args: argparse.Namespace) -> float | None:
    """Return the seconds that bandwidth alone asks of the collective, on this wiring where its bound is known."""
    bound = None
    with suppress(TopologyError):  # a file may use links that do not connect all ranks, and do nothing right
        bound = bound_if_quick(done.topology, done.program.collective, fabric)
    if bound is not None:
        least = replace(fabric, reduction_bandwidth=None, overhead=Fraction(0))
        return float(least.time(Cost(0, bound.cost.bandwidth), done.program.collective, args.size))
    return bound_time(done.program, fabric, args.size) if done.topology.bandwidth is None else None


def _facts(done: Simulation, schedule: Schedule | None, fabric: Fabric, args: argparse.Namespace) -> dict[str, Any]:
    topology, busiest = done.topology, done.busiest
    wiring: dict[str, Any] = {"wiring_bound": None}
    if schedule is not None:
        wiring = wiring_facts(topology, schedule.collective, cost_of(schedule, fabric), fabric)
    return {
        "recipe": topology.name or None,
        "file": args.topology if schedule is None else None,
        "to": done.program.dialect,
        "collective": done.program.collective,
        "ranks": done.program.num_ranks,
        "links": topology.num_links,
        "size": args.size,
        **fabric_values(args, topology.degree),
        "cost": None if schedule is None else str(cost_of(schedule)),
        "predicted_seconds": done.predicted,
        "bound_seconds": _bound_seconds(done, fabric, args),
        **wiring,
        "simulated_seconds": done.time,
        "loss": None if schedule is None else done.loss,
        "busiest_link": [_end(topology, int(ids[busiest])) for ids in (topology.tail, topology.head)],
        "utilisation": done.utilisation,
        "instructions": done.program.num_instructions,
        "timeline": args.timeline,
    }


def _fields(done: Simulation, facts: dict[str, Any]) -> list[tuple[str, str]]:
    fields = []
    change = ""
    if done.predicted is not None:
        fields.append(("schedule", f"{facts['cost']} = {format_time(done.predicted)}"))
        far = abs(done.loss) > _SAME
        fields += wiring_fields(facts)
        change = f", {abs(done.loss):.1%} {'slower' if done.loss > 0 else 'faster'}" if far else ", the same"
    elif facts["bound_seconds"] is not None:
        fields.append(("at least", f"{format_time(facts['bound_seconds'])}, by bandwidth"))
    a, b = facts["busiest_link"]
    return [
        *fields,
        ("simulated", f"{format_time(done.time)}{change}"),
        ("busiest link", f"{a} to {b}, {done.utilisation:.0%} of the time"),
        ("instructions", str(facts["instructions"])),
    ]


def _run(args: argparse.Namespace) -> int:
    _check_options(args)
    text, schedule = runtime_text(args.topology), None
    if text is not None:
        done, fabric = _run_file(text, args)
    else:
        schedule = _make_schedule(args)
        done, fabric = _run_schedule(schedule, args)
    facts = _facts(done, schedule, fabric, args)
    name = args.topology if schedule is None else facts["recipe"] or args.topology
    if args.timeline:
        from linkstep.pictures.timeline import save_timeline

        save_timeline(done, args.timeline, Path(name).name)
    if args.json:
        print_json(facts)
        return 0
    print(f"{name}: {facts['collective']} of {args.size} for {facts['to']}, simulated")
    print_fields(_fields(done, facts))
    if args.timeline:
        print(f"drawn to {args.timeline}")
    return 0


COMMAND = Command(
    name="simulate",
    help="run a schedule as lowered for a runtime, or a runtime's file, on a simulated fabric",
    example="linkstep simulate 'Torus(4,4)' --to rccl --size 16MB --timeline links.svg",
    add_arguments=_add_arguments,
    run=_run,
)
