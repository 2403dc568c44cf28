"""``linkstep schedule --frontier``: steps against bandwidth on one wiring, as a table, as JSON and as a plot."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from linkstep.cli._common import DEFAULT, SIZE, Given, fabric_of, fabric_text, print_json, print_table
from linkstep.cli._progress import gap_bar
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.units import format_time
from linkstep.costs import bandwidth_bound
from linkstep.make import BEST, METHODS
from linkstep.tradeoff import Point, trade_off


def refuse_what_makes_one(args: argparse.Namespace) -> None:
    """Raise for options that are about a single schedule."""
    if args.method != BEST:
        raise LinkstepError("--frontier compares all methods: leave out --method")
    for option in ("output", "steps", "chunks"):
        if getattr(args, option) is not None:
            name = "-o" if option == "output" else f"--{option}"
            raise LinkstepError(f"--frontier compares schedules and makes none: leave out {name}")


def run(given: Given, args: argparse.Namespace) -> int:
    """Find the frontier and print it."""
    source = given.topology if given.recipe is None else given.recipe
    collective = Collective(args.collective or DEFAULT)
    with gap_bar("arrival times") as bar:

        def watch(steps: int, bandwidth: Fraction, bound: Fraction) -> None:
            bar(float(bandwidth / bound - 1))

        points = trade_off(source, collective, seconds=args.seconds, seed=args.seed, watch=watch)
    bound = len(collective.phases) * bandwidth_bound(given.topology.num_nodes)
    if args.plot is not None:
        from linkstep.pictures.tradeoff import plot_trade_off

        plot_trade_off(points, f"{given.topology.name or args.topology}: {collective}", bound, args.plot)
    facts = _facts(given, collective, points, bound, args)
    if args.json:
        print_json(facts)
    else:
        _print(facts)
    return 0


def _facts(
    given: Given, collective: Collective, points: Sequence[Point], bound: Fraction, args: argparse.Namespace
) -> dict[str, Any]:
    fabric, alpha = fabric_of(args, given.topology.degree).slowest_on(given.topology), given.topology.alpha
    return {
        "recipe": given.topology.name or args.topology,
        "collective": collective,
        "size": args.size or SIZE,
        "fabric": fabric_text(given.topology, args),
        "bandwidth_bound": bound,
        "plot": args.plot,
        "seconds_at_most": alpha is not None and bool((alpha != alpha[0]).any()),
        "points": [
            {
                "steps": point.cost.steps,
                "bandwidth": point.cost.bandwidth,
                "least_in_steps": point.least,
                "method": point.method,
                "halves": [{"steps": half.steps, "bandwidth": half.bandwidth} for half in point.halves],
                "seconds": float(fabric.time(point.cost, collective, args.size or SIZE)),
            }
            for point in points
        ],
    }


def _print(facts: dict[str, Any]) -> None:
    print(f"{facts['recipe']}: {facts['collective']}, steps against bandwidth ({facts['fabric']})")
    print(f"no graph of this N goes below {facts['bandwidth_bound']} = {float(facts['bandwidth_bound']):.4f} M/B\n")
    rows = []
    for point in facts["points"]:
        least = point["least_in_steps"]
        value = point["bandwidth"]
        known = "" if least is None else "least possible" if least == value else f"at least {float(least):.4f}"
        method = METHODS[point["method"]].title
        rows.append(
            (str(point["steps"]), str(value), f"{float(value):.4f}", format_time(point["seconds"]), method, known)
        )
    time = f"at most for {facts['size']}" if facts["seconds_at_most"] else f"time for {facts['size']}"
    head = ("T_L", "T_B", "M/B", time, "method", "in so many steps")
    print_table(head, rows, right=(0, 1, 2, 3))
    if facts["plot"]:
        print(f"\ndrawn to {facts['plot']}")
