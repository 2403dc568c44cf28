"""What no schedule beats on a given wiring: its diameter, and the nodes whose links are the fewest for their data.

In an allgather the shards of a set S of nodes leave S over its outgoing links, so these take |S| / capacity(S) shard
times at least (a shard time is d/N M/B); T_B is no less for any S. A reduce-scatter is an allgather on the transpose.
Where hosts have a limit, what they send and receive goes through one more link each. The largest ratio is found by
flows in whole numbers, the set that has it is the proof, and ``check_wiring_bound`` counts it again. Not here: what
more can be said for a given number of steps (``costs.wiring_steps``), and what N and d alone forbid (``costs.bounds``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.cuts import _tightest_cut
from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.core.distances import check_connected, distance_profiles, distances_from
from linkstep.core.errors import LinkstepError, TopologyError
from linkstep.core.inputs import WiringLike, as_topology
from linkstep.core.memo import Memo
from linkstep.core.notebook import html_table
from linkstep.core.topology import Ints, Topology, check_permanent
from linkstep.core.weights import link_weights
from linkstep.costs.cost import Cost
from linkstep.costs.fabric import check_host_limit
from linkstep.costs.fabric_inputs import FabricLike, as_fabric
from linkstep.symmetry.known import known_representatives

Mask = NDArray[np.bool_]

_SHOWN = 8
"""Names of nodes or links in a line of text, before it only counts them."""
_MANY = 400
"""Nodes for whose flows, one each, it takes longer than to work out which of them are alike."""
_BOUNDED = (Collective.ALLGATHER, Collective.REDUCE_SCATTER, Collective.ALLREDUCE)


@dataclass(frozen=True)
class Wires:
    """The links that carry anything: their ends, and their rates in units of a common part of them."""

    tail: Ints
    head: Ints
    weight: Ints
    fastest: int
    limit: int | None = None
    """What a host sends at most, and receives, in the same units; None: as much as its links."""

    @classmethod
    def of(cls, topology: Topology, width: Fraction | None = None) -> Wires:
        """Leave out self-loops; refuse rates that flows of 64 bits cannot hold."""
        link = np.flatnonzero(topology.tail != topology.head)
        weight, _ = link_weights(topology, link)
        fastest, limit = int(weight.max(initial=1)), None
        if topology.num_nodes * (1 if width is None else width.denominator) * sum(weight.tolist()) >= 2**62:
            raise TopologyError("the bandwidths of links have no common measure: round them, to 1Mbps say")
        if width is not None:
            weight, limit = weight * width.denominator, fastest * width.numerator
            fastest *= width.denominator
        tail, head = (ids[link].astype(np.int64) for ids in (topology.tail, topology.head))
        return cls(tail, head, weight, fastest, limit)

    def split(self, num_nodes: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Return (tail, head, weight, held) for flows: where hosts have a limit, host u sends through node u + N.

        It receives through node u + 2N. ``held`` counts the shards at each node.
        """
        if self.limit is None:
            return self.tail, self.head, self.weight, np.ones(num_nodes, np.int64)
        host = np.arange(num_nodes)
        tail = np.concatenate([host, self.tail + num_nodes, host + 2 * num_nodes])
        head = np.concatenate([host + num_nodes, self.head + 2 * num_nodes, host])
        limits = np.full(num_nodes, self.limit)
        return tail, head, np.concatenate([limits, self.weight, limits]), np.repeat([1, 0, 0], num_nodes)

    def hosts(self, inside: Mask, num_nodes: int) -> tuple[int, ...]:
        """Return the hosts that a cut of ``split`` goes through: they send from inside, or receive outside."""
        if self.limit is None:
            return ()
        at, out, back = inside.reshape(3, num_nodes)
        return tuple(np.flatnonzero((at & ~out) | (back & ~at)).tolist())

    def through(self, end: Ints, num_nodes: int) -> Ints:
        """Return what goes at most through each node at this end of its links: tails for sending."""
        total = np.zeros(num_nodes, np.int64)
        np.add.at(total, end, self.weight)
        return total if self.limit is None else np.minimum(total, self.limit)


