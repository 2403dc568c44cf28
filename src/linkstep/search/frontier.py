"""Which choices are worth showing: exact costs, the Pareto frontier of steps, bandwidth and all-to-all throughput.

Not here: where choices come from (``linkstep.search.finders``), and what people ask (``linkstep.search.answer``).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from linkstep.core.pareto import pareto
from linkstep.recipe import Member
from linkstep.search.choice import Choice
from linkstep.search.finder import length


def resolved(choice: Choice) -> Iterator[Choice]:
    """List what is best on a choice's topology, costs exact: its own schedule, BFB, or both if neither is better."""
    if choice.is_bfb or isinstance(choice.recipe, Member):
        yield choice
        return
    by_bfb = choice.by_bfb()
    yield by_bfb
    if not by_bfb.allreduce_cost.is_within(choice.allreduce_cost):
        yield choice.exactly()


def nondominated(rows: list[Choice]) -> list[Choice]:
    """Return rows that no other equals or beats in steps and bandwidth of an allreduce and all-to-all flow together.

    A flow that is only a bound of distances beats none that is reached, and keeps no more than one row, the first.
    """
    reached = pareto((row for row in rows if row.is_flow_reached), figures=_figures, tie=length)
    bounded = [row for row in rows if not row.is_flow_reached]
    others = pareto(bounded, figures=lambda row: _figures(row)[:2], tie=lambda row: (-(row.flow or 0), length(row)))
    others += [row for row in sorted(bounded, key=_flow_first)[:1] if row not in others]
    others = [row for row in others if not any(_is_within(better, row) for better in reached)]
    return sorted([*reached, *others], key=_figures)


def _flow_first(row: Choice) -> tuple[Fraction, int, Fraction]:
    steps, bandwidth, flow = _figures(row)
    return flow, steps, bandwidth


def _figures(row: Choice) -> tuple[int, Fraction, Fraction]:
    return row.allreduce_cost.steps, row.allreduce_cost.bandwidth, -(row.flow or Fraction(0))


def _is_within(row: Choice, other: Choice) -> bool:
    return row.allreduce_cost.is_within(other.allreduce_cost) and (row.flow or 0) >= (other.flow or 0)
