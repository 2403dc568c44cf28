"""``linkstep simulate``: run what a runtime would run, lowered here or read from its file, on a simulated fabric."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from linkstep.cli._collective_options import DEFAULT, add_collective, schedule_of
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import SIZE, add_fabric, fabric_of, pricing_of
from linkstep.cli._output import add_json, print_fields, show_json, wiring_fields
from linkstep.cli._progress import busy, progress_bar
from linkstep.cli._quantities import add_size, rate_option, size_option, time_option
from linkstep.cli._timeline import add_timeline, check_timeline, save_timeline, saved_line
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.units import format_time, parse_bytes, parse_size, parse_time
from linkstep.costs import Fabric
from linkstep.lowering import TARGETS, check_fits
from linkstep.programs import read_program, runtime_text
from linkstep.reports.simulation import SimulationReport
from linkstep.simulation import Simulation, simulate_program, simulate_schedule, used_links
from linkstep.timelines import timeline_of

_DEFAULT_TARGET = "msccl"
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
    add_faults(parser, ranks=True)
    add_size(parser, SIZE)
    parser.add_argument(
        "--reduction", type=rate_option, metavar="RATE", help="how fast a server adds up; default: infinitely"
    )
    parser.add_argument(
        "--instruction", type=time_option, default="0s", metavar="TIME", help="overhead of an instruction; default: 0s"
    )
    parser.add_argument("--channels", type=int, metavar="C", help="channels of each link; default: the fewest that fit")
    parser.add_argument("--instances", type=int, metavar="I", help="cut messages into I; default: 1")
    parser.add_argument("--gather", type=size_option, metavar="BYTES", help="as for linkstep lower, at this size")
    add_timeline(parser, "when each link is busy")
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
    topology = schedule.topology
    fabric = fabric_of(args, topology.degree).on(topology)
    with progress_bar("simulate", " parts") as bar:
        done = simulate_schedule(
            schedule, args.to or _DEFAULT_TARGET, fabric, args.size, channels=args.channels,
            instances=1 if args.instances is None else args.instances,
            gather=None if args.gather is None else parse_bytes(args.gather, "--gather"),
            instruction_time=parse_time(args.instruction), progress=bar,
        )  # fmt: skip
    return done, fabric


def _check_options(args: argparse.Namespace) -> None:
    """Raise for what no fabric and no data can be, before anything is made."""
    if not parse_size(args.size):
        raise LinkstepError(f"--size must be more than 0 bytes, not {args.size}")
    if args.gather is not None:
        parse_bytes(args.gather, "--gather")
    parse_time(args.instruction)
    fabric_of(args, 1)
    if args.timeline is not None:
        check_timeline(args.timeline)


def _fields(report: SimulationReport) -> Iterator[tuple[str, str]]:
    change = ""
    if report.predicted_seconds is not None:
        yield "schedule", f"{report.cost} = {format_time(report.predicted_seconds)}"
        yield from wiring_fields(report.wiring_bound)
        change = _change(report)
    elif report.bound_seconds is not None:
        yield "at least", f"{format_time(report.bound_seconds)}, by bandwidth"
    yield "simulated", f"{format_time(report.simulated_seconds)}{change}"
    yield "busiest link", "{} to {}, {:.0%} of the time".format(*report.busiest_link, report.utilisation)
    yield "instructions", str(report.instructions)


def _change(report: SimulationReport) -> str:
    if report.loss is None or report.is_as_predicted:
        return ", the same"
    return f", {abs(report.loss):.1%} {'slower' if report.loss > 0 else 'faster'}"


def _run(args: argparse.Namespace) -> int:
    _check_options(args)
    text, schedule = runtime_text(args.topology), None
    if text is not None:
        done, fabric = _run_file(text, args)
    else:
        schedule = _make_schedule(args)
        done, fabric = _run_schedule(schedule, args)
    with busy("looking for the wiring's tightest cut"):
        timeline = args.timeline and str(args.timeline)
        report = SimulationReport.of(done, fabric, pricing_of(args), schedule, args.topology, timeline)
    name = args.topology if schedule is None else report.recipe or args.topology
    if args.timeline is not None:
        save_timeline(args.timeline, timeline_of(done, Path(name).name))
    if show_json(report, args):
        return 0
    print(f"{name}: {report.collective} of {report.size} for {report.target}, simulated")
    print_fields(_fields(report))
    if args.timeline is not None:
        print(saved_line(args.timeline))
    return 0


COMMAND = Command(
    name="simulate",
    example="linkstep simulate 'Torus(4,4)' --to rccl --size 16MB --timeline a.svg",
    add_arguments=_add_arguments,
    run=_run,
)
