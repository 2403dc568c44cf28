"""What a baseline is: a row of the table, an algorithm on a family of wirings; and that row for one wiring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from linkstep.baselines.routes import without_repeats
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.notebook import cell_text, html_table
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Topology
from linkstep.core.units import Number, check_count
from linkstep.costs import SIZE, Cost, Fabric, bandwidth_bound, cost_of, seconds_of, usual_fabric
from linkstep.families import Family, family_written
from linkstep.methods.bfb import bfb_cost, is_plain, plain_bfb_cost
from linkstep.methods.transform import check_root, derive, relabel
from linkstep.recipe import Member
from linkstep.scheduling import MAX_ROWS
from linkstep.symmetry.distances import measure_distances
from linkstep.throughput import exact_all_to_all

Args = tuple[Any, ...]
"""The arguments of a family's member: the dimensions of a torus, say."""

MEASURE_LINKS, QUICK_LINKS = 10**8, 10_000
"""Up to this many links, distances are measured, and all-to-all throughput or BFB worked out where it is asked for."""
FEW_NODES = 4096
BUILD_NODES = 128
"""Up to this many nodes, schedules are built to count what hosts carry, where these have a limit."""
ONE_DEPTH = 1
"""The depth of what is not a pipeline."""


def _every(args: Args) -> bool:
    return True


def _no_pipeline(args: Args) -> tuple[int, ...]:
    return (ONE_DEPTH,)


@dataclass(frozen=True)
class RootedAllreduce:
    """A row's allreduce through roots: reduced to them and broadcast from them at once, in a pipeline of pieces.

    Functions take the arguments of the family's member.
    """

    allreduce: Callable[[Topology, Args, int], Schedule]
    halves: Callable[[Args, int], tuple[Cost, Cost]]
    """Until the last piece is complete at its root, and from there on."""
    best_pieces: Callable[[Args, Fabric, Number], int]
    most_pieces: int


class Pipeline(NamedTuple):
    """How deep an allreduce's pipeline is: in pieces through roots or, else, the depth of each half."""

    depth: int
    is_rooted: bool = False

    def __str__(self) -> str:
        if not self.is_rooted:
            return f"depth {self.depth}"
        return f"{self.depth} piece{'s' * (self.depth > 1)} through roots"


@dataclass(frozen=True)
class BaselineAlgorithm:
    """A row of ``BASELINES``: an algorithm, the wirings it runs on, what it costs there and how it is built.

    Functions take the arguments of the family's member; ``depth`` is that of a pipeline. Costs are of the allgather;
    its reverse is the reduce-scatter and costs the same.
    """

    name: str
    title: str
    """What it does, in a line."""
    notation: str
    """The family of its wirings, as the family's row writes it."""
    allgather: Callable[[Topology, Args, int], Schedule]
    """On the wiring or on its transpose."""
    cost: Callable[[Args, int], Cost]
    """With alpha for each hop: that of the schedule."""
    cut_through: Callable[[Args, int], Cost] | None = None
    """With alpha once for a message over several hops; None where all are over one."""
    exists: Callable[[Args], bool] = _every
    """Which members of the family it runs on."""
    depths: Callable[[Args], tuple[int, ...]] = _no_pipeline
    """Those to choose from for each size."""
    least_steps: Callable[[Args, int], int] | None = None
    """What no pipeline of some depth goes below, so that not all depths need be costed."""
    rooted: RootedAllreduce | None = None
    """An allreduce through roots, which is taken where it is faster than a reduce-scatter and an allgather."""
    flow: Callable[[Args], Fraction] | None = None
    """The all-to-all throughput of the wiring, where a formula gives it."""
    in_order: Callable[[Args], tuple[Args, Ids]] | None = None
    """The member whose schedules it has, one wiring for all orders of arguments, and the node here of each there."""
    is_shown: bool = True
    """Whether lists for N and d have it: not on wirings that others with the same ports contain."""
    is_ours: bool = False
    """Whether the schedule is BFB: only the wiring is what people use today."""

    @property
    def key(self) -> str:
        """The name as commands take it: ``torus-rings``."""
        return self.name.lower().replace(" ", "-")

    @property
    def family(self) -> Family:
        """The family of its wirings."""
        return family_written(self.notation)


