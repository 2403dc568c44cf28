"""``linkstep throughput``: how much every host can send to every other at once, proven from both sides."""

from __future__ import annotations

import argparse
from typing import Any

from linkstep.cli._common import (
    SIZE,
    Command,
    add_fabric,
    add_faults,
    add_json,
    fabric_of,
    fabric_text,
    print_fields,
    print_json,
    read,
)
from linkstep.cli._progress import gap_bar
from linkstep.core.units import format_time, parse_part, parse_size, parse_time
from linkstep.costs import all_to_all_bound
from linkstep.throughput import Throughput, all_to_all

GAP, SECONDS = "0.1%", "60s"

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


def _facts(found: Throughput, args: argparse.Namespace) -> dict[str, Any]:
    topology = found.topology
    n, d = topology.num_nodes, topology.degree
    fabric = fabric_of(args, d).on(topology)
    return {
        "topology": topology.name or args.topology,
        "faults": [str(fault) for fault in args.faults],
        "nodes": n,
        "degree": d,
        "value": found.value,
        "bound": found.bound,
        "gap": float(found.gap),
        "exact": found.is_exact,
        "method": found.method,
        "distance_bound": found.distance_bound,
        "cut_bound": found.cut_bound,
        "any_topology_bound": all_to_all_bound(n, d),
        "size": args.size,
        "seconds": float(fabric.all_to_all_time(found.value, n, args.size)),
        "least_seconds": float(fabric.all_to_all_time(found.bound, n, args.size)),
        "rate": float(found.value * fabric.link_bandwidth),
        "fabric": fabric_text(topology, args),
    }


def _percent(part: float) -> str:
    return f"{part:.2%}" if part >= 0.001 else "below 0.1%" if part >= 1e-6 else "below 0.0001%"


def _fields(facts: dict[str, Any]) -> list[tuple[str, str]]:
    def number(key: str) -> str:
        return f"{float(facts[key]):.6g}"

    exact = f"{number('value')} exactly ({facts['value']})" if len(str(facts["value"])) <= 40 else number("value")
    time = format_time(facts["seconds"])
    if not facts["exact"]:
        time += f", and no schedule takes less than {format_time(facts['least_seconds'])}"
    fields = [
        ("nodes N", str(facts["nodes"])),
        ("degree d", str(facts["degree"])),
        ("all-to-all throughput f", exact if facts["exact"] else number("value")),
    ]
    if not facts["exact"]:
        fields.append(("  proven to be at most", f"{number('bound')} (gap {_percent(facts['gap'])})"))
    fields += [
        ("  by distances at most", number("distance_bound")),
        ("  by cuts at most", number("cut_bound")),
        ("  any topology at most", number("any_topology_bound")),
        ("  found by", _METHODS[facts["method"]]),
        ("what f is", "the part of a link's rate that every host can send to every other, all at once"),
        (f"time for {facts['size']} a host", f"{time} ({facts['fabric']})"),
    ]
    if facts["faults"]:
        fields.append(("faults", "; ".join(facts["faults"])))
    return fields


def _run(args: argparse.Namespace) -> int:
    gap, seconds = parse_part(args.gap), parse_time(args.seconds)
    fabric_of(args, 1)
    parse_size(args.size)
    given = read(args.topology, args)
    with gap_bar("throughput") as progress:
        found = all_to_all(given.topology, gap=gap, seconds=float(seconds), progress=progress)
    facts = _facts(found, args)
    if args.json:
        print_json(facts)
        return 0
    print(facts["topology"])
    print_fields(_fields(facts))
    return 0


COMMAND = Command(
    name="throughput",
    help="how much every host can send to every other at once (all-to-all), proven",
    example="linkstep throughput 'Torus(8,8)' --size 64MB",
    add_arguments=_add_arguments,
    run=_run,
)
