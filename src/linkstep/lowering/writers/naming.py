"""What the writers share: names that every parser takes, a line that says where a file comes from, attributes."""

from __future__ import annotations

from collections.abc import Mapping

from linkstep._version import __version__
from linkstep.costs import cost_of
from linkstep.lowering.values import Placement


def algorithm_name(placement: Placement) -> str:
    """Return the recipe as the name of an algorithm: short, and without characters that a parser could trip over."""
    name = placement.schedule.topology.name or f"N={placement.num_ranks}"
    return "".join("_" if c in "\"'<>&=\\" or not " " <= c <= "~" else c for c in name)[:200]


def describe(placement: Placement) -> str:
    """Return which linkstep made this from what, and what it should cost."""
    name, cost = algorithm_name(placement), cost_of(placement.schedule)
    return f"linkstep {__version__}: {placement.collective} on {name}, {cost}"


def attributes(pairs: Mapping[str, object]) -> str:
    """Return ``key="value"`` pairs with one space between."""
    return " ".join(f'{key}="{value}"' for key, value in pairs.items())
