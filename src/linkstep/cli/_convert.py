"""``linkstep convert``: from one file format to another."""

from __future__ import annotations

import argparse

from linkstep.cli._common import Command, read
from linkstep.files import SUFFIXES, save


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(SUFFIXES)
    parser.add_argument("input", metavar="IN", help="a recipe, or a topology or schedule file")
    parser.add_argument("output", metavar="OUT", help=f"where to write, by its ending ({known})")


def _run(args: argparse.Namespace) -> int:
    given = read(args.input)
    thing = given.schedule or given.topology
    save(thing, args.output)
    print(f"wrote {args.output}: {thing!r}")
    return 0


COMMAND = Command(
    name="convert",
    help="turn a topology or schedule file into another format",
    example="linkstep convert wiring.csv wiring.graphml",
    add_arguments=_add_arguments,
    run=_run,
)
