"""``linkstep throughput``: how much every host can send to every other at once, proven from both sides."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction

from linkstep.cli._command import Command
from linkstep.cli._fabric_options import SIZE, add_fabric, fabric_of, pricing_of
from linkstep.cli._output import add_json, print_fields, show_json, time_text
from linkstep.cli._progress import gap_bar
from linkstep.cli._quantities import add_seconds, add_size
from linkstep.cli._signals import one_stop
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.units import format_bandwidth, format_time, parse_part, parse_size
from linkstep.reports.throughput import ThroughputReport
from linkstep.throughput import all_to_all

GAP, SECONDS = "0.1%", 60.0
_LONGEST = 40
"""Characters of a fraction that is printed."""

_METHODS = {
    "columns": "mixtures of cheapest routes, in fractions",
    "lp": "a linear program, its answer made exact",
    "prices": "flows that follow prices, made exact",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
    parser.add_argument(
        "--gap", default=GAP, metavar="PART", help="stop when bound and value are this near; default: 0.1%%"
    )
    add_seconds(parser, "on bringing them near", SECONDS)
    add_size(parser, SIZE)
    add_fabric(parser)
    add_faults(parser)
    add_json(parser)


def _percent(part: float) -> str:
    return f"{part:.2%}" if part >= 0.001 else "below 0.1%" if part >= 1e-6 else "below 0.0001%"


def _number(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _fields(report: ThroughputReport) -> Iterator[tuple[str, str]]:
    value, time = _number(report.all_to_all), time_text(report.all_to_all_seconds, report.all_to_all_at_most)
    if report.all_to_all_exact and len(str(report.all_to_all)) <= _LONGEST:
        value = f"{value} exactly ({report.all_to_all})"
    if not report.all_to_all_exact or report.all_to_all_at_most:
        time += f", and no schedule takes less than {format_time(report.all_to_all_bound_seconds)}"
    yield "servers N", str(report.nodes)
    yield "ports d", str(report.degree)
    yield "all-to-all", f"{format_bandwidth(report.all_to_all_bandwidth)} a server, to all others at once"
    yield f"  time for {report.size} a host", f"{time} ({report.fabric})"
    yield "throughput f", value
    if not report.all_to_all_exact:
        yield "  proven to be at most", f"{_number(report.all_to_all_bound)} (gap {_percent(float(report.gap))})"
    yield "  by distances at most", _number(report.all_to_all_distance_bound)
    yield "  by cuts at most", _number(report.all_to_all_cut_bound)
    yield "  any topology at most", _number(report.all_to_all_bound_any)
    yield "  found by", _METHODS[report.found_by]
    yield "what f is", "the part of a link's rate that every host can send to every other, all at once"
    if report.faults:
        yield "faults", "; ".join(report.faults)


def _run(args: argparse.Namespace) -> int:
    gap = parse_part(args.gap)
    fabric_of(args, 1)
    parse_size(args.size)
    given = read(args.topology, args)
    with gap_bar("throughput") as progress, one_stop():
        found = all_to_all(given.topology, gap=gap, seconds=args.seconds, progress=progress)
    report = ThroughputReport.of(found, pricing_of(args), args.topology, args.faults)
    if show_json(report, args):
        return 0
    print(report.recipe)
    print_fields(_fields(report))
    return 0


COMMAND = Command(
    name="throughput",
    example="linkstep throughput 'Torus(8,8)' --size 64MB",
    add_arguments=_add_arguments,
    run=_run,
)
