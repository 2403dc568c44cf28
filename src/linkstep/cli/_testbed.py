"""``linkstep testbed``: a topology emulated on this machine, a network namespace a host, with rates and delays."""

from __future__ import annotations

import argparse

from linkstep.argument import with_names
from linkstep.cli._command import Command
from linkstep.cli._output import add_json, print_table, show_json
from linkstep.cli._quantities import rate_option, time_option
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.errors import LinkstepError
from linkstep.core.faults import Cut, apply, format_rate, parse
from linkstep.core.units import format_time, parse_bandwidth, parse_time
from linkstep.engines import testbed as beds
from linkstep.engines.testbed import Testbed, TrunkStatus
from linkstep.reports.testbed import TestbedCablesReport, TestbedsReport, num_cables

_ALL = "--all"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    sub = actions.add_parser("up", help="make a testbed")
    sub.add_argument("topology", metavar="RECIPE|FILE", help="a recipe, or a topology or schedule file")
    sub.add_argument("--name", required=True, metavar="NAME", help="what to call it: letters a-z, digits, hyphens")
    sub.add_argument(
        "--rate", type=rate_option, default="50Mbps", metavar="RATE",
        help="of a link; where the file's links differ, of the fastest, others in proportion; default: 50Mbps",
    )  # fmt: skip
    sub.add_argument(
        "--delay",
        type=time_option,
        default="0s",
        metavar="TIME",
        help="from one end of a cable to the other; default: 0s",
    )
    add_faults(sub)

    sub = actions.add_parser("status", help="list the testbeds, or the cables of one with the bytes they carried")
    sub.add_argument("name", nargs="?", metavar="NAME")
    add_json(sub)

    sub = actions.add_parser(
        "exec", help="run a command on a host, or on all at once", usage=f"%(prog)s NAME HOST|{_ALL} COMMAND ..."
    )
    sub.add_argument("name", metavar="NAME")
    sub.add_argument("words", nargs=argparse.REMAINDER, metavar=f"HOST|{_ALL} COMMAND ...")

    sub = actions.add_parser("cut", help="cut a cable of a running testbed")
    sub.add_argument("name", metavar="NAME")
    sub.add_argument("cable", metavar="A,B", help="its two hosts, by name or number")
    sub.add_argument(
        "--reroute", action="store_true",
        help="let set-up traffic between the two go round: for a run whose schedule does not use the cable",
    )  # fmt: skip

    sub = actions.add_parser("mend", help="mend a cable that was cut")
    sub.add_argument("name", metavar="NAME")
    sub.add_argument("cable", metavar="A,B", help="its two hosts, by name or number")

    sub = actions.add_parser("down", help="take a testbed down, with whatever still runs on its hosts")
    which = sub.add_mutually_exclusive_group(required=True)
    which.add_argument("name", nargs="?", metavar="NAME")
    which.add_argument(_ALL, action="store_true", help="all testbeds of this machine")


def _size(testbed: Testbed) -> str:
    delay = f", {format_time(testbed.delay)} of delay" if testbed.delay else ""
    return f"{testbed.num_hosts} hosts, {num_cables(testbed)} cables, {format_rate(testbed.rate)} a link{delay}"


def _up(args: argparse.Namespace) -> int:
    beds.check_possible()
    rate, delay = parse_bandwidth(args.rate), parse_time(args.delay)
    topology = with_names(read(args.topology, both_ways=args.both_ways), args.names).topology
    whole_rate = beds.check_sizes(topology, rate, delay)
    topology = apply(beds.scale(topology, whole_rate), args.faults, rate)
    made = beds.up(topology, args.name, whole_rate, delay)
    print(f"testbed {made.name}: {made.topology.name or args.topology}, {_size(made)}")
    return 0


# --- status ---


def _list(args: argparse.Namespace) -> int:
    report = TestbedsReport.of(beds.load(name) for name in beds.names())
    if show_json(report, args):
        return 0
    if not report.testbeds:
        print("no testbed; linkstep testbed up makes one")
        return 0
    rows = [
        (
            one.name, one.recipe or "-", str(one.nodes), str(one.num_cables), str(one.num_cut),
            format_rate(int(one.link_bandwidth)), format_time(one.delay_seconds), one.state,
        )
        for one in report.testbeds
    ]  # fmt: skip
    print_table(("name", "topology", "hosts", "cables", "cut", "rate", "delay", "state"), rows, right=(2, 3, 4, 5, 6))
    return 0


def _state(row: TrunkStatus) -> str:
    if not row.num_cut:
        return "up"
    return "cut" if row.num_cut == row.num_cables else f"{row.num_cut} of {row.num_cables} cut"


def _rates(row: TrunkStatus) -> str:
    rates = dict.fromkeys((row.rate_there, row.rate_back))
    return " / ".join(format_rate(rate) if rate else "-" for rate in rates)


def _status(args: argparse.Namespace) -> int:
    if args.name is None:
        return _list(args)
    beds.check_possible()
    bed = beds.load(args.name)
    rows = beds.status(bed)
    if show_json(TestbedCablesReport.of(bed, rows), args):
        return 0
    print(f"testbed {bed.name}: {bed.topology.name or '-'}, {_size(bed)}")
    host = bed.topology.host
    table = [
        (host(row.first), host(row.second), _rates(row), _state(row), str(row.bytes_there), str(row.bytes_back))
        for row in rows
    ]
    print_table(("A", "B", "rate", "state", "bytes to B", "bytes to A"), table, right=(2, 4, 5))
    return 0


# --- exec ---


def _exec(args: argparse.Namespace) -> int:
    beds.check_possible()
    bed = beds.load(args.name)
    words = args.words
    if len(words) < 2:
        raise LinkstepError(f"linkstep testbed exec takes NAME, then HOST or {_ALL}, then a command")
    beds.check_whole(bed)
    if words[0] == _ALL:
        return beds.run_on_all(bed, words[1:], lambda host, line: _print_line(bed.topology.host(host), line))
    return beds.become(bed, bed.topology.node_named(words[0]), words[1:])


def _print_line(host: str, line: str) -> None:
    print(f"{host}: {line}", flush=True)


# --- cut, mend, down ---


def _hosts(text: str) -> tuple[str, str]:
    fault = parse("cut", text)
    assert isinstance(fault, Cut)
    if fault.one_way:
        raise LinkstepError(f"a cable of a testbed is cut in both directions, not {text}")
    return fault.first, fault.second


def _cut(args: argparse.Namespace) -> int:
    bed = beds.cut(args.name, _hosts(args.cable), reroute=args.reroute)
    print(f"testbed {bed.name}: {args.cable} is cut")
    return 0


def _mend(args: argparse.Namespace) -> int:
    bed = beds.mend(args.name, _hosts(args.cable))
    print(f"testbed {bed.name}: {args.cable} is mended")
    return 0


def _down(args: argparse.Namespace) -> int:
    beds.check_possible()
    for name in beds.names() if args.all else [args.name]:
        if name not in beds.names():
            print(f"testbed {name}: there is none")
            continue
        ended = beds.down(name)
        print(f"testbed {name} is down" + (f"; {ended} processes on its hosts were ended" if ended else ""))
    return 0


_ACTIONS = {"up": _up, "status": _status, "exec": _exec, "cut": _cut, "mend": _mend, "down": _down}


def _run(args: argparse.Namespace) -> int:
    return _ACTIONS[args.action](args)


COMMAND = Command(
    name="testbed",
    example="linkstep testbed up 'K_{4,4}' --name k44 --rate 50Mbps",
    add_arguments=_add_arguments,
    run=_run,
)
