"""RECIPE|FILE: what one argument names, for whoever takes it as text: a command, or a page that asks.

Not here: options and what is printed (``linkstep.cli``), and what files look like (``linkstep.files``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.faults import Fault, apply, ranks_left
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.files import READABLE, read_known
from linkstep.recipe import Recipe, parse


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


def read_argument(text: str, *, both_ways: bool = False) -> tuple[TopologyArgument, tuple[str, ...]]:
    """Return what an argument names, and how its file was understood.

    What ends like a file of ours or exists is a file, all else a recipe.

    >>> read_argument("K_{4,4}")[0].topology.num_nodes
    8
    """
    if Path(text).suffix.lower() in READABLE or exists(text):
        found = read_known(text, both_ways=both_ways)
        if isinstance(found.thing, Schedule):
            return TopologyArgument(found.thing.topology, schedule=found.thing), found.notes
        return TopologyArgument(found.thing), found.notes
    if both_ways:
        raise LinkstepError(f"--both-ways is for wirings in files: {text[:60]!r} is a recipe")
    recipe = parse(text)
    return TopologyArgument(recipe.topology(), recipe=recipe), ()


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
    left = apply(given.topology, faults, link_bandwidth)
    return TopologyArgument(left, faults=faults, ranks=ranks_left(given.topology, faults), whole=given)


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