@dataclass(frozen=True)
class WiringBound:
    """The least T_L and T_B of a collective on a topology, and the set S of nodes that proves T_B.

    Of an allgather, ``nodes`` are those whose links to the others are the fewest for their shards; of a reduce-scatter,
    those whose links *from* the others are. An allreduce whose reduction ends before its gathering begins takes no less
    than its two ``halves`` together; one that lets them overlap may take less, and ``cost`` is what it takes at least:
    ``nodes`` then have the fewest links to the others for all N shards, or are none where the number of all links
    decides.

    >>> from linkstep import wiring_bound
    >>> wiring_bound("K_{2,2}", "allreduce")
    <WiringBound of allreduce on <Topology 'K_{2,2}' N=4 d=2 links=8>: 4 alpha + 3/2 M/B>
    """

    topology: Topology
    collective: Collective
    cost: Cost
    nodes: tuple[int, ...]
    halves: tuple[WiringBound, ...] = ()
    width: Fraction | None = None
    """How many of the fastest links a host keeps busy at once, each way; None: all it has."""
    hosts: tuple[int, ...] = ()
    """Those whose limit counts in place of their links: what those among ``nodes`` send, and the others receive."""

    def __repr__(self) -> str:
        return f"<WiringBound of {self.collective} on {self.topology!r}: {self.cost}>"

    def _wiring_(self) -> Topology:
        return self.topology

    def _repr_html_(self) -> str:
        fields = [("no schedule beats", self.cost), ("why", self.explain())]
        return html_table(f"{self.collective} on {self.topology.name or 'a topology'}", fields)

    @property
    def sequential(self) -> Cost:
        """What it takes at least where halves do not overlap; ``cost`` where there are none."""
        return sum((half.cost for half in self.halves), Cost.zero()) if self.halves else self.cost

    @cached_property
    def links(self) -> tuple[int, ...]:
        """The links that are too few: out of ``nodes``, of a reduce-scatter into them; all, if there are no nodes.

        Without those of ``hosts``, whose limit counts instead.
        """
        begin, end = self.topology.tail, self.topology.head
        if self.collective is Collective.REDUCE_SCATTER:
            begin, end = end, begin
        crosses = begin != end
        if self.nodes:
            inside = self._mask(self.nodes)
            crosses = inside.take(begin) > inside.take(end)  # begin inside, end not
        if self.hosts:
            limited = self._mask(self.hosts)
            crosses &= ~(limited[begin] | limited[end]) if self.nodes else ~limited[begin]
        return tuple(crosses.nonzero()[0].tolist())

    def _mask(self, nodes: tuple[int, ...]) -> Mask:
        mask = np.zeros(self.topology.num_nodes, bool)
        mask.put(nodes, True)
        return mask

    def explain(self) -> str:
        """Say why no schedule takes less bandwidth.

        >>> wiring_bound(Topology.from_links(3, [0, 1, 2, 1], [1, 2, 0, 0])).explain()
        'node 1 gets the 2 shards of the others over 1 link (0 -> 1)'
        """
        if self.topology.num_nodes == 1:
            return "one node has all there is"
        over = f"over {' and '.join(filter(None, (self._hosts_text(), self._links_text())))}"
        total = self.topology.num_nodes
        count = len(self.nodes)
        if not self.nodes:
            return f"{2 * (total - 1)} transfers for each of {total} shards go {over}"
        few = min(self.nodes, set(range(total)) - set(self.nodes), key=len)
        others, them = len(few) < count, _names(self.topology, sorted(few))
        verb = "s" if len(few) == 1 else ""
        if self.collective is Collective.ALLREDUCE:
            way = f"from the others to {them}" if others else f"from {them} to the others"
            return f"a part of each of the {total} shards goes {way} {over}"
        if self.collective is Collective.REDUCE_SCATTER:
            if others:
                return f"{them} add{verb} to the {count} shards of the others {over}"
            return f"{them} get{verb} what the others add to {_shards(count)} {over}"
        if others:
            return f"{them} get{verb} the {_shards(count)} of the others {over}"
        return f"{them} send{verb} {_shards(count)} to the others {over}"

    def _hosts_text(self) -> str:
        if not self.hosts:
            return ""
        each = " on each" if len(self.hosts) > 1 else ""
        return f"the ports of {_names(self.topology, list(self.hosts))}, limited together{each}"

    def _links_text(self) -> str:
        topology, links = self.topology, self.links
        if self.hosts and not links:
            return ""
        text = f"{len(links)} link{'' if len(links) == 1 else 's'}"
        if topology.bandwidth is not None:
            rates = topology.bandwidth[list(links)]
            fastest = int(topology.bandwidth[topology.tail != topology.head].max())
            if (rates != fastest).any():
                text += f" worth {float(Fraction(sum(rates.tolist()), fastest)):.4g} of the fastest"
        if len(links) > _SHOWN:
            return text
        ends = [(topology.host(int(topology.tail[e])), topology.host(int(topology.head[e]))) for e in links]
        return f"{text} ({', '.join(f'{u} -> {w}' for u, w in ends)})"


def _shards(count: int) -> str:
    return "1 shard" if count == 1 else f"{count} shards"


def _names(topology: Topology, nodes: list[int]) -> str:
    if len(nodes) == 1:
        return topology.called(nodes[0])
    names = [topology.host(u) for u in nodes[:_SHOWN]]
    return f"nodes {', '.join(names)}" if len(nodes) <= _SHOWN else f"{len(nodes)} nodes ({', '.join(names)}, ...)"


