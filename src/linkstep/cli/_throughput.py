"""``linkstep throughput``: how much every host can send to every other at once, proven from both sides."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction

from linkstep.cli._command import Command
from linkstep.cli._fabric_options import SIZE, add_fabric, fabric_of, pricing_of
from linkstep.cli._output import add_json, print_fields, print_json, time_text
from linkstep.cli._progress import gap_bar
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.units import format_time, parse_part, parse_size, parse_time
from linkstep.reports.throughput import ThroughputReport
from linkstep.throughput import all_to_all

GAP, SECONDS = "0.1%", "60s"
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
    parser.add_argument("--seconds", default=SECONDS, metavar="TIME", help=f"stop after this long; default: {SECONDS}")
    parser.add_argument(
        "--size", default=SIZE, metavar="BYTES", help=f"bytes each host sends, of the time; default: {SIZE}"
    )
    add_fabric(parser)
    add_faults(parser)
    add_json(parser)


def _percent(part: float) -> str:
    return f"{part:.2%}" if part >= 0.001 else "below 0.1%" if part >= 1e-6 else "below 0.0001%"


def _number(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _fields(report: ThroughputReport) -> Iterator[tuple[str, str]]:
    value, time = _number(report.value), time_text(report.seconds, report.seconds_at_most)
    if report.exact and len(str(report.value)) <= _LONGEST:
        value = f"{value} exactly ({report.value})"
    yield "nodes N", str(report.nodes)
    yield "degree d", str(report.degree)
    yield "all-to-all throughput f", value
    if not report.exact:
        yield "  proven to be at most", f"{_number(report.bound)} (gap {_percent(float(report.gap))})"
    if not report.exact or report.seconds_at_most:
        time += f", and no schedule takes less than {format_time(report.least_seconds)}"
    yield "  by distances at most", _number(report.distance_bound)
    yield "  by cuts at most", _number(report.cut_bound)
    yield "  any topology at most", _number(report.any_topology_bound)
    yield "  found by", _METHODS[report.method]
    yield "what f is", "the part of a link's rate that every host can send to every other, all at once"
    yield f"time for {report.size} a host", f"{time} ({report.fabric})"
    if report.faults:
        yield "faults", "; ".join(report.faults)


def _run(args: argparse.Namespace) -> int:
    gap, seconds = parse_part(args.gap), parse_time(args.seconds)
    fabric_of(args, 1)
    parse_size(args.size)
    given = read(args.topology, args)
    with gap_bar("throughput") as progress:
        found = all_to_all(given.topology, gap=gap, seconds=float(seconds), progress=progress)
    report = ThroughputReport.of(found, pricing_of(args), args.topology, args.faults)
    if args.json:
        print_json(report.to_json())
        return 0
    print(report.topology)
    print_fields(_fields(report))
    return 0


COMMAND = Command(
    name="throughput",
    help="how much every host can send to every other at once (all-to-all), proven",
    example="linkstep throughput 'Torus(8,8)' --size 64MB",
    add_arguments=_add_arguments,
    run=_run,
)
