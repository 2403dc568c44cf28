"""``linkstep show``: what a topology is and how far from the best possible."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from linkstep.cli._collective_options import schedule_of
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import SIZE, add_fabric, fabric_of, pricing_of
from linkstep.cli._output import add_json, both_halves, print_fields, print_json, time_text, wiring_fields
from linkstep.cli._progress import busy, progress_bar
from linkstep.cli._topology_argument import TopologyArgument, add_faults, read
from linkstep.core.errors import LinkstepError
from linkstep.core.units import format_time
from linkstep.description import Description, describe
from linkstep.pictures.style import check_drawable
from linkstep.reports.topology import BfbFacts, ScheduleInUse, SplitFacts, TopologyReport, WholeTopology
from linkstep.scheduling import schedule


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
    parser.add_argument("--draw", metavar="FILE", type=Path, help="draw the graph to a .svg or .png file")
    parser.add_argument(
        "--broadcast",
        metavar="HOST",
        help="with --draw: label the links that carry this host's shard in the allgather with the steps they do",
    )
    parser.add_argument("--size", default=SIZE, metavar="BYTES", help=f"bytes in all, of the times; default: {SIZE}")
    add_fabric(parser)
    add_faults(parser)
    add_json(parser)


def _described(given: TopologyArgument, args: argparse.Namespace) -> Description:
    fabric = fabric_of(args, given.topology.degree)
    return describe(given.recipe or given.topology, progress_bar, fabric)


def _report(given: TopologyArgument, args: argparse.Namespace) -> TopologyReport:
    whole = given.whole
    found = _described(given, args)
    before = None if whole is None else _described(whole, args)
    with busy("looking for the wiring's tightest cut"):
        return TopologyReport.of(found, pricing_of(args), given.recipe, given.faults, before)


def _yes(value: bool | None) -> str:
    return "not determined" if value is None else "yes" if value else "no"


def _fields(report: TopologyReport) -> Iterator[tuple[str, str]]:
    yield "nodes N", str(report.nodes)
    yield "degree d", str(report.degree) + ("" if report.regular else " (the most of any node; not regular)")
    yield "links", f"{report.links}{_oddities(report)}"
    yield "diameter", _diameter(report)
    yield "nodes at distance 0, 1, ...", _by_distance(report)
    yield "mean distance", f"{float(report.mean_distance):.4f}"
    yield "bidirectional", _yes(report.bidirectional)
    yield "vertex-transitive", _yes(report.vertex_transitive)
    yield "reverse-symmetric", _yes(report.reverse_symmetric)
    yield "no schedule beats", f"{report.moore_steps} alpha + {report.bandwidth_bound} M/B at this N and d"
    if report.bfb is not None:
        yield from _bfb_fields(report, report.bfb)
    for today in report.baselines:
        yield f"today: {today.name}", _costs(today)
    if report.all_to_all_bound is not None and report.all_to_all_bound_any is not None:
        here, best = float(report.all_to_all_bound), float(report.all_to_all_bound_any)
        yield "all-to-all flow at most", f"{here:.3e} a pair (any graph: {best:.3e})"
    if report.without_faults is not None:
        yield "faults", "; ".join(report.faults)
        yield "without the faults", _before(report.without_faults)
    if report.source is not None:
        yield "source", report.source


def _diameter(report: TopologyReport) -> str:
    text = f"{report.diameter} (no graph of this N and d has less than {report.moore_steps}"
    duplex = report.moore_steps_bidirectional
    if report.bidirectional and duplex != report.moore_steps:
        text += f", no bidirectional one less than {duplex}"
    return text + ")"


def _by_distance(report: TopologyReport) -> str:
    if report.nodes_by_distance is not None:
        return " ".join(map(str, report.nodes_by_distance))
    return " ".join(f"{float(x):.4g}" for x in report.mean_nodes_by_distance) + " (mean over nodes)"


def _bfb_fields(report: TopologyReport, bfb: BfbFacts) -> Iterator[tuple[str, str]]:
    moore = "Moore-optimal" if report.diameter == report.moore_steps else "not Moore-optimal"
    why = bfb.limited_by
    reached = "bandwidth-optimal" if why is None else f"not bandwidth-optimal ({report.bandwidth_bound})"
    bandwidth = f"{bfb.bandwidth} = {float(bfb.bandwidth):.4f} M/B"
    yield "BFB allgather", f"{report.diameter} steps, {moore}; {bandwidth}, {reached}"
    if report.equal_split is not None:
        yield "  proven by", _proof(report.equal_split)
    if why is not None and not report.is_optimal_here:
        yield "  limited by", why
    yield from wiring_fields(report.wiring_bound)
    yield f"time for {bfb.size}", f"{_times(bfb)} ({bfb.fabric})"


def _proof(split: SplitFacts) -> str:
    if split.constants is None:
        return "every link carries the same at each step when shards split equally"
    shards, ways = (" ".join(str(row[k]) for row in split.constants) for k in (1, 2))
    return f"each link serves {shards} shards at distance 1, 2, ..., each shard has {ways} links"


def _times(bfb: BfbFacts) -> str:
    return f"allgather {format_time(bfb.allgather_seconds)}, allreduce {format_time(bfb.allreduce_seconds)}"


def _costs(today: ScheduleInUse) -> str:
    steps, bandwidth = both_halves(today.halves.costs)
    time = time_text(today.allreduce_seconds, today.allreduce_at_most)
    return f"{steps} steps, {bandwidth} M/B each half; allreduce {time}"


def _before(whole: WholeTopology) -> str:
    """Say what there was without the faults."""
    was = f"N={whole.nodes}, {whole.links} links"
    if whole.bfb is None:
        return was
    return f"{was}, {whole.bfb.steps} steps, {whole.bfb.bandwidth} M/B, {_times(whole.bfb)}"


def _oddities(report: TopologyReport) -> str:
    found = []
    if report.self_loops:
        found.append(f"{report.self_loops} self-loops")
    if report.parallel_links:
        found.append(f"{report.parallel_links} parallel to another")
    return f" ({', '.join(found)})" if found else ""


def _draw(given: TopologyArgument, path: Path, root: int | None) -> None:
    from linkstep.pictures.broadcast import draw_broadcast
    from linkstep.pictures.topology import draw_topology

    if root is None:
        draw_topology(given.topology, path)
        return
    made = schedule_of(given, None, root) if given.schedule else schedule(given.recipe or given.topology)
    draw_broadcast(made.schedule, path, root)


def _run(args: argparse.Namespace) -> int:
    if args.draw is not None:
        check_drawable(args.draw)
    if args.broadcast is not None and not args.draw:
        raise LinkstepError("--broadcast labels a picture: give --draw too")
    given = read(args.topology, args)
    root = None if args.broadcast is None else given.topology.node_named(args.broadcast)
    report = _report(given, args)
    if args.draw:
        _draw(given, args.draw, root)
    if args.json:
        print_json(report.to_json())
        return 0
    print(given.called(args.topology))
    print_fields(_fields(report))
    if args.draw:
        print(f"drawn to {args.draw}")
    return 0


COMMAND = Command(
    name="show",
    help="describe a topology: size, distances, symmetries, bounds",
    example="linkstep show 'L^3(C(16,{3,4}))' --draw graph.svg",
    add_arguments=_add_arguments,
    run=_run,
)