_BOUNDS: Memo[WiringBound] = Memo()


def has_wiring_bound(collective: Collective) -> bool:
    """Whether there is a wiring bound of a collective: of those in which every node has a shard."""
    return collective in _BOUNDED


def wiring_bound(
    topology: WiringLike, collective: Collective | str = Collective.ALLGATHER, fabric: FabricLike | None = None
) -> WiringBound:
    """Return the least T_L and T_B that any schedule of a collective can have on a topology, with a proof of T_B.

    Links run at the rates of the topology, self-loops carry nothing, and T_B is in M/B as that of schedules is. Where
    the hosts of a fabric have a limit, it counts, as it does in ``cost_of``.

    >>> square = Topology.from_links(4, [0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2])  # a cable of the ring is cut
    >>> bound = wiring_bound(square)
    >>> bound.cost, bound.nodes, bound.links
    (Cost(steps=3, bandwidth=Fraction(3, 2)), (1, 2, 3), (1,))
    """
    topology = as_topology(topology)
    wanted = Collective(check_kind("collective", collective, str))
    if wanted not in _BOUNDED:
        raise LinkstepError(f"a wiring bounds {', '.join(_BOUNDED)}, not {wanted}")
    check_permanent(topology, "the wiring's bound")
    wires = None if fabric is None else as_fabric(fabric)
    check_host_limit(topology, wires, "the wiring's bound")
    width = None if wires is None else wires.width(topology)
    return _bound(topology, wanted, width)


def _bound(topology: Topology, wanted: Collective, width: Fraction | None) -> WiringBound:
    return _BOUNDS.find(topology, lambda: _found(topology, wanted, width), (wanted, width))


def _found(topology: Topology, collective: Collective, width: Fraction | None) -> WiringBound:
    check_connected(topology)
    found = _both(topology, width) if collective is Collective.ALLREDUCE else _one_way(topology, collective, width)
    check_wiring_bound(found)
    return found


def _one_way(topology: Topology, collective: Collective, width: Fraction | None) -> WiringBound:
    """Return the bound of an allgather, or of a reduce-scatter: that of an allgather on the transpose."""
    if topology.num_nodes == 1:
        return WiringBound(topology, collective, Cost.zero(), (), width=width)
    oriented = topology.transpose() if collective is Collective.REDUCE_SCATTER else topology
    nodes, hosts = _tightest(oriented, width)
    steps = int(_eccentricities(topology).max())
    found = WiringBound(topology, collective, Cost(steps, Fraction(0)), nodes, width=width, hosts=hosts)
    return WiringBound(topology, collective, Cost(steps, _bandwidth(found)), nodes, width=width, hosts=hosts)


def _all_alike(topology: Topology, wires: Wires) -> bool:
    """Whether no set of nodes has less capacity out than one node has, so that all but one node are the worst.

    So it is in a connected vertex-transitive graph without parallel links (the proof is in
    docs/concepts/wiring-bound.md): a set has as many links out, or one that goes through a host with
    a limit has at least that limit.
    """
    if not topology.vertex_transitive or topology.num_parallel:
        return False
    return bool((wires.weight == wires.fastest).all())


