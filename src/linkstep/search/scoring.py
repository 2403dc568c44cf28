"""What a recipe costs, computed: from a recipe to its entry of the catalog, and whether an entry is right.

Both halves of an allreduce are scored by BFB and by arrival times, in as few steps as the diameter and in a few more.
The search for arrivals is the short one that ``Choice.build`` makes too, so that what an entry says is what is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology
from linkstep.costs import bandwidth_bound
from linkstep.methods.arrival import arrival_costs
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import Recipe, parse
from linkstep.search.entry import Entry, Half, Option
from linkstep.symmetry.distances import measure_distances
from linkstep.throughput import all_to_all, exact_all_to_all, quick_all_to_all
from linkstep.throughput.solve import rounded

MORE_STEPS = 2
"""Steps beyond the diameter that are tried while they take bandwidth off."""
ENOUGH = Fraction(501, 500)
"""Times the bound on T_B: what is within that, more steps are not tried for."""
ROUNDS = 0
"""Rounds of the search for arrivals: only the beginning of the first."""
ARRIVAL_NODES = 4096
"""Up to this many nodes; of larger topologies BFB alone, since arrivals take minutes there."""
FLOW_LINKS = 2500
"""Up to this many links all-to-all throughput is computed, if few orbits of links are all there are."""


def score_half(topology: Topology) -> Half:
    """Return the ways to do an allgather: by BFB, and by arrivals wherever they take less bandwidth.

    >>> from linkstep.recipe import parse
    >>> [str(option) for option in score_half(parse("Pi_{2,9}").topology())]
    ['3b:14/9', '4a:10/9', '5a:1']
    """
    by_bfb = bfb_cost(topology)
    found = [Option(by_bfb, "bfb")]
    if bandwidth_bound(topology.num_nodes) < by_bfb.bandwidth and topology.num_nodes <= ARRIVAL_NODES:
        for cost in arrival_costs(topology, range(by_bfb.steps, by_bfb.steps + MORE_STEPS + 1), ENOUGH):
            if cost.bandwidth < found[-1].cost.bandwidth:
                found.append(Option(cost, "arrival"))
    return tuple(found)


def _hops(recipe: Recipe) -> tuple[int, int]:
    distances = measure_distances(recipe.topology())
    return distances.diameter, distances.total


def entry_of(recipe: Recipe) -> Entry:
    """Build a topology and return its entry."""
    topology = recipe.topology()
    allgather = score_half(topology)
    alike = topology.is_bidirectional or recipe.is_reverse_symmetric
    reduce_scatter = allgather if alike else score_half(topology.transpose())
    return Entry(
        topology.num_nodes, topology.degree, topology.is_bidirectional, str(recipe),
        Fraction(measure_distances(topology).total, topology.num_nodes), allgather, reduce_scatter,
    )  # fmt: skip


def flow_of(topology: Topology) -> tuple[Fraction, Fraction] | None:
    """Return what all-to-all throughput is proven to lie between; None where that takes more than a moment."""
    exact = exact_all_to_all(topology) if topology.num_links <= FLOW_LINKS else None
    return quick_all_to_all(topology) if exact is None else (exact, exact)


def with_flow(entry: Entry) -> Entry:
    """Return an entry with its all-to-all throughput, or the interval it lies in, where that takes a moment."""
    found = flow_of(parse(entry.recipe).topology())
    return entry if found is None else replace(entry, flow=found[0], flow_bound=found[1])


def score_best(recipes: Iterable[Recipe], most: int | None = None) -> list[Entry]:
    """Return the entries of some recipes, those of shortest distances first, at most ``most``.

    No more are scored after one that is bandwidth-optimal in as few steps as its diameter: the others have no smaller.
    """
    found = []
    for recipe in sorted(recipes, key=_hops)[:most]:
        entry = entry_of(recipe)
        found.append(entry)
        steps = {half[-1].cost.steps for half in (entry.allgather, entry.reduce_scatter)}
        if entry.is_bandwidth_optimal and steps == {entry.diameter}:
            break
    return found


def rescored(entry: Entry) -> Entry:
    """Return an entry with all that its recipe tells now; of two ranges of all-to-all throughput the narrower one."""
    right = with_flow(entry_of(parse(entry.recipe)))
    (low, high), (least, most) = entry.flow_range, right.flow_range
    return _told(entry, right) if high - low <= most - least else right


def is_wide(entry: Entry, gap: Fraction) -> bool:
    """Whether all-to-all throughput is not known within ``gap``."""
    low, high = entry.flow_range
    return high > (1 + gap) * low


def narrowed(entry: Entry, gap: Fraction, seconds: float) -> Entry:
    """Return an entry with all-to-all throughput within ``gap``, or as near as that comes in about ``seconds``."""
    (low, high), found = entry.flow_range, all_to_all(parse(entry.recipe).topology(), gap=gap, seconds=seconds)
    value, bound = rounded(found.value, found.bound)
    if value > high or low > bound:
        short = parse(entry.recipe).short
        raise LinkstepError(f"the catalog says {low}..{high} of all-to-all on {short}; that has {value}..{bound}")
    return replace(entry, flow=max(low, value), flow_bound=min(high, bound))


def _told(entry: Entry, right: Entry) -> Entry:
    """Return what was computed, with what an entry says of all-to-all where that may be so.

    If the two ranges have nothing in common one of them is wrong: then it is the computed one.
    """
    (low, high), (least, most) = entry.flow_range, right.flow_range
    if entry.flow is None or least > high or low > most:
        return right
    return replace(right, flow=entry.flow, flow_bound=entry.flow_bound)


def check_entry(entry: Entry) -> None:
    """Recompute an entry from its recipe; raise unless it says what that has.

    All-to-all throughput must be what is computed, or where that is a range have some of it in common; what takes long
    to compute is taken on trust.
    """
    recipe = parse(entry.recipe)
    right = _told(entry, with_flow(entry_of(recipe)))
    if right != entry:
        raise LinkstepError(f"the catalog says {entry.figures!r} of {recipe.short}; that has {right.figures!r}")
