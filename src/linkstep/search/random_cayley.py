"""Random Cayley digraphs, and their line graphs, tried on the spot for N beyond the catalog. Always the same tries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from linkstep.core.errors import RecipeError
from linkstep.families import family_written
from linkstep.groups import Group
from linkstep.groups.named import AbelianGroup, Element, SemidirectGroup
from linkstep.groups.tables import divisors
from linkstep.recipe import Member
from linkstep.search.choice import Choice, bfb_costs
from linkstep.search.finder import line_of

CATALOG_NODES = 2048
TRIED_NODES = 200_000
"""Tries are made where the order of the group lies between these."""


def random_cayley_choices(num_nodes: int, degree: int) -> Iterator[Choice]:
    """List Cayley digraphs of N, N/d, N/d^2, ... nodes, the smaller ones expanded to line graphs of N nodes.

    One node decides the cost of each, so a hundred thousand nodes take a fraction of a second.
    """
    times, n = 0, num_nodes
    while degree > 2 and n > CATALOG_NODES:
        if n <= TRIED_NODES:
            for choice in _tries(n, degree):
                for turn in range(times):
                    choice = line_of(choice, n * degree**turn)
                yield choice
        if n % degree:
            break
        n //= degree
        times += 1


def _tries(order: int, degree: int) -> Iterator[Choice]:
    rng = Random(order * 64 + degree)
    family, groups = family_written("Cayley(Z16:Z2[9],{(a,b),...})"), _some_groups(order)
    for _ in range(max(3, min(24, TRIED_NODES // order))):
        group = rng.choice(groups)
        generators = _random_generators(group, degree, rng)
        try:
            member = Member(family, (group, generators))
        except RecipeError:  # they do not generate the group
            continue
        costs = bfb_costs(member, member.is_reverse_symmetric)
        # A member anew: the one above holds its topology, and most tries come to nothing.
        yield Choice(replace(member), "bfb", *costs, is_bfb=True, is_simple=True, is_loop_free=True)


def _some_groups(order: int) -> list[Group]:
    """Return the cyclic group, or semidirect products of this order, those with a small r: enough for a few tries."""
    found: list[Group] = []
    for m in divisors(order):
        if 3 <= m < order:
            actions = [r for r in range(2, min(m, 1000)) if pow(r, order // m, m) == 1]
            found += [SemidirectGroup(m, order // m, r) for r in actions[:3]]
    return found or [AbelianGroup((order,))]


def _random_generators(group: Group, degree: int, rng: Random) -> tuple[int | Element, ...]:
    """Return elements other than the identity, all different, as recipes write them."""
    chosen: set[Element] = set()
    while len(chosen) < degree:
        element = tuple(rng.randrange(order) for order in group.moduli)
        if any(element):
            chosen.add(element)
    return tuple(e[0] if len(e) == 1 else e for e in sorted(chosen))
