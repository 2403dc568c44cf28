"""``linkstep schedule``: make a schedule for a topology, check it, save it."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from linkstep.cli import _frontier
from linkstep.cli._common import (
    DEFAULT,
    SIZE,
    Command,
    Given,
    add_collective,
    add_fabric,
    add_faults,
    add_json,
    busy,
    fabric_of,
    fabric_text,
    fabric_values,
    print_fields,
    print_json,
    read,
    schedule_of,
    wiring_facts,
    wiring_fields,
)
from linkstep.cli._progress import gap_bar
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.units import format_time
from linkstep.costs import Cost, lower_bound, seconds_of
from linkstep.files import check_savable, save
from linkstep.make import BEST, METHODS, Made, Price
from linkstep.problem import Call, Problem


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
    add_faults(parser)
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
        return _frontier.run(given, args)
    made = _make(given, args)
    if args.output is not None:
        with busy(f"writing {args.output}"):
            save(made.schedule, args.output)
    facts = _facts(made, args) | {
        "faults": [str(fault) for fault in given.faults],
        "without_faults": None if given.whole is None else _before(_make(given.whole, args), args),
    }
    if args.json:
        print_json(facts)
    else:
        _print(given.called(args.topology), facts)
    return 0


def _make(given: Given, args: argparse.Namespace) -> Made:
    with gap_bar("arrival times") as bar, one_interrupt():

        def watch(steps: int, bandwidth: Fraction, bound: Fraction) -> None:
            bar(float(bandwidth / bound - 1))

        return schedule_of(
            given, args.collective, args.root, method=args.method, chunks=args.chunks, size=args.size, steps=args.steps,
            rounds=args.rounds,
            seconds=args.seconds, seed=args.seed, price=_price(given, args), watch=watch,
            fabric=fabric_of(args, given.topology.degree),
        )  # fmt: skip


def _price(given: Given, args: argparse.Namespace) -> Price | None:
    """Return what costs are worth, if options say what a step and a byte take."""
    if given.schedule is not None or not any((args.size, args.alpha, args.fabric)):
        return None
    wanted, fabric = args.collective or DEFAULT, fabric_of(args, given.topology.degree)
    call = Call(wanted, args.size or SIZE)
    return Problem(wiring=given.topology, collectives=wanted, fabric=fabric, objective=call).price()


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C once, not until the command has ended: a search stops and the work goes on."""
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, signal.default_int_handler):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _before(made: Made, args: argparse.Namespace) -> dict[str, Any]:
    """Return what faults change, as it was without them."""
    cost = made.cost
    seconds = seconds_of(made.schedule, fabric_of(args, made.schedule.topology.degree), args.size or SIZE)
    return {"method": made.method, "steps": cost.steps, "bandwidth": cost.bandwidth, "seconds": float(seconds)}


def _facts(made: Made, args: argparse.Namespace) -> dict[str, Any]:
    schedule, cost = made.schedule, made.cost
    topology, collective = schedule.topology, schedule.collective
    half = lower_bound(topology.num_nodes, topology.degree)
    bound = sum([half] * len(collective.phases), Cost.zero())
    optimal = None if collective.has_root or collective.exchanges else cost.bandwidth == bound.bandwidth
    searched, values = made.certificate, fabric_values(args, topology.degree)
    return {
        "recipe": topology.name or None,
        "collective": collective,
        "method": made.method,
        "steps": cost.steps,
        "bandwidth": cost.bandwidth,
        "halves": [{"steps": half.steps, "bandwidth": half.bandwidth} for half in made.halves],
        "seconds": float(seconds_of(schedule, fabric_of(args, topology.degree), args.size or SIZE)),
        "size": args.size or SIZE,
        "alpha": values["alpha"],
        "node_bandwidth": values["bandwidth"],
        "overhead": values["overhead"],
        "host_bandwidth": values.get("host_bandwidth"),
        "fabric": fabric_text(topology, args),
        "unit": schedule.unit,
        "rows": schedule.num_rows,
        "moore_bound": bound.steps,
        "bandwidth_bound": made.least_bandwidth if optimal is None else bound.bandwidth,
        "moore_optimal": cost.steps == bound.steps,
        "bandwidth_optimal": optimal,
        "limited_by": searched.explain_bandwidth()
        if searched is not None and optimal is False and made.method in ("bfb", "arrival")
        else None,
        # the bounds of an allreduce are of shards that are complete at their own nodes, not at one root
        **(
            {"wiring_bound": None} if made.method == "rooted" else wiring_facts(topology, collective, cost, made.fabric)
        ),
        "file": args.output,
    }


def _print(name: str, facts: dict[str, Any]) -> None:
    print(f"{name}: {facts['collective']} by {METHODS[facts['method']].title}, checked")
    moore = "Moore-optimal" if facts["moore_optimal"] else f"not Moore-optimal (bound {facts['moore_bound']})"
    fields = [
        ("T_L", f"{facts['steps']} steps, {moore}"),
        ("T_B", f"{facts['bandwidth']} = {float(facts['bandwidth']):.4f} M/B"),
    ]
    if facts["method"] == "arrival":
        for name, part in zip(("  reduce-scatter", "  allgather"), facts["halves"], strict=False):
            fields.append((name, f"{part['steps']} steps, {part['bandwidth']} M/B"))
    if facts["bandwidth_optimal"] is not None:
        reached = "yes" if facts["bandwidth_optimal"] else f"no (bound {facts['bandwidth_bound']})"
        fields.append(("bandwidth-optimal", reached))
    elif facts["bandwidth_bound"] is not None:
        least = facts["bandwidth_bound"]
        fields.append(("at least", f"{float(least):.4f} M/B in {facts['steps']} steps; M is what each node has"))
    is_optimal_here = facts["wiring_bound"] is not None and facts["wiring_bound"]["optimal"]
    if facts["limited_by"] and not is_optimal_here:
        fields.append(("  limited by", facts["limited_by"]))
    fields += wiring_fields(facts)
    fields.append((f"time for {facts['size']}", f"{format_time(facts['seconds'])} ({facts['fabric']})"))
    fields += [("chunks a shard", str(facts["unit"])), ("rows", str(facts["rows"]))]
    if facts["faults"]:
        before = facts["without_faults"]
        was = f"{before['steps']} steps, {before['bandwidth']} M/B, {format_time(before['seconds'])}"
        fields += [("faults", "; ".join(facts["faults"])), ("without the faults", was)]
    print_fields(fields)
    if facts["file"]:
        print(f"saved to {facts['file']}")


COMMAND = Command(
    name="schedule",
    help="make a schedule for a topology, check it and save it",
    example="linkstep schedule 'Torus(8,8)' --collective allreduce -o allreduce.npz",
    add_arguments=_add_arguments,
    run=_run,
)
