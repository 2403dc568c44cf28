"""An entry of the catalog: a recipe, and what its schedules cost, as files have it. Nothing is built or computed here.

A file has one line an entry under a header, ``nodes,degree,kind,distance_sum,all_to_all,allgather,reduce_scatter,
recipe``. Kind is ``bi`` or ``uni``. All-to-all is what every pair gets at once, a link being 1: a fraction, or two with
``..`` between them if it is only known to lie there, or empty. A half of an allreduce is a list such as ``5b:168/127
6a:126/127``: in 5 steps T_B is 168/127 by BFB, in 6 steps 126/127 by arrival times; an empty reduce-scatter costs what
the allgather does. The recipe comes last, so its commas need no quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from linkstep.core.errors import FileError
from linkstep.costs import Cost, bandwidth_bound
from linkstep.recipe.names import HEADER

_COUNT, _FRACTION = r"([1-9][0-9]{0,8})", r"[0-9]{1,20}(?:/[1-9][0-9]{0,19})?"
_OPTION = re.compile(rf"([1-9][0-9]{{0,8}})([ab]):({_FRACTION})")
_OPTIONS = r"((?:[0-9]{1,9}[ab]:[0-9/]{1,41} ?){1,8})"
_LINE = re.compile(
    rf"{_COUNT},{_COUNT},(uni|bi),({_FRACTION}),((?:{_FRACTION}(?:\.\.{_FRACTION})?)?),{_OPTIONS},{_OPTIONS}?,([ -~]+)"
)
"""An entry: a recipe is of printable ASCII."""

METHODS = {"a": "arrival", "b": "bfb"}
_LETTERS = {name: letter for letter, name in METHODS.items()}


class Option(NamedTuple):
    """A way to do one half of an allreduce: its cost, and the method that makes the schedule."""

    cost: Cost
    method: str

    def __str__(self) -> str:
        return f"{self.cost.steps}{_LETTERS[self.method]}:{self.cost.bandwidth}"


Half = tuple[Option, ...]
"""The ways to do one half, fewest steps first: BFB, then arrivals that take less bandwidth than any before."""


@dataclass(frozen=True)
class Entry:
    """A topology and what it costs.

    ``distance_sum`` is the sum of the distances to a node (averaged over nodes where they differ).
    """

    num_nodes: int
    degree: int
    bidirectional: bool
    recipe: str
    distance_sum: Fraction
    allgather: Half
    reduce_scatter: Half
    flow: Fraction | None = None
    """What every pair is proven to get at once in an all-to-all, a link being 1; None if that was not computed."""
    flow_bound: Fraction | None = None
    """What it is proven not to exceed; equal to ``flow`` where that is exact."""

    @property
    def diameter(self) -> int:
        """The largest distance: no schedule takes fewer steps, and BFB takes no more."""
        return self.allgather[0].cost.steps

    @property
    def most_flow(self) -> Fraction:
        """All-to-all throughput where it is known, and what distances allow where not."""
        return self.flow if self.flow is not None else Fraction(self.degree) / self.distance_sum

    @property
    def flow_range(self) -> tuple[Fraction, Fraction]:
        """What all-to-all throughput is proven to lie between: distances bound it where nothing was computed."""
        most = Fraction(self.degree) / self.distance_sum if self.flow_bound is None else self.flow_bound
        return self.flow or Fraction(0), most

    def pairs(self) -> Iterator[tuple[Option, Option]]:
        """List the ways to do an allreduce: (reduce-scatter, allgather)."""
        if self.reduce_scatter == self.allgather:  # one more step pays in both or in none
            yield from zip(self.allgather, self.allgather, strict=True)
            return
        for first in self.reduce_scatter:
            for second in self.allgather:
                yield first, second

    @property
    def costs(self) -> list[Cost]:
        """What these cost."""
        return [first.cost + second.cost for first, second in self.pairs()]

    @property
    def is_bandwidth_optimal(self) -> bool:
        """Whether allgather and reduce-scatter reach T_B* = (N - 1) / N, in whatever number of steps."""
        least = bandwidth_bound(self.num_nodes)
        return all(half[-1].cost.bandwidth == least for half in (self.allgather, self.reduce_scatter))

    @property
    def figures(self) -> str:
        """All but the recipe, as files have it."""
        kind = "bi" if self.bidirectional else "uni"
        flow = "" if self.flow is None else str(self.flow)
        if self.flow != self.flow_bound:
            flow += f"..{self.flow_bound}"
        halves = [" ".join(map(str, half)) for half in (self.allgather, self.reduce_scatter)]
        if halves[0] == halves[1]:
            halves[1] = ""
        return f"{self.num_nodes},{self.degree},{kind},{self.distance_sum},{flow},{halves[0]},{halves[1]}"

    def line(self) -> str:
        """Return the entry as files have it."""
        return f"{self.figures},{self.recipe}"

    @classmethod
    def from_line(cls, line: str) -> Entry:
        """Read a line; the figures are taken on trust, ``verify`` recomputes them.

        >>> Entry.from_line("5,4,bi,4,1,1b:4/5,,K_5").costs
        [Cost(steps=2, bandwidth=Fraction(8, 5))]
        """
        match = _LINE.fullmatch(line)
        if match is None:
            raise FileError(f"not an entry ({HEADER}): {line[:100]!a}")
        nodes, degree, kind, total, flow, allgather, reduce_scatter, recipe = match.groups()
        gather = _half(allgather, line)
        ends = [Fraction(end) for end in flow.split("..") if end]
        if not Fraction(total) or not all(ends) or ends != sorted(ends):
            raise FileError(f"distances and all-to-all must be positive, and a range ascending: {line[:100]!a}")
        return cls(
            int(nodes), int(degree), kind == "bi", recipe, Fraction(total), gather,
            _half(reduce_scatter, line) if reduce_scatter else gather,
            ends[0] if ends else None, ends[-1] if ends else None,
        )  # fmt: skip


def _half(text: str, line: str) -> Half:
    options = []
    for word in text.split():
        match = _OPTION.fullmatch(word)
        if match is None or not Fraction(match[3]):
            raise FileError(f"not the cost of a schedule, such as 6a:126/127: {word!a} in {line[:100]!a}")
        options.append(Option(Cost(int(match[1]), Fraction(match[3])), METHODS[match[2]]))
    return tuple(options)
