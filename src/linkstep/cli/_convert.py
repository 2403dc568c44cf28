"""``linkstep convert``: from one file format to another, from a recipe to a file, with names and faults on the way."""

from __future__ import annotations

import argparse
import sys

from linkstep.cli._command import Command
from linkstep.cli._fabric_options import add_bandwidth
from linkstep.cli._progress import busy
from linkstep.cli._topology_argument import add_faults, read
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
    print(f"wrote {args.output}: {thing!r}")
    if not args.output.lower().endswith(KEEPS_CABLES) and cables_of(given.topology):
        kept = ", ".join(KEEPS_CABLES)
        print(
            f"linkstep: {args.output}: ports and other columns of {args.input} are kept in {kept} only", file=sys.stderr
        )
    return 0


COMMAND = Command(
    name="convert",
    example="linkstep convert wiring.csv wiring.graphml",
    add_arguments=_add_arguments,
    run=_run,
)
