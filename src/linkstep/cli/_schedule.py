"""``linkstep schedule``: make a schedule for a topology, check it, save it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction

from linkstep.argument import TopologyArgument
from linkstep.cli import _frontier
from linkstep.cli._collective_options import DEFAULT, add_collective, schedule_of
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import SIZE, add_fabric, fabric_of, pricing_of
from linkstep.cli._methods import about_methods
from linkstep.cli._output import add_json, halves_text, print_fields, print_text, show_json, wiring_fields
from linkstep.cli._progress import busy, gap_bar
from linkstep.cli._quantities import add_seconds, add_seed, add_size
from linkstep.cli._signals import one_stop
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.text import counted
from linkstep.core.units import format_time
from linkstep.costs import Cost
from linkstep.files import check_savable, save
from linkstep.problem import Call, Price, Problem
from linkstep.reports.schedule import ScheduleReport
from linkstep.scheduling import BEST, METHODS, ScheduleResult


def _steps(text: str) -> int | tuple[int, int]:
    """Read ``6`` or ``6,5``."""
    first, comma, second = text.partition(",")
    try:
        return (int(first), int(second)) if comma else int(first)
    except ValueError:
        raise argparse.ArgumentTypeError(f"steps are written 6 or 6,5, not {text!r:.60}") from None


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology file")
    add_collective(parser)
    parser.add_argument(
        "--method", choices=[BEST, *METHODS], default=BEST, metavar="METHOD", help="one of those below; default: best"
    )
    parser.add_argument(
        "--steps",
        type=_steps,
        metavar="T[,T]",
        help="by arrival times (in each half; two numbers: in the reduce-scatter and in the allgather), overlapped (in "
        "all), or of an all-to-all; default: the fewest",
    )
    add_seconds(parser, "on the search for arrival times, which Ctrl-C ends too", None)
    add_seed(parser, "the search for arrival times")
    parser.add_argument(
        "--rounds",
        type=_rounds,
        metavar="R",
        help="of the search for arrival times; 0 is a first look, as `find` takes",
    )
    parser.add_argument(
        "--chunks", type=int, metavar="P", help="equal chunks of each shard, or of each piece of an all-to-all"
    )
    add_size(parser, SIZE, "; decides where links differ in latency", fill=False)
    parser.add_argument(
        "--frontier", action="store_true", help="make none: compare steps and bandwidth of what this wiring allows"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the frontier to a .svg or .png file")
    add_fabric(parser)
    add_faults(parser, ranks=True)
    parser.add_argument("-o", "--output", metavar="FILE", help="save the schedule (.npz, or .json to read it)")
    add_json(parser)
    parser.add_argument_group("methods", about_methods())


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
    with one_stop():
        made = _make(given, args)
        whole = None if given.whole is None else _make(given.whole, args)
    if args.output is not None:
        with busy(f"writing {args.output}"):
            save(made.schedule, args.output)
    with busy("looking for the wiring's tightest cut"):
        report = ScheduleReport.of(made, pricing_of(args), args.output, given.faults, whole)
    if not show_json(report, args):
        _print(given.called(args.topology), report)
    return 0


def _make(given: TopologyArgument, args: argparse.Namespace) -> ScheduleResult:
    with gap_bar("arrival times") as bar:

        def watch(steps: int, bandwidth: Fraction, bound: Fraction) -> None:
            bar(float(bandwidth / bound - 1))

        return schedule_of(
            given, args.collective, args.root, method=args.method, chunks=args.chunks, size=args.size, steps=args.steps,
            rounds=args.rounds,
            seconds=args.seconds, seed=args.seed, price=_price(given, args), watch=watch,
            fabric=fabric_of(args, given.topology.degree),
        )  # fmt: skip


def _rounds(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a number of rounds is 0 or more, not {text!r}")
    return int(text)


def _price(given: TopologyArgument, args: argparse.Namespace) -> Price | None:
    """Return what costs are worth, if options say what a step and a byte take."""
    if given.schedule is not None or not any((args.size, args.alpha, args.fabric)):
        return None
    wanted, fabric = args.collective or DEFAULT, fabric_of(args, given.topology.degree)
    call = Call(wanted, args.size or SIZE)
    return Problem(wiring=given.topology, collectives=wanted, fabric=fabric, objective=call).price()


def _print(name: str, report: ScheduleReport) -> None:
    print_text(f"{name}: {report.collective} by {METHODS[report.method].title}, checked")
    print_fields(_fields(report))
    if report.output:
        print(f"saved to {report.output}")


def _fields(report: ScheduleReport) -> Iterator[tuple[str, str]]:
    if report.forwarders:
        yield "ranks", f"{report.ranks} hosts take part, {report.forwarders} more only forward"
    yield f"time for {report.size}", f"{format_time(report.seconds)} ({report.fabric})"
    fewest = "Moore-optimal" if report.moore_optimal else f"not Moore-optimal (bound {report.steps_bound})"
    yield "steps (T_L)", f"{report.steps}, {fewest}"
    yield "M/B (T_B)", f"{report.t_b} = {float(report.t_b):.4f}{_least(report)}"
    if len(report.halves) == 2:
        yield "  halves", halves_text([Cost(half.steps, half.t_b) for half in report.halves])
    if report.bandwidth_optimal is None and report.t_b_bound is not None:
        least = float(report.t_b_bound)
        yield "at least", f"{least:.4f} M/B in {counted(report.steps, 'step')}; M is what each node has"
    if report.limited_by and not report.is_optimal_here:
        yield "  limited by", report.limited_by
    yield from wiring_fields(report.wiring_bound)
    yield "chunks a shard", str(report.chunks_per_shard)
    yield "rows", str(report.num_rows)
    if report.without_faults is not None:
        before = report.without_faults
        yield "faults", "; ".join(report.faults)
        yield "without the faults", f"{counted(before.steps, 'step')}, {before.t_b} M/B, {format_time(before.seconds)}"


def _least(report: ScheduleReport) -> str:
    """Say how T_B stands beside what nothing beats, where the collective has such a bound."""
    if report.bandwidth_optimal is None:
        return ""
    return ", bandwidth-optimal" if report.bandwidth_optimal else f", not bandwidth-optimal ({report.t_b_bound})"


COMMAND = Command(
    name="schedule",
    example="linkstep schedule 'Torus(8,8)' -o allreduce.npz",
    add_arguments=_add_arguments,
    run=_run,
)
