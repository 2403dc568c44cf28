"""Bases: members of families, and entries of the catalog, as the choices that the finder starts from.

What a family's row and the stored schedules tell is taken from there and nothing is built; other members are built and
costed by BFB while that is quick. Which families there are is the table's business: there is no list of them here.
"""

from __future__ import annotations

from collections.abc import Iterator

from linkstep.costs import Cost, bandwidth_bound
from linkstep.families import FAMILIES
from linkstep.methods.stored import STEPS
from linkstep.recipe import Member, parse
from linkstep.search.catalog import Catalog
from linkstep.search.choice import KNOWN, Choice, bfb_costs
from linkstep.search.entry import Entry

COMPUTED_NODES = 256
"""Up to this many nodes, a member whose cost its family does not know is costed by BFB."""
COMPUTED_ALIKE = 4096
"""As many, where all nodes are alike: one is enough then."""


def paper_bases(num_nodes: int, degree: int) -> Iterator[Choice]:
    """List the members with this N and d of the families in table:toposummary."""
    return _members(num_nodes, degree, paper_only=True)


def family_bases(num_nodes: int, degree: int, *, compute: bool = True) -> Iterator[Choice]:
    """List the members with this N and d of every family; only those whose costs are known unless ``compute``."""
    return _members(num_nodes, degree, paper_only=False, compute=compute)


def _members(num_nodes: int, degree: int, paper_only: bool, compute: bool = True) -> Iterator[Choice]:
    for family in FAMILIES:
        if family.is_searched and (family.in_paper or not paper_only):
            for args in family.members(num_nodes, degree):  # no sweep has scored what was registered
                choice = member_choice(Member(family, args), compute=compute or family in FAMILIES.added)
                if choice is not None:
                    yield choice


def member_choice(member: Member, *, compute: bool = True) -> Choice | None:
    """Return a member with its cost; None if nothing tells it and computing it is not wanted, or would take long.

    >>> from linkstep.recipe import parse
    >>> choice = member_choice(parse("Diamond"))
    >>> choice.method, str(choice.cost)
    ('stored', '3 alpha + 7/8 M/B')
    """
    stored = _stored_costs(member)
    if stored is not None:
        return _claimed(member, "stored", stored, is_bfb=False)
    known = _known_costs(member)
    if known is not None:
        return _claimed(member, "bfb", known, is_bfb=True)
    if compute and member.num_nodes <= (COMPUTED_ALIKE if member.is_vertex_transitive else COMPUTED_NODES):
        return costed_member(member)
    return None


def _stored_costs(member: Member) -> tuple[Cost, Cost] | None:
    steps = STEPS.get(str(member))
    if steps is None:
        return None
    cost = Cost(steps, bandwidth_bound(member.num_nodes))
    return cost, cost


def _known_costs(member: Member) -> tuple[Cost, Cost] | None:
    """Return what the family knows: both halves bandwidth-optimal in D steps, or a line of its table."""
    family, args = member.family, member.args
    if family.bandwidth_optimal(*args) and family.reverse_symmetric(*args):
        diameter = family.diameter(*args)
        if diameter is not None:
            cost = Cost(diameter, bandwidth_bound(member.num_nodes))
            return cost, cost
    return family.costs(*args)


def _claimed(member: Member, method: str, costs: tuple[Cost, Cost], *, is_bfb: bool) -> Choice:
    """Return the choice with the properties that the family claims."""
    family, args = member.family, member.args
    return Choice(
        member, method, *costs, is_bfb=is_bfb,
        is_simple=family.simple(*args),
        is_loop_free=family.loop_free(*args),
        is_bidirectional=family.bidirectional(*args),
        is_reverse_symmetric=family.reverse_symmetric(*args),
    )  # fmt: skip


def costed_member(member: Member) -> Choice:
    """Build a member and return it with its cost by BFB, and with properties that are seen on the topology."""
    topology = member.topology()
    alike = topology.is_bidirectional or member.is_reverse_symmetric
    return Choice(
        member, "bfb", *bfb_costs(member, alike), is_bfb=True,
        is_simple=not topology.num_parallel and not topology.num_self_loops,
        is_loop_free=not topology.num_self_loops,
        is_bidirectional=topology.is_bidirectional,
        is_reverse_symmetric=alike,
    )  # fmt: skip


def catalog_bases(catalog: Catalog, num_nodes: int, degree: int) -> Iterator[Choice]:
    """List the schedules of the catalog's entries with this N and d."""
    for entry in catalog.listed(num_nodes, degree):
        yield from entry_choices(entry, KNOWN)


def entry_choices(entry: Entry, origin: str) -> Iterator[Choice]:
    """List an entry's schedules as choices; its figures are taken on trust."""
    recipe = parse(entry.recipe)
    simple = loop_free = False
    if isinstance(recipe, Member):
        simple, loop_free = recipe.family.simple(*recipe.args), recipe.family.loop_free(*recipe.args)
    for reduce_scatter, allgather in entry.pairs():
        by_bfb = reduce_scatter.method == allgather.method == "bfb"
        yield Choice(
            recipe, "bfb" if by_bfb else "arrival", allgather.cost, reduce_scatter.cost, is_bfb=by_bfb,
            origin=origin, diameter=entry.diameter, flow=entry.most_flow, is_flow_reached=entry.flow is not None,
            flow_bound=entry.flow_bound,
            is_simple=simple, is_loop_free=loop_free,
            is_bidirectional=entry.bidirectional,
            is_reverse_symmetric=entry.bidirectional or recipe.is_reverse_symmetric,
        )  # fmt: skip
