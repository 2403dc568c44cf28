"""``linkstep schedule --frontier``: steps against bandwidth on one wiring, as a table, as JSON and as a plot."""

from __future__ import annotations

import argparse
from fractions import Fraction

from linkstep.argument import TopologyArgument
from linkstep.cli._collective_options import DEFAULT
from linkstep.cli._fabric_options import pricing_of
from linkstep.cli._output import print_table, show_json
from linkstep.cli._progress import gap_bar
from linkstep.cli._signals import one_stop
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.units import format_time
from linkstep.reports.tradeoff import TradeOffPoint, TradeOffReport
from linkstep.scheduling import BEST, METHODS, trade_off


def refuse_what_makes_one(args: argparse.Namespace) -> None:
    """Raise for options that are about a single schedule."""
    if args.method != BEST:
        raise LinkstepError("--frontier compares all methods: leave out --method")
    for option in ("output", "steps", "chunks"):
        if getattr(args, option) is not None:
            name = "-o" if option == "output" else f"--{option}"
            raise LinkstepError(f"--frontier compares schedules and makes none: leave out {name}")


def run(given: TopologyArgument, args: argparse.Namespace) -> int:
    """Find the frontier and print it."""
    source = given.topology if given.recipe is None else given.recipe
    collective = Collective(args.collective or DEFAULT)
    with gap_bar("arrival times") as bar, one_stop():

        def watch(steps: int, bandwidth: Fraction, bound: Fraction) -> None:
            bar(float(bandwidth / bound - 1))

        points = trade_off(source, collective, seconds=args.seconds, seed=args.seed, watch=watch)
    report = TradeOffReport.of(given.topology, collective, points, pricing_of(args), args.topology, args.plot)
    if args.plot is not None:
        from linkstep.pictures.tradeoff import plot_trade_off

        plot_trade_off(points, f"{report.recipe}: {collective}", report.t_b_bound, args.plot)
    if not show_json(report, args):
        _print(report)
    return 0


def _print(report: TradeOffReport) -> None:
    print(f"{report.recipe}: {report.collective}, steps against bandwidth ({report.fabric})")
    print(f"no graph of this N goes below {report.t_b_bound} = {float(report.t_b_bound):.4f} M/B\n")
    time = f"at most for {report.size}" if report.seconds_at_most else f"time for {report.size}"
    head = ("T_L", "T_B", "M/B", time, "method", "in T_L steps")
    print_table(head, map(_line, report.points), right=(0, 1, 2, 3))
    if report.plot:
        print(f"\ndrawn to {report.plot}")


def _line(point: TradeOffPoint) -> tuple[str, ...]:
    least, value = point.t_b_bound_in_steps, point.t_b
    known = "" if least is None else "least possible" if least == value else f"at least {float(least):.4f}"
    time, method = format_time(point.seconds), METHODS[point.method].title
    return str(point.steps), str(value), f"{float(value):.4f}", time, method, known
