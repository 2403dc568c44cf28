"""What the writers share: files, names that every parser takes, a line that says where one comes from, attributes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from linkstep._version import __version__
from linkstep.costs import cost_of
from linkstep.lowering.values import Placement

_DIGITS = 16
"""Hexadecimal digits of a program's hash: 64 bits."""


class File(NamedTuple):
    """What a writer returns."""

    text: str
    name: str = ""
    """What MSCCL++ calls the plan; empty for other runtimes."""


def algorithm_name(placement: Placement, longest: int = 200) -> str:
    """Return the recipe as the name of an algorithm: short, and without characters that a parser could trip over."""
    name = placement.schedule.topology.name or f"N={placement.num_ranks}"
    return "".join("_" if c in "\"'<>&=\\" or not " " <= c <= "~" else c for c in name)[:longest]


def plan_name(placement: Placement, head: Mapping[str, object], program: str) -> str:
    """Return the name of an MSCCL++ plan: the recipe, what the plan is for, and a hash of all that is executed.

    The runtime keeps what it has set up by name, so two plans with one name would run each other's program.
    """
    place = "inplace" if head["inplace"] else "outofplace"
    window = f"{head['min_message_size']}-{head['max_message_size']}"
    digest = hashlib.sha256(f"{sorted(head.items())}{program}".encode()).hexdigest()[:_DIGITS]
    return ":".join([algorithm_name(placement, longest=100), str(head["collective"]), place, window, digest])


def describe(placement: Placement) -> str:
    """Return which linkstep made this from what, and what it should cost."""
    name, cost = algorithm_name(placement), cost_of(placement.schedule)
    return f"linkstep {__version__}: {placement.collective} on {name}, {cost}"


def attributes(pairs: Mapping[str, object]) -> str:
    """Return ``key="value"`` pairs with one space between."""
    return " ".join(f'{key}="{value}"' for key, value in pairs.items())
