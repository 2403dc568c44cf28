"""``linkstep baselines``: what people wire and run today for N servers with d ports, and its schedules."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from linkstep.baselines import BASELINES, Baseline, Pipeline, baseline, baselines, baselines_on
from linkstep.cli._common import (
    DEFAULT,
    SIZE,
    Command,
    add_collective,
    add_fabric,
    add_json,
    both_halves,
    busy,
    fabric_of,
    fabric_values,
    print_fields,
    print_json,
    print_table,
)
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.units import format_time, parse_size
from linkstep.correctness import check
from linkstep.costs import Cost, Fabric, cost_of, lower_bound, seconds_of
from linkstep.files import check_savable, save
from linkstep.methods.bfb import MAX_DEGREE
from linkstep.recipe import parse

MAX_NODES = 10**7


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nodes", type=int, metavar="NODES", help="how many servers")
    parser.add_argument("degree", type=int, metavar="DEGREE", help="ports on each")
    parser.add_argument("--on", metavar="RECIPE", help="only those on this wiring, such as 'Torus(4,4)'")
    parser.add_argument(
        "--schedule",
        choices=sorted({row.key for row in BASELINES}),
        metavar="NAME",
        help="make the schedule of this name, check it and cost it; with several wirings, say --on which",
    )
    add_collective(parser)
    parser.add_argument("--size", default=SIZE, metavar="BYTES", help=f"bytes in all, of the times; default: {SIZE}")
    parser.add_argument(
        "--cut-through",
        action="store_true",
        help="charge a message over several hops one alpha, for fabrics that cut through; default: alpha for each hop",
    )
    add_fabric(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="save the schedule (.npz, or .json to read it)")
    add_json(parser)


def _check(args: argparse.Namespace) -> None:
    """Refuse what cannot work before any is costed."""
    for what, value, most in (("nodes", args.nodes, MAX_NODES), ("degree", args.degree, MAX_DEGREE)):
        least = 2 if what == "nodes" else 1
        if not least <= value <= most:
            raise LinkstepError(f"{what} must lie in [{least}, {most}], not {value}")
    if parse_size(args.size) <= 0:
        raise LinkstepError(f"--size must be positive, not {args.size}")
    if args.schedule is None:
        for option in ("output", "collective"):
            if getattr(args, option) is not None:
                raise LinkstepError(f"--{option} is of one schedule: say which with --schedule NAME")
    elif args.cut_through:
        raise LinkstepError("a schedule stores and forwards: --cut-through is for the list of costs only")
    if args.output is not None:
        check_savable(Schedule, args.output)


def _found(args: argparse.Namespace) -> tuple[Baseline, ...]:
    """Return the rows that are asked for."""
    if args.on is None:
        found = baselines(args.nodes, args.degree)
    else:
        recipe = parse(args.on)
        if (recipe.num_nodes, recipe.degree) != (args.nodes, args.degree):
            raise LinkstepError(
                f"--on {recipe} has N={recipe.num_nodes}, d={recipe.degree}, not N={args.nodes}, d={args.degree}"
            )
        found = baselines_on(recipe)
    return tuple(one.cutting_through() for one in found) if args.cut_through else found


def _one(args: argparse.Namespace, found: Sequence[Baseline]) -> Baseline:
    """Return the row that --schedule names."""
    if args.on is not None:
        return baseline(args.schedule, args.on)
    named = [one for one in found if one.row.key == args.schedule]
    if len(named) == 1:
        return named[0]
    if named:
        wirings = ", ".join(f"'{one.recipe}'" for one in named)
        raise LinkstepError(f"--schedule {args.schedule} runs on {len(named)} wirings: say --on which of {wirings}")
    here = ", ".join(dict.fromkeys(one.row.key for one in found)) or "none"
    raise LinkstepError(
        f"--schedule {args.schedule} has no wiring of {args.nodes} servers with {args.degree} ports; those that do: "
        f"{here}"
    )


def _pipeline_json(pipeline: Pipeline | None) -> dict[str, Any]:
    if pipeline is None:
        return {"depth": None, "through_roots": False}
    return {"depth": pipeline.depth, "through_roots": pipeline.is_rooted}


def _row(one: Baseline, fabric: Fabric, args: argparse.Namespace) -> dict[str, Any]:
    (first, half), ours = one.halves_at(fabric, args.size), one.ours
    return {
        "recipe": str(one.recipe),
        "schedule": one.row.key,
        "name": one.name,
        "title": one.row.title,
        "steps": half.steps,
        "bandwidth": half.bandwidth,
        "reduce_scatter_steps": first.steps,
        "reduce_scatter_bandwidth": first.bandwidth,
        **_pipeline_json(None if one.cost is not None else one.pipeline_for(fabric, args.size)),
        "several_hops": one.takes_several_hops,
        "allreduce_seconds": float(one.allreduce_time(fabric, args.size)),
        "our_steps": ours and ours.steps,
        "our_bandwidth": ours and ours.bandwidth,
        "our_allreduce_seconds": ours and float(fabric.time(ours + ours, Collective.ALLREDUCE, args.size)),
    }


def _list(found: Sequence[Baseline], fabric: Fabric, args: argparse.Namespace) -> int:
    rows = [_row(one, fabric, args) for one in found]
    half = lower_bound(args.nodes, args.degree)
    bound = float(fabric.time(half + half, Collective.ALLREDUCE, args.size))
    values = fabric_values(args, args.degree)
    if args.json:
        best = {"steps": half.steps, "bandwidth": half.bandwidth, "allreduce_seconds": bound}
        asked = {"nodes": args.nodes, "degree": args.degree, **values, "size": args.size}
        print_json(asked | {"cut_through": args.cut_through, "baselines": rows, "bound": best})
        return 0
    if not rows:
        where = "" if args.on is None else f" on {args.on}"
        print(f"no baseline has {args.nodes} servers with {args.degree} ports each{where}")
        return 0
    hops = "a message" if args.cut_through else "a hop"
    fabric_line = f"alpha {values['alpha']} {hops}, {values['bandwidth']} a server"
    print(f"{args.nodes} servers, {args.degree} ports each; {fabric_line}")
    differ = any(row["steps"] != row["reduce_scatter_steps"] for row in rows)
    each = "each half of an allreduce" + " (first + second if they differ)" * differ
    print(f"T_L in steps (times alpha), T_B in M/B, of {each}\n")
    table = []
    for recipe in dict.fromkeys(row["recipe"] for row in rows):
        table += _lines(recipe, [row for row in rows if row["recipe"] == recipe], found)
    table.append(("no graph beats", "", (half, half), bound, ""))
    lines = [
        (wiring, name, *both_halves(halves), format_time(time), f"{time / bound:.2f}x", notes)
        for wiring, name, halves, time, notes in table
    ]
    head = ("wiring", "schedule", "T_L", "T_B", f"allreduce {args.size}", "bound", "")
    print_table(head, lines, right=range(2, 6))
    example = rows[0]
    print(
        f"\nnext: linkstep baselines {args.nodes} {args.degree} --on '{example['recipe']}' "
        f"--schedule {example['schedule']} -o allreduce.npz"
    )
    return 0


def _lines(recipe: str, rows: Sequence[dict[str, Any]], found: Sequence[Baseline]) -> list[tuple[Any, ...]]:
    """Return the lines of one wiring: what runs on it today and, unless that is among them, our schedule."""
    lines: list[tuple[Any, ...]] = []
    for row in rows:
        depth = () if row["depth"] is None else (str(Pipeline(row["depth"], row["through_roots"])),)
        notes = ", ".join([*depth, *(["several hops"] if row["several_hops"] else [])])
        halves = (
            Cost(row["reduce_scatter_steps"], row["reduce_scatter_bandwidth"]),
            Cost(row["steps"], row["bandwidth"]),
        )
        lines.append(("" if lines else recipe, row["schedule"], halves, row["allreduce_seconds"], notes))
    first = rows[0]
    has_ours = any(one.row.is_ours for one in found if str(one.recipe) == recipe)
    if first["our_steps"] is not None and not has_ours:
        ours = Cost(first["our_steps"], first["our_bandwidth"])
        lines.append(("", "our schedule (bfb)", (ours, ours), first["our_allreduce_seconds"], ""))
    return lines


def _make(one: Baseline, fabric: Fabric, args: argparse.Namespace) -> int:
    collective = Collective(args.collective or DEFAULT)
    is_whole = collective is Collective.ALLREDUCE
    pipeline = one.pipeline_for(fabric, args.size) if is_whole else Pipeline(one.depth_for(fabric, args.size))
    root = one.recipe.topology().node_named(str(args.root))
    with busy("making the schedule"):
        made = one.schedule(collective, root=root, depth=pipeline.depth, is_rooted=pipeline.is_rooted)
        check(made)
    if args.output is not None:
        with busy(f"writing {args.output}"):
            save(made, args.output)
    halves = one.halves_at(fabric, args.size) if is_whole else (one.cost_at(fabric, args.size),)
    cost, charged = cost_of(made), sum(halves, Cost.zero())
    seconds = float(seconds_of(made, fabric, args.size))
    facts = {
        "recipe": str(one.recipe),
        "schedule": one.row.key,
        "title": one.row.title,
        "collective": collective,
        "steps": cost.steps,
        "bandwidth": cost.bandwidth,
        "charged_steps": charged.steps,
        "charged_bandwidth": charged.bandwidth,
        **_pipeline_json(None if one.cost is not None else pipeline),
        "seconds": seconds,
        "size": args.size,
        **fabric_values(args, args.degree),
        "rows": made.num_rows,
        "file": args.output,
    }
    if args.json:
        print_json(facts)
        return 0
    print(f"{one.recipe}: {collective} by {one.name}, checked")
    fields = [("what", one.row.title), ("T_L", f"{cost.steps} steps")]
    fields.append(("T_B", f"{cost.bandwidth} = {float(cost.bandwidth):.4f} M/B"))
    if not collective.has_root and charged.bandwidth != cost.bandwidth:
        listed = f"{charged.bandwidth} = {float(charged.bandwidth):.4f} M/B"
        fields.append(("as listed", f"{listed}: nodes are sent what they passed on before"))
    if one.cost is None:
        fields.append(("pipeline", f"{pipeline}, the best for {args.size}"))
    fields.append((f"time for {args.size}", format_time(seconds)))
    fields += [("chunks a shard", str(made.unit)), ("rows", str(made.num_rows))]
    print_fields(fields)
    if args.output is not None:
        print(f"saved to {args.output}")
    return 0


def _run(args: argparse.Namespace) -> int:
    fabric = fabric_of(args, args.degree)
    _check(args)
    found = _found(args)
    if args.schedule is None:
        return _list(found, fabric, args)
    return _make(_one(args, found), fabric, args)


COMMAND = Command(
    name="baselines",
    help="list what is wired and run today for N servers with d ports, and make its schedules",
    example="linkstep baselines 16 4 --on 'Torus(4,4)' --schedule swing -o allreduce.npz",
    add_arguments=_add_arguments,
    run=_run,
)
