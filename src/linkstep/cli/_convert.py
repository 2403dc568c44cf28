"""``linkstep convert``: from one file format to another, from a recipe to a file, with names and faults on the way."""

from __future__ import annotations

import argparse
import sys

from linkstep.cli._command import Command
from linkstep.cli._fabric_options import add_bandwidth
from linkstep.cli._output import print_text
from linkstep.cli._progress import busy
from linkstep.cli._topology_argument import add_faults, read
from linkstep.core.schedule import Schedule
from linkstep.core.text import counted
from linkstep.core.topology import Topology
from linkstep.files import KEEPS_CABLES, SUFFIXES, cables_of, check_savable, save


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(SUFFIXES)
    parser.add_argument("input", metavar="IN", help="a recipe, or a topology or schedule file")
    parser.add_argument("output", metavar="OUT", help=f"where to write, by its ending ({known})")
    add_bandwidth(parser)
    add_faults(parser)


def _run(args: argparse.Namespace) -> int:
    check_savable(Topology, args.output)
    given = read(args.input, args)
    thing = given.schedule or given.topology
    with busy(f"writing {args.output}"):
        save(thing, args.output)
    print_text(f"wrote {args.output}: {_summary(thing)}", indent="  ")
    if not args.output.lower().endswith(KEEPS_CABLES) and cables_of(given.topology):
        kept = ", ".join(KEEPS_CABLES)
        print(
            f"linkstep: {args.output}: ports and other columns of {args.input} are kept in {kept} only", file=sys.stderr
        )
    return 0


def _summary(thing: Topology | Schedule) -> str:
    """Return what a file has, in a few words."""
    if isinstance(thing, Schedule):
        rows = f"{counted(thing.num_steps, 'step')}, {counted(thing.num_rows, 'row')}"
        return f"{thing.collective} on {_summary(thing.topology)}: {rows}"
    duplex = thing.is_bidirectional and thing.num_links % 2 == 0
    links = counted(thing.num_links // 2, "duplex cable") if duplex else counted(thing.num_links, "link")
    return f"{counted(thing.num_nodes, 'server')}, {counted(thing.degree, 'port')} each, {links}"


COMMAND = Command(
    name="convert",
    example="linkstep convert wiring.csv wiring.graphml",
    add_arguments=_add_arguments,
    run=_run,
)
