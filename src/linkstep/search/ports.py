"""More ports are never worse: what fewer ports do with the others idle, parallel copies, and unions of two wirings.

The rows of N and d are joined by those of d - 1 with a port idle, which in turn have those of d - 2 and so on: with a
fixed rate a port, no size takes longer with d ports than with d - 1. Where nobody searched the catalog's way, known
wirings of fewer ports are also copied and laid over each other. Not here: the wirings (``linkstep.recipe.ports``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from linkstep.costs import Cost, all_to_all_bound, bandwidth_bound, lower_bound
from linkstep.families import family_written
from linkstep.groups.tables import divisors
from linkstep.recipe import Copies, Idle, Member, Union
from linkstep.search.bases import catalog_bases, member_choice
from linkstep.search.catalog import load_catalog
from linkstep.search.choice import Choice, bfb_costs
from linkstep.search.finder import Finder
from linkstep.search.finders import known_finder
from linkstep.search.frontier import nondominated
from linkstep.search.progress import FindProgress
from linkstep.search.spot import Spot

Frontier = Callable[[int, int, bool, Spot, FindProgress], list[Choice]]
"""Lists the rows of N, d and kind that need no look at fewer ports."""

SEARCHED_NODES = 256
"""Up to this many nodes fewer ports are looked at as if they were asked for; above, only what the catalog has there."""
UNION_LINKS = 5_000
"""Up to this many links, unions are built."""
UNIONS = 6
"""Unions that are built for one N and d."""


def over_ports(
    frontier: Frontier, num_nodes: int, degree: int, bidirectional: bool, spot: Spot, work: FindProgress
) -> list[Choice]:
    """Return the rows of N and d, no worse than those of any fewer ports."""
    rows = frontier(num_nodes, degree, bidirectional, spot, work)
    if degree >= num_nodes:
        rows = _joined(rows, _bundled(rows, num_nodes, degree, bidirectional))
    elif not load_catalog().covers(num_nodes, degree, bidirectional):
        rows = _joined(rows, _merged(rows, num_nodes, degree, bidirectional))
    if _is_beyond_fewer(rows, num_nodes, degree, bidirectional):
        return rows
    if num_nodes <= SEARCHED_NODES:
        if load_catalog().covers(num_nodes, degree, bidirectional):
            spot = replace(spot, seconds=0)  # what was searched for long needs no short search nearby
        fewer = over_ports(frontier, num_nodes, degree - 1, bidirectional, spot, work)
    else:
        fewer = [c for c in catalog_bases(load_catalog(), num_nodes, degree - 1) if c.is_bidirectional >= bidirectional]
    return _joined(rows, map(idle, fewer))


def _joined(rows: list[Choice], more: Iterable[Choice]) -> list[Choice]:
    """Return rows with those of ``more`` that add something, an all-to-all only where it is proven to be reached."""
    found = list(rows)
    for choice in more:
        flow = choice.flow if choice.is_flow_reached and choice.flow is not None else Fraction(0)
        if not any(row.allreduce_cost.is_within(choice.allreduce_cost) and (row.flow or 0) >= flow for row in found):
            found.append(choice)
    return nondominated(found) if len(found) > len(rows) else rows


def _is_beyond_fewer(rows: list[Choice], num_nodes: int, degree: int, bidirectional: bool) -> bool:
    """Whether a row is at least as good as any wiring of d - 1 ports could be, by the bounds of those; or none exists.

    >>> from linkstep.search.bases import member_choice
    >>> from linkstep.recipe import parse
    >>> _is_beyond_fewer([member_choice(parse("K_8")).measured()], 8, 7, True)
    True
    """
    fewer = degree - 1
    if fewer < 1 or num_nodes < 2 or (bidirectional and fewer == 1 and num_nodes > 2):
        return True
    flow = _most_flow(num_nodes, fewer, bidirectional)
    good = [row.allreduce_cost for row in rows if (row.flow or 0) >= flow]
    for half in _least(num_nodes, fewer, bidirectional):
        least = Cost(2 * half.steps, 2 * half.bandwidth * Fraction(degree, fewer))
        if not any(cost.is_within(least) for cost in good):
            return False
    return True


def _least(num_nodes: int, degree: int, bidirectional: bool) -> list[Cost]:
    """Return costs of an allgather such that none with d ports is below all of them.

    With d >= N - 1 one step takes as long as the thinnest bundle, one of floor(d / (N - 1)) links, and two or more take
    (N-1)/N. Where N and d are odd, duplex cables leave a port of some node idle.

    >>> [str(cost) for cost in _least(8, 10, True)], [str(cost) for cost in _least(9, 3, True)]
    (['1 alpha + 5/4 M/B', '2 alpha + 7/8 M/B'], ['2 alpha + 4/3 M/B'])
    """
    bound = lower_bound(num_nodes, degree, bidirectional=bidirectional)
    used = degree - (bidirectional and num_nodes % 2 * degree % 2)
    bandwidth = bound.bandwidth * Fraction(degree, used)
    thinnest = degree // (num_nodes - 1)
    if thinnest == 0:
        return [Cost(bound.steps, bandwidth)]
    straight = Cost(1, Fraction(degree, num_nodes * thinnest))
    return [straight] if straight.bandwidth == bandwidth else [straight, Cost(2, bandwidth)]


def _most_flow(num_nodes: int, degree: int, bidirectional: bool) -> Fraction:
    """Return an all-to-all throughput that no wiring with d ports exceeds.

    With d >= N - 1, let a pair have m links. All but min(f, m) of its f takes two links or more, so all pairs take
    the sum of 2 f - min(f, m), at most the links there are; bundles that differ by one link at most leave most room.

    >>> _most_flow(8, 14, True), _most_flow(8, 15, True)
    (Fraction(2, 1), Fraction(27, 13))
    """
    each, more = divmod(degree, num_nodes - 1)
    if each == 0:
        return all_to_all_bound(num_nodes, degree, bidirectional=bidirectional)
    return Fraction(more + each * (2 * (num_nodes - 1) - more), 2 * (num_nodes - 1) - more)


def _bundled(rows: list[Choice], num_nodes: int, degree: int, bidirectional: bool) -> Iterator[Choice]:
    """List the bundle of all pairs in two steps, where spare links relay: one step is in the rows of families."""
    if num_nodes < 3 or degree % (num_nodes - 1) == 0 or (bidirectional and num_nodes * degree % 2):
        return
    member = Member(family_written("Bundle(d,m)"), (degree, num_nodes))
    choice = next((row for row in rows if row.recipe == member), None) or member_choice(member)
    assert choice is not None  # the family knows what its members cost
    two = Cost(2, bandwidth_bound(num_nodes))
    yield replace(choice, method="relayed", cost=two, reduce_scatter=two, is_bfb=False).measured()


def idle(choice: Choice) -> Choice:
    """Return a choice with one port more, which is idle: its schedules, and T_B of links that have B/(d + 1) each.

    >>> from linkstep.search.bases import member_choice
    >>> from linkstep.recipe import parse
    >>> idle(idle(member_choice(parse("K_8"))))
    <Choice Idle(K_8,2) by bfb: allreduce 2 alpha + 9/4 M/B>
    """
    whole = choice.recipe
    recipe = Idle(whole.base, whole.count + 1) if isinstance(whole, Idle) else Idle(whole, 1)
    growth = Fraction(recipe.degree, whole.degree)
    cost, reduce_scatter = (
        Cost(half.steps, half.bandwidth * growth) for half in (choice.cost, choice.reduce_scatter)
    )  # fmt: skip
    return choice.expanded(
        recipe, method=_kept(choice), cost=cost, reduce_scatter=reduce_scatter,
        diameter=choice.diameter, flow=choice.flow, is_flow_reached=choice.is_flow_reached,
        flow_bound=choice.flow_bound, is_simple=False, is_loop_free=False,
    )  # fmt: skip


def _kept(choice: Choice) -> str:
    """Return the method that makes the base's schedule: that of the recipe, where it is no search on the topology."""
    return choice.method if choice.method in ("bfb", "arrival", "relayed") else "expand"