@dataclass(frozen=True)
class Baseline:
    """A row of the table for one wiring.

    ``cost`` is that of the allgather, and of the reduce-scatter; None of a pipeline, whose depth depends on the size.
    """

    row: BaselineAlgorithm
    recipe: Member
    cost: Cost | None
    flow: Fraction | None = None
    is_flow_reached: bool = False
    """Whether that is its all-to-all throughput, or only what distances allow."""

    @classmethod
    def of(cls, row: BaselineAlgorithm, recipe: Member) -> Baseline:
        """Return a row for one wiring, with its cost and what is quickly known of its throughput."""
        args = recipe.args
        flow = None if row.flow is None else row.flow(args)
        cost = row.cost(args, ONE_DEPTH) if row.depths(args) == (ONE_DEPTH,) else None
        return cls(row, recipe, cost, flow, flow is not None)

    def __repr__(self) -> str:
        return f"<Baseline {self.name} on {self.recipe}: {self.cost or 'a pipeline'}>"

    def _wiring_(self) -> Member:
        return self.recipe

    def _schedule_(self) -> Schedule:
        fabric = usual_fabric(max(self.recipe.degree, 1))
        depth, is_rooted = self.pipeline_for(fabric, SIZE)
        return self.schedule(Collective.ALLREDUCE, depth=depth, is_rooted=is_rooted)

    def _row_(self) -> dict[str, Any]:
        cost = self.cost
        return {
            "name": self.name, "topology": str(self.recipe), "N": self.num_nodes, "d": self.recipe.degree,
            "half_steps": None if cost is None else cost.steps,
            "half_bandwidth": None if cost is None else cost.bandwidth, "flow": self.flow,
        }  # fmt: skip

    def _repr_html_(self) -> str:
        return html_table("baseline", [(name, cell_text(cell)) for name, cell in self._row_().items()])

    @property
    def name(self) -> str:
        """What the algorithm is called."""
        return self.row.name

    @property
    def num_nodes(self) -> int:
        """N of the wiring."""
        return self.recipe.num_nodes

    def measured(self) -> Baseline:
        """Return the baseline with what distances allow of all-to-all throughput, where no formula gives it.

        Only of wirings whose nodes are alike, where one search from a node is enough.
        """
        if self.flow is not None or not self._is_measured:
            return self
        flow = Fraction(self.recipe.degree * self.num_nodes, self._distances[1])
        return replace(self, flow=flow)

    def with_flow(self) -> Baseline:
        """Return the baseline with its all-to-all throughput, exactly, where that is worked out quickly."""
        if self.is_flow_reached or self.num_nodes * self.recipe.degree > QUICK_LINKS:
            return self
        found = exact_all_to_all(self.recipe.topology(keep=False))
        return self if found is None else replace(self, flow=found, is_flow_reached=True)

    def cutting_through(self) -> Baseline:
        """Return the baseline on a fabric that cuts through: a message takes alpha once, however many links it takes.

        It still loads every link of its route. What sends to neighbours only costs the same.
        """
        count = self.row.cut_through
        cost = self.cost if count is None else count(self.recipe.args, ONE_DEPTH)
        return replace(self, cost=cost)

    @property
    def is_duplex(self) -> bool:
        """Whether its wiring is of duplex cables."""
        return self.recipe.family.bidirectional(*self.recipe.args)

    @property
    def takes_several_hops(self) -> bool:
        """Whether some messages go over several links."""
        return self.row.cut_through is not None and self.row.cut_through(self.recipe.args, ONE_DEPTH) != self.row.cost(
            self.recipe.args, ONE_DEPTH
        )

    def depth_for(self, fabric: Fabric, size: Number) -> int:
        """Return the depth of the pipeline that makes an allgather of ``size`` bytes fastest; 1 where there is none.

        The same depth is the best of a reduce-scatter, and of both in a row.
        """
        found = self._best_depth(fabric, size, None)
        assert found is not None
        return found

    def pipeline_for(
        self, fabric: Fabric, size: Number, collective: Collective = Collective.ALLREDUCE
    ) -> Pipeline:  # fmt: skip
        """Return the pipeline that makes a collective of ``size`` bytes fastest; only allreduces go through roots."""
        rooted = self.row.rooted
        if rooted is None or collective is not Collective.ALLREDUCE:
            return Pipeline(self.depth_for(fabric, size))
        pieces = rooted.best_pieces(self.recipe.args, fabric, size)
        up, down = rooted.halves(self.recipe.args, pieces)
        depth = self._best_depth(fabric, size, fabric.time(up + down, Collective.ALLREDUCE, size))
        return Pipeline(pieces, is_rooted=True) if depth is None else Pipeline(depth)

    def _best_depth(self, fabric: Fabric, size: Number, best: Fraction | None) -> int | None:
        """Return the best depth of both halves in a row; None if none is faster than ``best``."""
        row, args = self.row, self.recipe.args
        if self.cost is not None:
            return ONE_DEPTH
        tried = row.depths(args)
        least = {depth: self._least_time(fabric, size, depth) for depth in tried}
        found = None if best is not None else tried[0]
        for depth in sorted(tried, key=lambda depth: least[depth]):
            if best is not None and least[depth] >= best:
                break
            time = self._time(fabric, size, row.cost(args, depth))
            if best is None or time < best:
                best, found = time, depth
        return found

    def _least_time(self, fabric: Fabric, size: Number, depth: int) -> Fraction:
        least = self.row.least_steps
        steps = 0 if least is None else least(self.recipe.args, depth)
        return self._time(fabric, size, Cost(steps, bandwidth_bound(self.num_nodes)))

    def cost_at(self, fabric: Fabric, size: Number) -> Cost:
        """Return the cost of the allgather, and of the reduce-scatter, of ``size`` bytes: of a pipeline, the best."""
        return self.cost or self.row.cost(self.recipe.args, self.depth_for(fabric, size))

    def halves_at(self, fabric: Fabric, size: Number) -> tuple[Cost, Cost]:
        """Return the cost of both halves of the fastest allreduce of ``size`` bytes.

        Those of a reduce-scatter and an allgather or, through roots, until the last piece is at its root and after.
        """
        cut = self._cut_through(fabric)
        if cut is not None or self.cost is not None:
            half = cut or self._within(fabric)
            return half, half
        depth, is_rooted = self.pipeline_for(fabric, size)
        if is_rooted and self.row.rooted is not None:
            return self.row.rooted.halves(self.recipe.args, depth)
        half = self.row.cost(self.recipe.args, depth)
        return half, half

    def allreduce_time(self, fabric: Fabric, size: Number) -> Fraction:
        """Return seconds for the fastest allreduce of ``size`` bytes; what cuts through takes its hops besides."""
        first, second = self.halves_at(fabric, size)
        cut, hops = self._cut_through(fabric), 0
        if cut is not None:
            hops = 2 * (self.row.cost(self.recipe.args, ONE_DEPTH).steps - cut.steps)
        if self.cost is None and fabric.is_limited_by_hosts and self.num_nodes <= BUILD_NODES:
            depth, is_rooted = self.pipeline_for(fabric, size)
            made = self.schedule(Collective.ALLREDUCE, depth=depth, is_rooted=is_rooted)
            return seconds_of(made, fabric, size)
        return fabric.time(first + second, Collective.ALLREDUCE, size) + hops * (fabric.hop or 0)

    def _within(self, fabric: Fabric) -> Cost:
        """Return the cost, with the limit of a fabric's hosts counted.

        What is bandwidth-optimal stays it. Of many nodes the cost is what it is at most, on links that are all slower.
        """
        assert self.cost is not None
        optimal = bandwidth_bound(self.num_nodes)
        if not fabric.is_limited_by_hosts or self.cost.bandwidth == optimal or not self._is_built:
            return self.cost
        return _limited_cost(self, fabric)

    @property
    def _is_built(self) -> bool:
        """Whether its schedule is built to count what hosts carry: of few nodes, and hop by hop as a schedule goes."""
        plain = self.row.cost(self.recipe.args, ONE_DEPTH)
        return self.num_nodes <= BUILD_NODES and self.cost in (None, plain)

    def is_time_exact(self, fabric: Fabric, size: Number) -> bool:
        """Whether ``allreduce_time`` counts a limit of the fabric's hosts as it is; if not, it is the most it can be.

        Without a limit it is exact; so it is of what is bandwidth-optimal, and where schedules are built.
        """
        optimal = bandwidth_bound(self.num_nodes)
        if not fabric.is_limited_by_hosts or all(h.bandwidth == optimal for h in self.halves_at(fabric, size)):
            return True
        return self._is_built and self._cut_through(fabric) is None

    def _cut_through(self, fabric: Fabric) -> Cost | None:
        """Return the cost of each half where the fabric's hosts pass messages on as they come; None where none do."""
        count = self.row.cut_through
        return None if fabric.hop is None or count is None else count(self.recipe.args, ONE_DEPTH)

    def _time(self, fabric: Fabric, size: Number, half: Cost) -> Fraction:
        return fabric.time(half + half, Collective.ALLREDUCE, size)

    def schedule(
        self,
        collective: Collective | str = Collective.ALLREDUCE,
        *,
        root: int = 0,
        depth: int | None = None,
        is_rooted: bool = False,
    ) -> Schedule:
        """Build the schedule of a collective, messages over several hops stored and forwarded.

        Of a pipeline, with the most depth unless another is given; ``is_rooted`` is for an allreduce through roots in
        ``depth`` pieces, N unless given. Where messages take several hops, reductions leave
        out what nodes have already, and cost no more than the row says; all others cost just that.

        >>> from linkstep.baselines import baselines
        >>> swing = next(b for b in baselines(16, 4) if b.name == "Swing" and str(b.recipe) == "Torus(4,4)")
        >>> swing.schedule("allreduce")
        <Schedule allreduce on Torus(4,4): 1920 rows, 8 steps, unit 4>
        """
        collective, depths = Collective(collective), self.row.depths(self.recipe.args)
        if collective.exchanges:
            raise LinkstepError(f"{self.name} makes no {collective}: it gathers and reduces")
        self._check_rows(collective)
        if is_rooted:
            made = self._rooted_allreduce(collective, self.num_nodes if depth is None else depth)
            return replace(made, method=self.row.key)
        chosen = depths[-1] if depth is None else depth
        if chosen not in depths:
            few = ", ".join(map(str, depths[:12])) + (", ..." if len(depths) > 12 else "")
            raise LinkstepError(f"depth of {self.name} on {self.recipe} must be one of {few}, not {depth}")

        def allgather(wiring: Topology) -> Schedule:
            made = self.row.allgather(wiring, self.recipe.args, chosen)
            return without_repeats(made) if collective.reduces and self.takes_several_hops else made

        args, nodes = (self.recipe.args, None) if self.row.in_order is None else self.row.in_order(self.recipe.args)
        if nodes is None or args == self.recipe.args:
            return replace(derive(self.recipe.topology(), collective, allgather, root), method=self.row.key)
        check_root(self.recipe.topology(), root)
        there = replace(self, recipe=Member(self.recipe.family, args))
        made = relabel(there.schedule(collective, depth=depth, root=int(np.flatnonzero(nodes == root)[0])), nodes)
        return replace(made, topology=self.recipe.topology(), method=self.row.key)

    def _rooted_allreduce(self, collective: Collective, pieces: int) -> Schedule:
        rooted = self.row.rooted
        if rooted is None or collective is not Collective.ALLREDUCE:
            raise LinkstepError(f"{self.name} makes no {collective} through roots")
        check_count("depth", pieces, 1, rooted.most_pieces)
        return rooted.allreduce(self.recipe.topology(), self.recipe.args, pieces)

    def _check_rows(self, collective: Collective) -> None:
        """Raise if a schedule could have more rows than a file holds: better at once than after the work."""
        rows = self.num_nodes * (self.num_nodes - 1) * self.recipe.degree * len(collective.phases)
        if rows > MAX_ROWS:
            raise LinkstepError(
                f"{collective} by {self.name} on {self.recipe} takes up to {rows} rows, above the {MAX_ROWS} of a "
                "file: its cost is known without"
            )

    @cached_property
    def ours(self) -> Cost | None:
        """What BFB costs on the same wiring, each half of an allreduce; None where that takes long to work out."""
        family, args = self.recipe.family, self.recipe.args
        if family.bandwidth_optimal(*args):
            hops = family.diameter(*args)
            if hops is None and self._is_measured:
                hops = self._distances[0]
            return None if hops is None else Cost(hops, bandwidth_bound(self.num_nodes))
        if self.num_nodes * self.recipe.degree > QUICK_LINKS or not family.bidirectional(*args):
            return None
        topology = self.recipe.topology(keep=False)
        return plain_bfb_cost(topology) if is_plain(topology) else bfb_cost(topology)

    @property
    def _is_measured(self) -> bool:
        return self.recipe.is_vertex_transitive and self.num_nodes * self.recipe.degree <= MEASURE_LINKS

    @cached_property
    def _distances(self) -> tuple[int, int]:
        """The largest distance, and the sum of all; of few nodes in plain Python, which needs nothing compiled."""
        topology = self.recipe.topology(keep=False)
        if topology.num_nodes > FEW_NODES:
            found = measure_distances(topology)
            return found.diameter, found.total
        heads = topology.head.reshape(topology.num_nodes, -1).tolist()
        reached, front, steps, total = {0}, [0], 0, 0
        while front:
            total += steps * len(front)
            front = list({head for node in front for head in heads[node]} - reached)
            reached.update(front)
            steps += 1
        return steps - 1, total * topology.num_nodes


@lru_cache(maxsize=256)
def _limited_cost(baseline: Baseline, fabric: Fabric) -> Cost:
    """Return the cost of a baseline's allgather where hosts have a limit, by building it."""
    return cost_of(baseline.schedule(Collective.ALLGATHER), fabric)
