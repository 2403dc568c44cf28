"""The argument RECIPE|FILE: what it names, with the options that name its hosts and say what is wrong with it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from linkstep.cli._fabric_options import fabric_of
from linkstep.cli._progress import busy
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.faults import KINDS, Fault, apply, ranks_left
from linkstep.core.faults import parse as parse_fault
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.files import READABLE, read_known
from linkstep.recipe import Recipe, parse

_FAULTS = {
    "cut": ("A,B[,oneway]", "a cable that is cut, or only its way from A to B"),
    "down": ("HOST", "a host that is down"),
    "slow": ("A,B[,oneway]=RATE", "a cable that runs at this rate"),
    "forward": ("HOST", "a host that takes no part and only forwards"),
}


@dataclass(frozen=True)
class TopologyArgument:
    """What a RECIPE|FILE argument named: a topology, with its recipe or its schedule where there is one.

    With faults it is a plain topology, and ``whole`` is what it was without them.
    """

    topology: Topology
    recipe: Recipe | None = None
    schedule: Schedule | None = None
    faults: tuple[Fault, ...] = ()
    ranks: Ranks | None = None
    """Who takes part; None: everyone."""
    whole: TopologyArgument | None = None

    def called(self, argument: str) -> str:
        """Return what to call it where it is printed: its recipe, in short, or its name, or what the argument was."""
        return self.topology.name or argument if self.recipe is None else self.recipe.short


def exists(text: str) -> bool:
    """Whether there is a file of this name; text that no file system takes, such as a long recipe, names none."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def read(text: str, args: argparse.Namespace | None = None, *, both_ways: bool = False) -> TopologyArgument:
    """Read RECIPE|FILE: what ends like a file of ours or exists is a file, all else a recipe.

    How a wiring was understood is said on standard error. The options of ``add_faults`` in ``args``
    are heeded; where a fault makes links differ, the others have their part of ``--bandwidth``, or the rate of
    ``--fabric``.
    """
    with busy("reading the topology"):
        given, notes = _read(text, both_ways or getattr(args, "both_ways", False))
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
    return with_faults(given, faults, fabric_of(args, given.topology.degree).link_bandwidth)


def with_names(given: TopologyArgument, names: str | None) -> TopologyArgument:
    """Return it with its hosts called as ``--names`` says, if that is given."""
    if names is None:
        return given
    topology = given.topology.with_labels(host_names(names, given.topology.num_nodes, "--names"))
    schedule = None if given.schedule is None else replace(given.schedule, topology=topology)
    return replace(given, topology=topology, schedule=schedule)


def with_faults(given: TopologyArgument, faults: tuple[Fault, ...], link_bandwidth: Fraction) -> TopologyArgument:
    """Return what faults leave of a topology whose links run at ``link_bandwidth`` (bit/s) where no column says."""
    if not faults:
        return given
    with busy("applying faults"):
        left = apply(given.topology, faults, link_bandwidth)
    return TopologyArgument(left, faults=faults, ranks=ranks_left(given.topology, faults), whole=given)


def _read(text: str, both_ways: bool) -> tuple[TopologyArgument, tuple[str, ...]]:
    """Return what an argument names, and how its file was understood."""
    if Path(text).suffix.lower() in READABLE or exists(text):
        found = read_known(text, both_ways=both_ways)
        if isinstance(found.thing, Schedule):
            return TopologyArgument(found.thing.topology, schedule=found.thing), found.notes
        return TopologyArgument(found.thing), found.notes
    if both_ways:
        raise LinkstepError(f"--both-ways is for wirings in files: {text[:60]!r} is a recipe")
    recipe = parse(text)
    return TopologyArgument(recipe.topology(), recipe=recipe), ()


def host_names(text: str, count: int, option: str) -> list[str]:
    """Return the names of hosts in a file, one a line, or in a list with commas between."""
    is_file = "," not in text and exists(text)
    if is_file:
        try:
            names = [line.strip() for line in Path(text).read_text("utf-8-sig").splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise FileError(f"{text}: cannot be read as a list of names: {error}") from None
    else:
        names = [name.strip() for name in text.split(",")]
    if len(names) != count:
        hint = "" if is_file or "," in text else ", and there is no such file"
        raise LinkstepError(f"{option} must name all {count} hosts, not {len(names)}: {text!r:.60}{hint}")
    return names


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
