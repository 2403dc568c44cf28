"""Options that say which schedule is meant, ``--collective`` and ``--root``, and the schedule itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linkstep.argument import TopologyArgument
from linkstep.cli._progress import progress_bar
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import COLLECTIVES
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.scheduling import ScheduleResult, schedule

DEFAULT = Collective.ALLREDUCE
"""The collective of every command that makes a schedule, unless another is asked for."""


def add_collective(parser: argparse.ArgumentParser) -> None:
    """Add ``--collective`` and ``--root``: what a schedule is made for."""
    parser.add_argument("--collective", choices=COLLECTIVES, help="default: the file's own, else allreduce")
    parser.add_argument("--root", default=0, metavar="HOST", help="of a broadcast or a reduce; default: the first")


def schedule_of(given: TopologyArgument, collective: str | None, root: int | str, **how: Any) -> ScheduleResult:
    """Return the file's schedule, checked, or make one as ``linkstep schedule`` does."""
    if given.schedule is None:
        wanted = collective or DEFAULT
        number = root if isinstance(root, int) else _root(given.topology, root, given.ranks)
        with progress_bar("schedule") as bar:
            source = given.topology if given.recipe is None else given.recipe
            made = schedule(source, wanted, root=number, ranks=given.ranks, progress=bar, **how)
        return made if given.topology.labels is None else _named(made, given.topology.labels)
    if collective not in (None, given.schedule.collective):
        raise LinkstepError(f"the file holds a {given.schedule.collective}, not the {collective} of --collective")
    check(given.schedule)
    return ScheduleResult(given.schedule, "file", fabric=how.get("fabric"))


def _named(made: ScheduleResult, labels: Sequence[str]) -> ScheduleResult:
    """Return what was made, with the names of hosts that a recipe knows nothing of."""
    if made.schedule.topology.labels is not None:
        return made
    return replace(made, schedule=replace(made.schedule, topology=made.schedule.topology.with_labels(labels)))


def _root(topology: Topology, text: str, ranks: Ranks | None) -> int:
    """Return the rank of a host."""
    is_number = topology.labels is None and text.isdecimal() and text.isascii() and len(text) <= 10
    node = int(text) if is_number else topology.node_named(text)
    if ranks is None or not node < ranks.num_nodes:
        return node
    if ranks.rank_of[node] < 0:
        raise LinkstepError(f"--root {text}: that host takes no part")
    return int(ranks.rank_of[node])