def _tightest(topology: Topology, width: Fraction | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the set S with the most |S| / capacity out of S; where single nodes are as bad as any, all but one.

    And the hosts whose limit counts.
    """
    wires, n = Wires.of(topology, width), topology.num_nodes
    into = wires.through(wires.head, n)
    worst = int(into.argmin())
    tail, head, weight, held = wires.split(n)
    inside = np.ones(held.size, bool)
    inside[worst] = False
    if wires.limit is not None and into[worst] < wires.limit:
        inside[worst + 2 * n] = False  # its links are fewer than its limit
    if not _all_alike(topology, wires):
        sinks = _by_distance(topology, worst)
        known = _representatives(topology)  # of nodes that are alike one is enough
        sinks = sinks if known is None else sinks[np.isin(sinks, known)]
        _tightest_cut(tail, head, weight, sinks, False, held, 0, n - 1, int(into[worst]), inside)
    return tuple(np.flatnonzero(inside[:n]).tolist()), wires.hosts(inside, n)


def _by_distance(topology: Topology, first: int) -> Ints:
    """Return all nodes, nearest to the first one first: most then have links from earlier ones."""
    return np.argsort(distances_from(topology, first), kind="stable").astype(np.int64)


def _both(topology: Topology, width: Fraction | None) -> WiringBound:
    """Return the bound of an allreduce, whether or not its halves overlap.

    Each chunk is added up at some node, its root, and sent out from there. So T_L is at least the way from the farthest
    node to the best root and then on to the farthest from it; N - 1 transfers bring a shard's parts together and N - 1
    spread it; and for every set S of nodes a part of each of the N shards leaves S: to be added, or to be spread.
    """
    collective = Collective.ALLREDUCE
    halves = tuple(_bound(topology, half, width) for half in (Collective.REDUCE_SCATTER, Collective.ALLGATHER))
    if topology.num_nodes == 1:
        return WiringBound(topology, collective, Cost.zero(), (), halves, width)
    steps = int((_eccentricities(topology) + _eccentricities(topology.transpose())).min())
    least = Cost(steps, Fraction(0))
    cuts = [((), _limited(topology, width)), _least_cut(topology, width)]
    known = [WiringBound(topology, collective, least, nodes, halves, width, hosts) for nodes, hosts in cuts]
    best = max(known, key=_bandwidth)
    return replace(best, cost=Cost(steps, _bandwidth(best)))


def _limited(topology: Topology, width: Fraction | None) -> tuple[int, ...]:
    """Return the hosts that send less than their links could."""
    if width is None:
        return ()
    wires, n = Wires.of(topology, width), topology.num_nodes
    assert wires.limit is not None
    return tuple(np.flatnonzero(replace(wires, limit=None).through(wires.tail, n) > wires.limit).tolist())


def _least_cut(topology: Topology, width: Fraction | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a set of nodes whose outgoing links have the least capacity of all sets, and the hosts that limit it."""
    n = topology.num_nodes
    found = []
    for oriented in (topology, topology.transpose()):  # sets with node 0; sets without it
        wires = Wires.of(oriented, width)
        out = int(wires.through(wires.tail, n)[0])
        tail, head, weight, held = wires.split(n)
        inside = np.arange(held.size) == 0
        if wires.limit is not None and out < wires.limit:
            inside[n] = True  # its links are fewer than its limit
        if not _all_alike(topology, wires):
            sinks = _by_distance(oriented, 0)
            none = np.zeros_like(held)
            _, out = _tightest_cut(tail, head, weight, sinks, True, none, n, n, out, inside)
        within = inside[:n] if oriented is topology else ~inside[:n]
        found.append((out, tuple(np.flatnonzero(within).tolist()), wires.hosts(inside, n)))
    _, nodes, hosts = min(found, key=lambda cut: cut[0])
    return nodes, hosts


def _representatives(topology: Topology) -> Ints | None:
    """Return nodes that look like every node, where they are known and asking for them pays; else None."""
    pays = topology.vertex_transitive or topology.num_nodes >= _MANY
    return known_representatives(topology) if pays else None


def _eccentricities(topology: Topology) -> Ints:
    """Return how far the farthest node is from each, along links to it; of one node of those known to be alike."""
    profiles = distance_profiles(topology, _representatives(topology))
    return np.asarray((profiles > 0).sum(axis=1) - 1, np.int64)


def _bandwidth(bound: WiringBound) -> Fraction:
    """Return the T_B that the links of a bound allow, shards that cross over capacity."""
    topology, n = bound.topology, bound.topology.num_nodes
    if n == 1:
        return Fraction(0)
    fastest, links = 1, len(bound.links)
    if topology.bandwidth is not None:
        fastest = int(topology.bandwidth[topology.tail != topology.head].max())
        links = sum(topology.bandwidth[list(bound.links)].tolist())
    shards = len(bound.nodes)
    if bound.collective is Collective.ALLREDUCE:
        shards = n if bound.nodes else 2 * n * (n - 1)
    if bound.width is None:
        return Fraction(shards * fastest * topology.degree, links * n)
    return shards * fastest * bound.width / ((links + len(bound.hosts) * bound.width * fastest) * n)


def check_wiring_bound(bound: WiringBound) -> None:
    """Raise a ``LinkstepError`` unless a bound's nodes prove its T_B, by counting links and nothing else.

    >>> check_wiring_bound(wiring_bound(Topology.from_links(3, [0, 1, 2], [1, 2, 0])))
    """
    n = bound.topology.num_nodes
    allreduce = bound.collective is Collective.ALLREDUCE
    least = 0 if n == 1 or allreduce else 1
    numbers = set(bound.nodes)
    if len(numbers) != len(bound.nodes) or not least <= len(numbers) < n or not numbers <= set(range(n)):
        raise LinkstepError("not a proof of this wiring bound: its nodes are not some of the topology's, but not all")
    if bound.hosts and (bound.width is None or not set(bound.hosts) <= set(range(n))):
        raise LinkstepError("not a proof of this wiring bound: it counts a limit of hosts that have none")
    proven = _bandwidth(bound)
    if proven != bound.cost.bandwidth:
        raise LinkstepError(f"not a proof of this wiring bound: its nodes prove {proven}, not {bound.cost.bandwidth}")
    for half in bound.halves:
        check_wiring_bound(half)
