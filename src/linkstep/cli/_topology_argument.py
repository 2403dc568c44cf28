"""The options of RECIPE|FILE: how its file is read, what its hosts are called and what is wrong with it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from linkstep.argument import TopologyArgument, read_argument, with_faults, with_names
from linkstep.cli._fabric_options import fabric_of
from linkstep.cli._progress import busy
from linkstep.core.errors import LinkstepError
from linkstep.core.faults import KINDS, Fault
from linkstep.core.faults import parse as parse_fault

_FAULTS = {
    "cut": ("A,B[,oneway]", "a cable that is cut, or only its way from A to B"),
    "down": ("HOST", "a host that is down"),
    "slow": ("A,B[,oneway]=RATE", "a cable that runs at this rate"),
    "forward": ("HOST", "a host that takes no part and only forwards"),
}


def read(text: str, args: argparse.Namespace | None = None, *, both_ways: bool = False) -> TopologyArgument:
    """Read RECIPE|FILE: what ends like a file of ours or exists is a file, all else a recipe.

    How a wiring was understood is said on standard error. The options of ``add_faults`` in ``args``
    are heeded; where a fault makes links differ, the others have their part of ``--bandwidth``, or the rate of
    ``--fabric``.
    """
    with busy("reading the topology"):
        given, notes = read_argument(text, both_ways=both_ways or getattr(args, "both_ways", False))
    for note in () if getattr(args, "is_later_rank", False) else notes:
        print(f"linkstep: {text}: {note}", file=sys.stderr)
    given = with_names(given, getattr(args, "names", None))
    faults = tuple(getattr(args, "faults", None) or ())
    if args is None or not faults:
        return given
    if given.schedule is not None:
        raise LinkstepError(
            f"{text} holds a schedule, which is for its own topology: give faults with a recipe or a topology"
        )
    with busy("applying faults"):
        return with_faults(given, faults, fabric_of(args, given.topology.degree).link_bandwidth)


def add_both_ways(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add ``--both-ways``, which ``read`` heeds: how a file's wiring is read."""
    parser.add_argument(
        "--both-ways", action="store_true", help="read each line of a file's wiring as a duplex cable, not as a link"
    )


def add_faults(parser: argparse.ArgumentParser, *, ranks: bool = False) -> None:
    """Add ``--names``, what hosts are called, and ``--cut``, ``--down`` and ``--slow``, by their names or numbers.

    With ``ranks``, ``--forward`` too, for commands that know who takes part.
    """

    def reader(kind: str) -> Callable[[str], Fault]:
        def read_fault(text: str) -> Fault:
            try:
                return parse_fault(kind, text)
            except LinkstepError as error:
                raise argparse.ArgumentTypeError(str(error)) from None

        return read_fault

    add_both_ways(parser)
    parser.add_argument("--names", metavar="FILE|A,B,...", help="names of the hosts: a file with one a line, or a list")
    group = parser.add_argument_group("faults", "hosts by name or number; each option may be given several times")
    for kind in KINDS if ranks else (kind for kind in KINDS if kind != "forward"):
        metavar, text = _FAULTS[kind]
        group.add_argument(
            f"--{kind}", dest="faults", action="append", metavar=metavar, type=reader(kind), default=[], help=text
        )
