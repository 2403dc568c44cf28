"""What ``linkstep schedule --help`` says of the methods: a line or two each."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from linkstep.scheduling import BEST, METHODS

ABOUT = {
    BEST: "the default: of what suits the topology, the one with least steps and bandwidth; where --size, --alpha or "
    "--fabric say what those are worth, the one that takes least time",
    "bfb": "breadth-first broadcast (BFB): every shard over shortest paths, links loaded as evenly as these allow; the "
    "fewest steps, on any topology",
    "arrival": "arrival times: a shard may reach servers later than over shortest paths, which evens out the links; a "
    "search, which --steps, --seconds, --rounds and --seed steer",
    "overlapped": "an allreduce whose reduce-scatter and allgather share steps, so that it takes fewer",
    "rooted": "an allreduce as a reduction to one root and a broadcast from it",
    "relayed": "where every two servers are linked, and some once more: two steps in which spare links relay",
    "expand": "the schedule of a recipe's base, carried to the whole by its theorem: line graphs, products, powers",
    "stored": "a schedule that ships with linkstep, for the few topologies that have one",
    "synthesized": "an exact search, for topologies of up to 64 nodes or so; needs the extra `synthesis`",
    "exchange": "an all-to-all whose paths are balanced step by step",
}


def about_methods(methods: Mapping[str, object] = METHODS) -> str:
    """Return a paragraph a method, aligned, for a help text of 80 columns, of which two are its margin.

    >>> print(about_methods()[:52])
    best         the default: of what suits the topology
    """
    width = max(map(len, (BEST, *methods))) + 2
    return "\n".join(
        textwrap.fill(
            ABOUT.get(name) or str(getattr(methods.get(name), "title", "")), 78,
            initial_indent=name.ljust(width), subsequent_indent=" " * width,
        )
        for name in (BEST, *methods)
    )  # fmt: skip