def _merged(rows: list[Choice], num_nodes: int, degree: int, bidirectional: bool) -> Iterator[Choice]:
    """List copies and unions of what is known of fewer ports, unless a row is as good as can be."""
    if num_nodes * degree > UNION_LINKS or (bidirectional and degree == 1):
        return
    bound = lower_bound(num_nodes, degree, bidirectional=bidirectional)
    if any(row.worse_half.is_within(bound) for row in rows):
        return
    known = {d: _known(known_finder(bidirectional), num_nodes, d) for d in range(1, degree)}
    pairs = [(d, degree - d) for d in range(degree - 1, degree // 2, -1) if known[d] and known[degree - d]]
    for large, small in sorted(pairs, key=lambda pair: _fewest(known[pair[0]]).steps)[:UNIONS]:
        yield _union(_fewest(known[large]), _fewest(known[small]))
    for times in divisors(degree)[1:-1]:
        yield from (copied(choice, times) for choice in known[degree // times])


def _fewest(choices: list[Choice]) -> Choice:
    return min(choices, key=lambda choice: (choice.steps, choice.allreduce_cost.bandwidth))


@lru_cache(maxsize=256)
def _known(search: Finder, num_nodes: int, degree: int) -> list[Choice]:
    """Return what the catalog, families and theorems tell of some ports: nothing is built."""
    found = [*catalog_bases(load_catalog(), num_nodes, degree), *search.frontier(num_nodes, degree)]
    return [c for c in found if c.is_exact and c.is_bidirectional >= search.bidirectional and c.recipe.is_regular]


def copied(choice: Choice, times: int) -> Choice:
    """Return a choice with n cables in parallel for each: the same costs, n times the all-to-all of a single link.

    >>> from linkstep.search.bases import member_choice
    >>> from linkstep.recipe import parse
    >>> copied(member_choice(parse("K_8")), 2)
    <Choice Copies(K_8,2) by bfb: allreduce 2 alpha + 7/4 M/B>
    """
    flow, bound = (None if value is None else value * times for value in (choice.flow, choice.flow_bound))
    return choice.expanded(
        Copies(choice.recipe, times), method=_kept(choice), diameter=choice.diameter,
        flow=flow, is_flow_reached=choice.is_flow_reached, flow_bound=bound, is_simple=False,
    )  # fmt: skip


def _union(left: Choice, right: Choice) -> Choice:
    """Return the links of two wirings together, scheduled by BFB."""
    recipe = Union((left.recipe, right.recipe))
    alike = left.is_bidirectional and right.is_bidirectional
    return Choice(
        recipe, "bfb", *bfb_costs(recipe, alike), is_bfb=True,
        is_loop_free=left.is_loop_free and right.is_loop_free,
        is_bidirectional=alike,
        is_reverse_symmetric=alike,
    ).measured(flow=False)  # fmt: skip
