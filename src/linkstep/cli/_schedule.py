"""``linkstep schedule``: make a schedule for a topology, check it, save it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction

from linkstep.cli import _frontier
from linkstep.cli._collective_options import DEFAULT, add_collective, schedule_of
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import SIZE, add_fabric, fabric_of, pricing_of
from linkstep.cli._output import add_json, print_fields, print_json, wiring_fields
from linkstep.cli._progress import busy, gap_bar
from linkstep.cli._signals import one_interrupt
from linkstep.cli._topology_argument import TopologyArgument, add_faults, read
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.units import format_time
from linkstep.files import check_savable, save
from linkstep.problem import Call, Price, Problem
from linkstep.reports.schedule import ScheduleReport
from linkstep.scheduling import BEST, METHODS, ScheduleResult


def _steps(text: str) -> int | tuple[int, int]:
    """Read ``6`` or ``6,5``."""
    first, comma, second = text.partition(",")
    return (int(first), int(second)) if comma else int(first)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology file")
    add_collective(parser)
    titles = "; ".join(f"{name}: {method.title}" for name, method in METHODS.items())
    parser.add_argument(
        "--method",
        choices=[BEST, *METHODS],
        default=BEST,
        help=f"{titles}; default: bfb if it is no worse in steps and bandwidth than what the recipe says, arrival if "
        "that improves on it, and whatever takes least time where --size, --alpha or --fabric say what that is",
    )
    parser.add_argument(
        "--steps",
        type=_steps,
        metavar="T[,T]",
        help="by arrival times (in each half; two numbers: in the reduce-scatter and in the allgather), overlapped (in "
        "all), or of an all-to-all; default: the fewest",
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="stop the search for arrival times after this long; so does Ctrl-C"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="of the search for arrival times; default: 0")
    parser.add_argument(
        "--rounds", type=int, metavar="R", help="of the search for arrival times; 0 is a first look, as `find` takes"
    )
    parser.add_argument("--chunks", type=int, metavar="P", help="cut each shard, or piece, into exactly P equal chunks")
    parser.add_argument(
        "--size", metavar="BYTES", help=f"bytes in all; decides where links differ in latency; default: {SIZE}"
    )
    parser.add_argument(
        "--frontier", action="store_true", help="make none: compare steps and bandwidth of what this wiring allows"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the frontier to a .svg or .png file")
    add_fabric(parser)
    add_faults(parser, ranks=True)
    parser.add_argument("-o", "--output", metavar="FILE", help="save the schedule (.npz, or .json to read it)")
    add_json(parser)


def _run(args: argparse.Namespace) -> int:
    fabric_of(args, 1)
    if args.output is not None:
        check_savable(Schedule, args.output)
    if args.frontier:
        _frontier.refuse_what_makes_one(args)
    if args.plot is not None:
        if not args.frontier:
            raise LinkstepError("--plot draws a frontier: add --frontier")
        from linkstep.pictures.style import check_drawable  # here: most calls draw nothing

        check_drawable(args.plot)
    given = read(args.topology, args)
    if given.schedule is not None:
        raise LinkstepError(f"{args.topology} holds a schedule already: `linkstep check` proves it and costs it")
    if args.frontier:
        if given.ranks is not None:
            raise LinkstepError("--frontier compares schedules in which everyone takes part: leave out --forward")
        return _frontier.run(given, args)
    made = _make(given, args)
    if args.output is not None:
        with busy(f"writing {args.output}"):
            save(made.schedule, args.output)
    whole = None if given.whole is None else _make(given.whole, args)
    with busy("looking for the wiring's tightest cut"):
        report = ScheduleReport.of(made, pricing_of(args), args.output, given.faults, whole)
    if args.json:
        print_json(report.to_json())
    else:
        _print(given.called(args.topology), report)
    return 0


def _make(given: TopologyArgument, args: argparse.Namespace) -> ScheduleResult:
    with gap_bar("arrival times") as bar, one_interrupt():

        def watch(steps: int, bandwidth: Fraction, bound: Fraction) -> None:
            bar(float(bandwidth / bound - 1))

        return schedule_of(
            given, args.collective, args.root, method=args.method, chunks=args.chunks, size=args.size, steps=args.steps,
            rounds=args.rounds,
            seconds=args.seconds, seed=args.seed, price=_price(given, args), watch=watch,
            fabric=fabric_of(args, given.topology.degree),
        )  # fmt: skip


def _price(given: TopologyArgument, args: argparse.Namespace) -> Price | None:
    """Return what costs are worth, if options say what a step and a byte take."""
    if given.schedule is not None or not any((args.size, args.alpha, args.fabric)):
        return None
    wanted, fabric = args.collective or DEFAULT, fabric_of(args, given.topology.degree)
    call = Call(wanted, args.size or SIZE)
    return Problem(wiring=given.topology, collectives=wanted, fabric=fabric, objective=call).price()


def _print(name: str, report: ScheduleReport) -> None:
    print(f"{name}: {report.collective} by {METHODS[report.method].title}, checked")
    print_fields(_fields(report))
    if report.file:
        print(f"saved to {report.file}")


def _fields(report: ScheduleReport) -> Iterator[tuple[str, str]]:
    moore = "Moore-optimal" if report.moore_optimal else f"not Moore-optimal (bound {report.moore_bound})"
    if report.forwarders:
        yield "ranks", f"{report.ranks} hosts take part, {report.forwarders} more only forward"
    yield "T_L", f"{report.steps} steps, {moore}"
    yield "T_B", f"{report.bandwidth} = {float(report.bandwidth):.4f} M/B"
    if report.method == "arrival":
        for name, part in zip(("  reduce-scatter", "  allgather"), report.halves, strict=False):
            yield name, f"{part.steps} steps, {part.bandwidth} M/B"
    least = report.bandwidth_bound
    if report.bandwidth_optimal is not None:
        yield "bandwidth-optimal", "yes" if report.bandwidth_optimal else f"no (bound {least})"
    elif least is not None:
        yield "at least", f"{float(least):.4f} M/B in {report.steps} steps; M is what each node has"
    if report.limited_by and not report.is_optimal_here:
        yield "  limited by", report.limited_by
    yield from wiring_fields(report.wiring_bound)
    yield f"time for {report.size}", f"{format_time(report.seconds)} ({report.fabric})"
    yield "chunks a shard", str(report.unit)
    yield "rows", str(report.rows)
    if report.without_faults is not None:
        before = report.without_faults
        yield "faults", "; ".join(report.faults)
        yield "without the faults", f"{before.steps} steps, {before.bandwidth} M/B, {format_time(before.seconds)}"


COMMAND = Command(
    name="schedule",
    help="make a schedule for a topology, check it and save it",
    example="linkstep schedule 'Torus(8,8)' --collective allreduce -o allreduce.npz",
    add_arguments=_add_arguments,
    run=_run,
)
