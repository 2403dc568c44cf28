"""The table of what people use today, and its rows for some N and d, or for one wiring.

A new baseline is a row of ``BASELINES``: the first row of a family is the schedule in common use on those wirings. How
messages over several hops are charged is said in ``routes``; docs/concepts/baselines.md describes every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np

from linkstep.baselines.bruck import (
    circulant_bruck_cost,
    circulant_bruck_cut_through_cost,
    circulant_bruck_turns,
    torus_bruck_turns,
)
from linkstep.baselines.doubling import (
    doubling_turns,
    hypercube_doubling_cost,
    twisted_doubling_cost,
    twisted_doubling_cut_through_cost,
)
from linkstep.baselines.rings import (
    along_cycles,
    cube_cycle,
    one_way_cycles,
    shifted_cycles,
    snake_cycles,
    two_way_cycles,
)
from linkstep.baselines.routes import Part, cut_through_cost, routed_allgather, store_and_forward_cost
from linkstep.baselines.row import FEW_NODES, QUICK_LINKS, Args, Baseline, BaselineAlgorithm, RootedAllreduce
from linkstep.baselines.swing import has_swing, swing_cost, swing_cut_through_cost, swing_parts
from linkstep.baselines.tori import torus_flow, torus_rings_allgather, torus_rings_cost
from linkstep.baselines.trees import (
    MOST_PIECES,
    best_pieces,
    depths,
    least_steps,
    tree_allgather,
    tree_allreduce,
    tree_cost,
    tree_halves,
)
from linkstep.core.arguments import check_flag, check_kind
from linkstep.core.errors import LinkstepError
from linkstep.core.frames import Table
from linkstep.core.inputs import WiringLike, as_wiring
from linkstep.core.schedule import Schedule
from linkstep.core.tables import Rows
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.core.units import check_count
from linkstep.costs import Cost, bandwidth_bound
from linkstep.families import family_written
from linkstep.families.mesh import mesh_size
from linkstep.families.torus import torus
from linkstep.methods.bfb import MAX_DEGREE, bfb_allgather
from linkstep.problem import MAX_NODES
from linkstep.recipe import Member

TREE_NODES = 2**14
"""The most nodes of a double binary tree whose pipelines are costed."""

PROVEN_LINKS = 10**6
"""The most links of two shifted rings, which are bandwidth-optimal, whose diameter is measured."""

Cycles = Callable[..., list[Ints]]
Allgather = Callable[[Topology, Args, int], Schedule]


def _round(cycles: Cycles) -> Allgather:
    return lambda topology, args, depth: along_cycles(topology, cycles(topology, *args))


def _routed(parts: Callable[[Topology, Args], Sequence[Part]]) -> Allgather:
    return lambda topology, args, depth: routed_allgather(topology, parts(topology, args))


def _ring_cost(size: int, idle: int = 1) -> Cost:
    """Return the cost of going round a ring, with one port of ``idle`` at work."""
    return Cost(size - 1, idle * bandwidth_bound(size))


def _is_grid(dims: Args) -> bool:
    """Whether a torus is one of its own: with one dimension it is a ring, with all of size 2 a hypercube."""
    return len(dims) > 1 and max(dims) > 2


def _ascending(dims: Args) -> tuple[Args, Ids]:
    """Return the torus with these dimensions in ascending order, and the node here of each node there.

    What rings and rounds cost depends on the order in which they take dimensions: so one wiring has one schedule,
    however its dimensions are written.
    """
    axes = sorted(range(len(dims)), key=lambda axis: dims[axis])
    nodes = np.arange(prod(dims)).reshape(dims).transpose(axes).ravel().astype(np.int32)
    return tuple(dims[axis] for axis in axes), nodes


def _of_ascending(cost: Callable[[Args], Cost]) -> Callable[[Args, int], Cost]:
    return lambda dims, depth: cost(tuple(sorted(dims)))


@lru_cache(maxsize=1024)
def _torus_bruck_cost(dims: Args, count: Callable[[Topology, Sequence[Part]], Cost]) -> Cost:
    wiring = torus(*dims)
    return count(wiring, [torus_bruck_turns(wiring, dims)])


def _shifted_bfb_cost(args: Args, depth: int) -> Cost:
    cost = Baseline(_SHIFTED, Member(_SHIFTED.family, args), None).ours
    assert cost is not None  # there are few enough links
    return cost


def _without_wirings(row: BaselineAlgorithm) -> str | None:
    """Return that a row has no family of wirings, or None."""
    try:
        family_written(row.notation)
    except LinkstepError as error:
        return str(error)
    return None


_SHIFTED = BaselineAlgorithm(
    name="shifted rings",
    title="d / 2 rings with other jumps, each in both directions with its part of the data (TopoOpt)",
    notation="ShiftedRing(d,n)",
    allgather=_round(shifted_cycles),
    cost=lambda args, depth: _ring_cost(args[1]),
    exists=lambda args: args[0] >= 4,  # with two ports it is a bidirectional ring
)

BASELINES = Rows(
    BaselineAlgorithm,
    "baseline",
    (
        BaselineAlgorithm(
            name="ring",
            title="d parallel rings one way, as NCCL's",
            notation="UniRing(d,m)",
            allgather=_round(one_way_cycles),
            cost=lambda args, depth: _ring_cost(args[1]),
            flow=lambda args: Fraction(2 * args[0], args[1] * (args[1] - 1)),  # d links against all distances
        ),
        BaselineAlgorithm(
            name="bidirectional ring",
            title="d / 2 parallel rings, half of the data each way, as NCCL's",
            notation="BiRing(d,m)",
            allgather=_round(two_way_cycles),
            cost=lambda args, depth: _ring_cost(args[1]),
            flow=lambda args: Fraction(args[0], args[1] ** 2 // 4),
        ),
        _SHIFTED,
        BaselineAlgorithm(
            name="shifted BFB rings",
            title="the wiring of shifted rings with our schedule, breadth-first broadcast (ShiftedBFBRing)",
            notation="ShiftedRing(d,n)",
            allgather=lambda topology, args, depth: bfb_allgather(topology),
            cost=_shifted_bfb_cost,
            exists=lambda args: args[0] >= 4 and args[0] * args[1] <= (PROVEN_LINKS if args[0] == 4 else QUICK_LINKS),
            is_ours=True,
        ),
        BaselineAlgorithm(
            name="Bruck",
            title="log2 N rounds at distances 1, 2, 4, ...; most over several hops",
            notation="ShiftedRing(d,n)",
            allgather=_routed(lambda topology, args: [circulant_bruck_turns(topology, *args)]),
            cost=lambda args, depth: circulant_bruck_cost(*args),
            cut_through=lambda args, depth: circulant_bruck_cut_through_cost(*args),
            exists=lambda args: args[0] >= 4 and args[1] <= 2**17,
        ),
        BaselineAlgorithm(
            name="torus rings",
            title="rings along one dimension after the other, all dimensions at once (traditional)",
            notation="Torus(d1,d2,...)",
            allgather=lambda topology, args, depth: torus_rings_allgather(topology, args),
            cost=_of_ascending(torus_rings_cost),
            in_order=_ascending,
            exists=_is_grid,
            flow=torus_flow,
        ),
        BaselineAlgorithm(
            name="Swing",
            title="halving and doubling with partners that stay close, on all ports",
            notation="Torus(d1,d2,...)",
            allgather=_routed(swing_parts),
            cost=_of_ascending(swing_cost),
            in_order=_ascending,
            cut_through=_of_ascending(swing_cut_through_cost),
            exists=lambda args: _is_grid(args) and has_swing(args),
            flow=torus_flow,
        ),
        BaselineAlgorithm(
            name="Bruck",
            title="log2 N rounds at distances 1, 2, 4, ... of node numbers; most over several hops",
            notation="Torus(d1,d2,...)",
            allgather=_routed(lambda topology, args: [torus_bruck_turns(topology, args)]),
            cost=_of_ascending(lambda args: _torus_bruck_cost(args, store_and_forward_cost)),
            in_order=_ascending,
            cut_through=_of_ascending(lambda args: _torus_bruck_cost(args, cut_through_cost)),
            exists=lambda args: _is_grid(args) and prod(args) <= FEW_NODES,
            flow=torus_flow,
        ),
        BaselineAlgorithm(
            name="snake ring",
            title="one ring through all nodes, out along a row and back like a snake, half of the data each way",
            notation="Mesh(d1,d2,...)",
            allgather=_round(snake_cycles),
            cost=lambda dims, depth: Cost(prod(dims) - 1, bandwidth_bound(prod(dims)) * mesh_size(*dims)[1] / 2),
            exists=lambda dims: len(dims) > 1 and prod(dims) % 2 == 0,
            is_shown=False,
        ),
        BaselineAlgorithm(
            name="recursive doubling",
            title="recursive halving and doubling, one dimension after the other",
            notation="Q(n)",
            allgather=_routed(lambda topology, args: [doubling_turns(topology, *args)]),
            cost=lambda args, depth: hypercube_doubling_cost(*args),
            flow=lambda args: Fraction(2, 2 ** args[0]),  # all links are alike
        ),
        BaselineAlgorithm(
            name="NCCL ring",
            title="one ring through all nodes, one way: one port at work",
            notation="Q(n)",
            allgather=_round(cube_cycle),
            cost=lambda args, depth: _ring_cost(2 ** args[0], args[0]),
            exists=lambda args: args[0] >= 2,
            flow=lambda args: Fraction(2, 2 ** args[0]),
        ),
        BaselineAlgorithm(
            name="recursive doubling",
            title="recursive halving and doubling as on a hypercube; four nodes have partners two hops away",
            notation="TwistedHypercube(n)",
            allgather=_routed(lambda topology, args: [doubling_turns(topology, *args)]),
            cost=lambda args, depth: twisted_doubling_cost(*args),
            cut_through=lambda args, depth: twisted_doubling_cut_through_cost(*args),
        ),
        BaselineAlgorithm(
            name="NCCL ring",
            title="one ring through all nodes, one way: one port at work",
            notation="TwistedHypercube(n)",
            allgather=_round(cube_cycle),
            cost=lambda args, depth: _ring_cost(2 ** args[0], args[0]),
        ),
        BaselineAlgorithm(
            name="double binary tree",
            title="half of the data over each of NCCL's two trees at once, up and down in a pipeline as the size wants",
            notation="DoubleBinaryTree(n)",
            allgather=lambda topology, args, depth: tree_allgather(topology, args[0], depth),
            cost=lambda args, depth: tree_cost(args[0], depth),
            exists=lambda args: args[0] <= TREE_NODES,
            depths=lambda args: depths(args[0]),
            least_steps=lambda args, depth: least_steps(args[0], depth),
            rooted=RootedAllreduce(
                allreduce=lambda topology, args, pieces: tree_allreduce(topology, args[0], pieces),
                halves=lambda args, pieces: tree_halves(args[0], pieces),
                best_pieces=lambda args, fabric, size: best_pieces(args[0], fabric, size),
                most_pieces=MOST_PIECES,
            ),
        ),
    ),
    key=lambda row: f"{row.key} on {row.notation}",
    check=_without_wirings,
)


class Baselines(Table[Baseline]):
    """Baselines, one after the other."""

    __slots__ = ()
    title = "baselines"


def _checked_size(num_nodes: int, degree: int) -> tuple[int, int]:
    return (
        check_count("the number of nodes", num_nodes, 1, MAX_NODES),
        check_count("the degree", degree, 1, MAX_DEGREE),
    )


def _members(num_nodes: int, degree: int, directed: bool) -> Iterator[tuple[BaselineAlgorithm, Member]]:
    check_flag("directed", directed)
    num_nodes, degree = _checked_size(num_nodes, degree)
    for row in BASELINES:
        if not row.is_shown:
            continue
        for args in row.family.members(num_nodes, degree):
            if row.exists(args) and (directed or row.family.bidirectional(*args)):
                yield row, Member(row.family, args)


def baselines(num_nodes: int, degree: int, *, directed: bool = False) -> Baselines:
    """Return the baselines that exist for N nodes and d ports: every algorithm on every wiring of duplex cables.

    With ``directed``, on wirings of one-way fibres too.

    >>> [(b.name, str(b.recipe)) for b in baselines(12, 4)]  # doctest: +NORMALIZE_WHITESPACE
    [('bidirectional ring', 'BiRing(4,12)'), ('shifted rings', 'ShiftedRing(4,12)'),
     ('shifted BFB rings', 'ShiftedRing(4,12)'), ('Bruck', 'ShiftedRing(4,12)'), ('torus rings', 'Torus(2,2,3)'),
     ('torus rings', 'Torus(3,4)'), ('Bruck', 'Torus(2,2,3)'), ('Bruck', 'Torus(3,4)'),
     ('double binary tree', 'DoubleBinaryTree(12)')]
    """
    return Baselines(Baseline.of(row, recipe) for row, recipe in _members(num_nodes, degree, directed))


def usual_baselines(num_nodes: int, degree: int, *, directed: bool = False) -> Baselines:
    """Return the schedule in common use on every wiring for N nodes and d ports, with its all-to-all throughput.

    Wirings are of duplex cables or, with ``directed``, of one-way fibres too.

    >>> [f"{b.name} on {b.recipe}" for b in usual_baselines(8, 3)]  # doctest: +NORMALIZE_WHITESPACE
    ['torus rings on Torus(2,4)', 'recursive doubling on Q(3)',
     'recursive doubling on TwistedHypercube(3)']
    """
    first: dict[Member, BaselineAlgorithm] = {}
    for row, recipe in _members(num_nodes, degree, directed):
        first.setdefault(recipe, row)
    return Baselines(Baseline.of(row, recipe).measured() for recipe, row in first.items())


def baselines_on(recipe: WiringLike) -> Baselines:
    """Return the baselines on one wiring; none where the table has no row for it.

    >>> from linkstep.recipe import parse
    >>> [b.name for b in baselines_on(parse("Torus(8,4)"))]
    ['torus rings', 'Swing', 'Bruck']
    """
    wiring = as_wiring(recipe, "recipe")
    if not isinstance(wiring, Member):
        return Baselines()
    rows = [row for row in BASELINES if row.family == wiring.family and row.exists(wiring.args)]
    return Baselines(Baseline.of(row, wiring) for row in rows)


def baseline(name: str, recipe: WiringLike) -> Baseline:
    """Return one algorithm on one wiring; ``name`` as the table has it, or as commands take it.

    >>> print(baseline("torus-rings", "Torus(3,3,2)").cost)
    5 alpha + 95/54 M/B
    """
    check_kind("the name of a baseline", name, str)
    wiring = as_wiring(recipe, "recipe")
    found = baselines_on(wiring)
    for one in found:
        if name in (one.name, one.row.key):
            return one
    here = ", ".join(one.row.key for one in found) or "none"
    raise LinkstepError(f"no baseline called {name!r} runs on {wiring}; those that do: {here}")
