"""``linkstep show``: what a topology is and how far from the best possible."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from linkstep.argument import TopologyArgument
from linkstep.cli._collective_options import schedule_of
from linkstep.cli._command import Command
from linkstep.cli._fabric_options import SIZE, add_fabric, fabric_of, pricing_of
from linkstep.cli._output import add_json, print_fields, show_json, time_text, wiring_fields
from linkstep.cli._progress import busy, progress_bar
from linkstep.cli._quantities import add_size, sizes_option
from linkstep.cli._ranks import show_ranks
from linkstep.cli._sizes import plot_sizes, print_sizes
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.text import counted
from linkstep.core.units import format_bandwidth, format_time, parse_sizes
from linkstep.description import Description, describe
from linkstep.pictures.style import check_drawable
from linkstep.reports.sizes import kind_of_today
from linkstep.reports.topology import BestSchedule, BfbFacts, ScheduleInUse, SplitFacts, TopologyReport, WholeTopology
from linkstep.scheduling import METHODS, ScheduleResult, schedule


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
    parser.add_argument("--ranks", action="store_true", help="print which rank is which host, and a job for Slurm")
    parser.add_argument("--draw", metavar="FILE", type=Path, help="draw the topology to a .svg or .png file")
    parser.add_argument(
        "--broadcast",
        metavar="HOST",
        help="with --draw: label the links that carry this host's shard in the allgather with the steps they do",
    )
    add_size(parser, SIZE)
    parser.add_argument(
        "--sizes",
        type=sizes_option,
        metavar="A:B",
        help="say what an allreduce takes from 1KiB:1GiB, say, beside what is run today",
    )
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw the times of --sizes to a .svg or .png file")
    add_fabric(parser)
    add_faults(parser)
    add_json(parser)


def _described(given: TopologyArgument, args: argparse.Namespace) -> Description:
    fabric = fabric_of(args, given.topology.degree)
    return describe(given.recipe or given.topology, progress_bar, fabric)


def _report(given: TopologyArgument, args: argparse.Namespace, sizes: tuple[int, ...]) -> TopologyReport:
    whole = given.whole
    found = _described(given, args)
    before = None if whole is None else _described(whole, args)
    with busy("looking for the best schedule"):
        return TopologyReport.of(found, pricing_of(args), given.recipe, given.faults, before, sizes)


def _yes(value: bool | None) -> str:
    return "not determined" if value is None else "yes" if value else "no"


def _fields(report: TopologyReport) -> Iterator[tuple[str, str]]:
    yield "servers N", str(report.nodes)
    yield "ports d", str(report.degree) + ("" if report.regular else " (the most of any server; not regular)")
    yield "cables", f"{_cables(report)}{_oddities(report)}"
    yield "diameter", _diameter(report)
    if report.best is not None:
        yield from _best_fields(report, report.best)
    for today in report.baselines:
        yield f"today: {today.schedule_name}", _costs(today)
    if report.all_to_all_bound is not None and report.all_to_all_bound_any is not None:
        yield "all-to-all", _exchange(report)
    yield "servers by distance", _by_distance(report)
    yield "mean distance", f"{float(report.mean_distance):.4f} hops"
    yield "vertex-transitive", _yes(report.vertex_transitive)
    yield "reverse-symmetric", _yes(report.reverse_symmetric)
    if report.bfb is not None:
        yield from _bfb_fields(report, report.bfb)
    if report.without_faults is not None:
        yield "faults", "; ".join(report.faults)
        yield "without the faults", _before(report.without_faults)
    if report.source is not None:
        yield "source", report.source


def _cables(report: TopologyReport) -> str:
    if report.duplex:
        return f"{report.num_links // 2} duplex" if report.num_links % 2 == 0 else f"{report.num_links} links, duplex"
    return f"{report.num_links} one-way fibres"


def _diameter(report: TopologyReport) -> str:
    least, kind = report.moore_steps, "wiring"
    if report.duplex and report.moore_steps_duplex is not None:
        least, kind = report.moore_steps_duplex, "duplex wiring"
    return f"{counted(report.diameter, 'hop')}; no {kind} of this N and d has less than {least}"


def _best_fields(report: TopologyReport, best: BestSchedule) -> Iterator[tuple[str, str]]:
    """What ``schedule`` makes, first of all, and what nothing beats."""
    time, title = format_time(best.allreduce_seconds), METHODS[best.method].title
    yield f"allreduce of {best.size}", f"{time} by {title} ({best.fabric})"
    reached = "bandwidth-optimal" if best.bandwidth_optimal else f"not bandwidth-optimal ({2 * report.t_b_bound})"
    yield "  costs", f"{counted(best.steps, 'step')}, {best.t_b} = {float(best.t_b):.4f} M/B, {reached}"


def _exchange(report: TopologyReport) -> str:
    """Return what a pair gets at most in an all-to-all, of a link's rate."""
    here, best = float(report.all_to_all_bound or 0), float(report.all_to_all_bound_any or 0)
    rate = format_bandwidth(report.all_to_all_bandwidth or 0)
    return f"at most {rate} a server: f <= {here:.3e} of a link's rate for every pair (any wiring: {best:.3e})"


