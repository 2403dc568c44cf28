"""``linkstep baselines``: what people wire and run today for N servers with d ports, and its schedules."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from fractions import Fraction

from linkstep.baselines import BASELINES, Baseline, baseline, baselines, baselines_on
from linkstep.cli._collective_options import DEFAULT, add_collective
from linkstep.cli._command import Command
from linkstep.cli._directed_option import KIND_WORDS, add_directed
from linkstep.cli._fabric_options import SIZE, add_fabric, fabric_of, pricing_of
from linkstep.cli._output import (
    AT_MOST,
    ONE_MESSAGE,
    add_json,
    print_fields,
    print_table,
    print_text,
    show_json,
    time_text,
)
from linkstep.cli._progress import busy
from linkstep.cli._quantities import add_size
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.text import counted
from linkstep.core.units import format_time, parse_size
from linkstep.correctness import check
from linkstep.costs import Cost, Fabric
from linkstep.files import check_savable, save
from linkstep.methods.bfb import MAX_DEGREE
from linkstep.recipe import parse
from linkstep.reports.baselines import BaselineRow, BaselineScheduleReport, BaselinesReport

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
    add_directed(parser, older=False)
    add_collective(parser)
    add_size(parser, SIZE)
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
        found = baselines(args.nodes, args.degree, directed=args.directed or args.schedule is not None)
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


def _list(found: Sequence[Baseline], args: argparse.Namespace) -> int:
    one_way = args.directed if args.on is None else not all(one.is_duplex for one in found)
    report = BaselinesReport.of(found, args.nodes, args.degree, pricing_of(args), args.cut_through, directed=one_way)
    if show_json(report, args):
        return 0
    if not report.baselines:
        where = "" if args.on is None else f" on {args.on}"
        cables = "" if one_way or where else " and duplex cables: --directed allows one-way fibres"
        print_text(f"no baseline has {args.nodes} servers with {counted(args.degree, 'port')} each{cables}{where}")
    else:
        _print_list(report)
    return 0


def _print_list(report: BaselinesReport) -> None:
    hops = "a message" if report.cut_through else "a hop"
    fabric = f"alpha {report.fabric.alpha} {hops}, {report.fabric.rates}{report.fabric.besides}"
    ports = counted(report.degree, "port")
    print_text(f"{report.nodes} servers with {ports} each, {KIND_WORDS[report.kind]}; {fabric}")
    print_text("An allreduce of M bytes takes steps x alpha + T_B x M/B, B the rate of a server")
    print()
    head = ("wiring", "schedule", f"allreduce {report.size}", "bound", "steps", "T_B", "")
    print_table(head, _lines(report), right=range(2, 6), drop=(3,))
    if report.has_times_at_most:
        print(AT_MOST)
    if report.fabric.message is not None:
        print_text(ONE_MESSAGE)
    first = report.baselines[0]
    print(
        f"\nnext: linkstep baselines {report.nodes} {report.degree} --on '{first.recipe}' "
        f"--schedule {first.schedule} -o ar.npz"
    )


def _lines(report: BaselinesReport) -> Iterator[tuple[str, ...]]:
    """List what runs on each wiring today and, unless that is among it, our schedule; then the bound."""
    bound = report.bounds

    def costs(cost: Cost, time: Fraction, at_most: bool | None = False) -> tuple[str, ...]:
        over = f"{float(time / bound.allreduce_seconds):.2f}x"
        return time_text(time, at_most), over, str(cost.steps), f"{float(cost.bandwidth):.4f}"

    for recipe, rows in report.by_wiring.items():
        for row in rows:
            wiring = recipe if row is rows[0] else ""
            cost = Cost(row.halves.steps, row.halves.t_b)
            times = costs(cost, row.allreduce_seconds, row.allreduce_at_most)
            yield wiring, row.schedule, *times, _notes(row)
        ours = rows[0].ours.known
        if ours is not None and not any(row.is_ours for row in rows):
            yield "", "our schedule (bfb)", *costs(*ours, rows[0].ours.our_allreduce_at_most), ""
    yield "no wiring beats", "", *costs(Cost(bound.steps, bound.t_b), bound.allreduce_seconds), ""


def _notes(row: BaselineRow) -> str:
    depth = [] if row.pipeline.pipeline is None else [str(row.pipeline.pipeline)]
    return ", ".join([*depth, *(["multihop"] if row.several_hops else [])])


def _make(one: Baseline, fabric: Fabric, args: argparse.Namespace) -> int:
    collective = Collective(args.collective or DEFAULT)
    pipeline = one.pipeline_for(fabric, args.size, collective)
    root = one.recipe.topology().node_named(str(args.root))
    with busy("making the schedule"):
        made = one.schedule(collective, root=root, depth=pipeline.depth, is_rooted=pipeline.is_rooted)
        check(made)
    if args.output is not None:
        with busy(f"writing {args.output}"):
            save(made, args.output)
    report = BaselineScheduleReport.of(one, made, pipeline, pricing_of(args), args.output)
    if show_json(report, args):
        return 0
    print(f"{report.recipe}: {report.collective} by {report.name}, checked")
    print_fields(_fields(report))
    if args.output is not None:
        print(f"saved to {args.output}")
    return 0


def _fields(report: BaselineScheduleReport) -> Iterator[tuple[str, str]]:
    yield "what", report.title
    yield "T_L", counted(report.steps, "step")
    yield "T_B", f"{report.t_b} = {float(report.t_b):.4f} M/B"
    if report.is_charged_more:
        listed = f"{report.charged_t_b} = {float(report.charged_t_b):.4f} M/B"
        yield "as listed", f"{listed}: nodes are sent what they passed on before"
    if report.pipeline.pipeline is not None:
        yield "pipeline", f"{report.pipeline.pipeline}, the best for {report.size}"
    yield f"time for {report.size}", format_time(report.seconds)
    yield "chunks a shard", str(report.unit)
    yield "rows", str(report.num_rows)


def _run(args: argparse.Namespace) -> int:
    fabric = fabric_of(args, args.degree)
    _check(args)
    found = _found(args)
    if args.schedule is None:
        return _list(found, args)
    return _make(_one(args, found), fabric, args)


COMMAND = Command(
    name="baselines",
    example="linkstep baselines 16 4 --on 'Torus(4,4)' --schedule swing -o ar.npz",
    add_arguments=_add_arguments,
    run=_run,
)