def _by_distance(report: TopologyReport) -> str:
    if report.nodes_by_distance is not None:
        return " ".join(map(str, report.nodes_by_distance))
    return " ".join(f"{float(x):.4g}" for x in report.mean_nodes_by_distance) + " (mean over nodes)"


def _bfb_fields(report: TopologyReport, bfb: BfbFacts) -> Iterator[tuple[str, str]]:
    why = bfb.limited_by
    reached = "bandwidth-optimal" if why is None else f"not bandwidth-optimal ({report.t_b_bound})"
    bandwidth = f"{bfb.t_b} = {float(bfb.t_b):.4f} M/B"
    yield "BFB allgather", f"{counted(report.diameter, 'step')}, {bandwidth}, {reached}"
    if report.equal_split is not None:
        yield "  proven by", _proof(report.equal_split)
    if why is not None and not report.is_optimal_here:
        yield "  limited by", why
    for name, value in wiring_fields(report.wiring_bound):
        yield f"  {name}", value
    yield f"  time for {bfb.size}", format_time(bfb.allgather_seconds)


def _proof(split: SplitFacts) -> str:
    if split.constants is None:
        return "every link carries the same at each step when shards split equally"
    shards, ways = (" ".join(str(row[k]) for row in split.constants) for k in (1, 2))
    return f"each link serves {shards} shards at distance 1, 2, ..., each shard has {ways} links"


def _costs(today: ScheduleInUse) -> str:
    time = time_text(today.allreduce_seconds, today.allreduce_at_most)
    return f"{time}, {counted(today.halves.steps, 'step')}, {float(today.halves.t_b):.4f} M/B"


def _before(whole: WholeTopology) -> str:
    """Say what there was without the faults."""
    was = f"N={whole.nodes}, {whole.num_links} links"
    if whole.best is None:
        return was
    time = format_time(whole.best.allreduce_seconds)
    return f"{was}, allreduce {time}, {counted(whole.best.steps, 'step')}, {whole.best.t_b} M/B"


def _oddities(report: TopologyReport) -> str:
    found = []
    if report.self_loops:
        found.append(f"{report.self_loops} self-loops")
    if report.parallel_links:
        found.append(f"{report.parallel_links} parallel to another")
    return f" ({', '.join(found)})" if found else ""


def _allgather(given: TopologyArgument) -> ScheduleResult:
    return schedule(given.recipe or given.topology, Collective.ALLGATHER)


def _draw(given: TopologyArgument, path: Path, root: int | None) -> None:
    from linkstep.pictures.broadcast import draw_broadcast
    from linkstep.pictures.topology import draw_topology

    if root is None:
        draw_topology(given.topology, path)
        return
    made = schedule_of(given, None, root) if given.schedule else _allgather(given)
    draw_broadcast(made.schedule, path, root)


def _check(args: argparse.Namespace) -> None:
    """Refuse what cannot work before any of it is done."""
    if args.broadcast is not None and not args.draw:
        raise LinkstepError("--broadcast labels a picture: give --draw too")
    if args.plot is not None and args.sizes is None:
        raise LinkstepError("--plot draws times over sizes: give --sizes too, such as 1KiB:1GiB")
    for path in (args.draw, args.plot):
        if path is not None:
            check_drawable(path)


def _run(args: argparse.Namespace) -> int:
    _check(args)
    sizes = () if args.sizes is None else parse_sizes(args.sizes)
    given = read(args.topology, args)
    if args.ranks:
        return show_ranks(given, args)
    root = None if args.broadcast is None else given.topology.node_named(args.broadcast)
    report = _report(given, args, sizes)
    if args.draw:
        _draw(given, args.draw, root)
    if args.plot is not None:
        plot_sizes(report.sizes, f"allreduce on {given.called(args.topology)}", args.plot)
    if show_json(report, args):
        return 0
    print(given.called(args.topology))
    print_fields(_fields(report))
    if report.sizes:
        print()
        print_sizes(report.sizes, {kind_of_today(given.recipe)} if report.baselines and given.recipe else ())
    if args.draw:
        print(f"drawn to {args.draw}")
    if args.plot is not None:
        print(f"plotted to {args.plot}")
    return 0


COMMAND = Command(
    name="show",
    example="linkstep show 'L^3(C(16,{3,4}))' --draw graph.svg",
    add_arguments=_add_arguments,
    run=_run,
)
