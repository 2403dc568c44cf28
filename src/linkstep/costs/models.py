"""What loads are worth: the one place where a schedule, a fabric and a size become seconds, or a cost.

A step lasts until everything in it has arrived: as long as the slowest of the rows of ``MODELS`` says, and what the
rows that add say besides. Each row is a limit that real machines have, and names the members of a fabric file that
switch it on. To add one, write its function and its row here, and its number in ``Fabric`` and in
``costs.fabric_files``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linkstep.core.arguments import check_kind
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Ints
from linkstep.core.units import Number, parse_bandwidth, parse_size
from linkstep.costs.cost import Cost
from linkstep.costs.fabric import Fabric, LinkKinds
from linkstep.costs.loads import Carried, Loads, busiest_links, loads_of, whole_of


@dataclass(frozen=True)
class StepLoads:
    """What decides how long one step takes: of links, and of hosts, that are alike only the busiest."""

    links: tuple[tuple[Fraction, Fraction, int, Fraction], ...] = ()
    """(alpha, rate, messages, bits) of links."""
    hosts: tuple[tuple[Fraction, Fraction], ...] = ()
    """(alpha, bits) of hosts that send or receive: alpha is the least of the links that they use."""
    switches: bool = False
    """Whether a link that is used opens at this step, after the first."""


@dataclass(frozen=True)
class CostModel:
    """A row of ``MODELS``: what it counts, the members of a fabric file that it needs, and seconds of one step."""

    name: str
    title: str
    members: tuple[str, ...]
    step: Callable[[StepLoads, Fabric], Fraction]
    adds: bool = False
    """Whether its seconds come on top of what the others take, rather than at the same time."""


def _links(loads: StepLoads, fabric: Fabric) -> Fraction:
    """A link is done after its alpha, its messages one by one, and its bits at its rate; an empty step takes alpha."""
    return max((a + count * fabric.message + bits / rate for a, rate, count, bits in loads.links), default=fabric.alpha)


def _hosts(loads: StepLoads, fabric: Fabric) -> Fraction:
    """A host is done after the least alpha of its links, and the bits of all its links together at its own rate."""
    rate = fabric.host_bandwidth
    return Fraction(0) if rate is None else max((a + bits / rate for a, bits in loads.hosts), default=Fraction(0))


def _switching(loads: StepLoads, fabric: Fabric) -> Fraction:
    """A step whose links open only then begins when they are there."""
    return fabric.switching if loads.switches else Fraction(0)


MODELS = (
    CostModel("links", "a link's alpha, messages and bits", ("alpha", "bandwidth", "message"), _links),
    CostModel("hosts", "all ports of a host together, in and out", ("host_bandwidth",), _hosts),
    CostModel("switching", "opening links between two steps", ("switching",), _switching, adds=True),
)
"""What a step takes. What a call takes besides (overhead, reductions) is ``Fabric.time``'s."""


def seconds_of(schedule: Schedule, fabric: Fabric, size: Number) -> Fraction:
    """Return how long one call of a schedule takes with ``size`` bytes in all, exactly.

    Links that have rates or latencies of their own keep them; what a topology does not say comes from the fabric, whose
    links run at B/d whatever the ports of the topology. Reductions are counted as ``Fabric.time`` counts them.

    >>> import linkstep
    >>> allreduce = linkstep.parse("K_{4,4}").build("allreduce")
    >>> [int(seconds_of(allreduce, linkstep.Fabric.of("10us", "100Gbps", 4, host_bandwidth=h), "1MB") * 10**6)
    ...  for h in (None, "50Gbps")]
    [180, 320]
    """
    check_kind("fabric", fabric, Fabric)
    loads, kinds = loads_of(schedule), fabric.links_of(schedule.topology)
    bits = 8 * parse_size(size) / loads.whole
    steps = _step_loads(loads, kinds, bits, hosts=fabric.host_bandwidth is not None, apart=bool(fabric.message))
    total = sum((_step_seconds(step, fabric) for step in steps), fabric.overhead)
    if fabric.reduction_bandwidth is None:
        return total
    return total + fabric.reduction_time(cost_of(schedule, fabric), schedule.collective, size)


def _step_seconds(step: StepLoads, fabric: Fabric) -> Fraction:
    limits = max(model.step(step, fabric) for model in MODELS if not model.adds)
    return sum((model.step(step, fabric) for model in MODELS if model.adds), limits)


def _step_loads(loads: Loads, kinds: LinkKinds, bits: Fraction, *, hosts: bool, apart: bool) -> list[StepLoads]:
    """Return what decides each step; links of one kind are kept ``apart`` by their messages where these count."""
    messages = loads.messages if apart else np.zeros_like(loads.messages)
    links: list[list[tuple[Fraction, Fraction, int, Fraction]]] = [[] for _ in range(loads.num_steps)]
    for step, kind, count, amount in _most(loads.links, kinds.of[loads.links.place], messages):
        links[step - 1].append((kinds.alpha[kind], kinds.rate[kind], count, amount * bits))
    found: list[list[tuple[Fraction, Fraction]]] = [[] for _ in links]
    if hosts:
        for carried, end in ((loads.sent, loads.topology.tail), (loads.received, loads.topology.head)):
            kind_of = _least_kinds(loads, carried, kinds.of, end)
            for step, kind, _, amount in _most(carried, kind_of, np.zeros_like(kind_of)):
                found[step - 1].append((kinds.alpha[kind], amount * bits))
    switches = _switching_steps(loads)
    return [
        StepLoads(tuple(a), tuple(b), step in switches) for step, (a, b) in enumerate(zip(links, found, strict=True), 1)
    ]


def _switching_steps(loads: Loads) -> set[int]:
    """Return the steps after the first at which a link that is used opens."""
    if loads.topology.opens is None:
        return set()
    step = loads.links.step
    return set(step[(loads.topology.opens[loads.links.place] == step) & (step > 1)].tolist())


def _most(carried: Carried, kind: Ints, count: Ints) -> list[tuple[int, int, int, int]]:
    """Return (step, kind, count, amount): the most that any place of this kind and count carries at this step."""
    if not len(carried):
        return []
    order = np.lexsort((carried.amount, count, kind, carried.step))
    rows = np.stack([carried.step, kind, count, carried.amount])[:, order]
    last = np.append((rows[:3, 1:] != rows[:3, :-1]).any(axis=0), True)
    return [(a, b, c, d) for a, b, c, d in rows[:, last].T.tolist()]


def _least_kinds(loads: Loads, carried: Carried, kind: Ints, end: Ids) -> Ints:
    """Return, for each row of what hosts carry, the first kind of the links it stands for: that of the least alpha."""
    n = loads.topology.num_nodes
    rows, key = loads.host_rows(end)
    row = np.searchsorted(carried.step * n + carried.place, key)
    least = np.full(len(carried), np.iinfo(np.int64).max)
    np.minimum.at(least, row, kind[loads.links.place[rows]])
    return least


def cost_of(schedule: Schedule, fabric: Fabric | None = None) -> Cost:
    """Return T_L and T_B of a schedule exactly.

    M is R shards, one of each rank (of a broadcast or a reduce, one), and every link has bandwidth B/d, so T_B is d/R
    times the sum over steps of the busiest link's load in shards. With a ``bandwidth`` column, B/d is the fastest
    link's (of those that carry anything: self-loops do not count) and a load counts in proportion to how much slower
    its link is. With a fabric whose hosts have a limit of their own, B is that limit where it is less than all ports
    together, and a host's load counts as a link's does; but where several nodes share a host only ``seconds_of``
    counts its limit.
    """
    check_kind("schedule", schedule, Schedule)
    return cost_within(
        schedule, None if fabric is None else check_kind("fabric", fabric, Fabric).width(schedule.topology)
    )


def cost_within(schedule: Schedule, width: Fraction | None) -> Cost:
    """Return the cost of a schedule where hosts keep so many of the fastest links busy at most; None: all they have."""
    topology = schedule.topology
    if topology.bandwidth is None and width is None:
        total = sum(busiest_links(schedule).tolist())
        return Cost(schedule.num_steps, Fraction(total * topology.degree, whole_of(schedule)))
    loads = loads_of(schedule)
    busiest = [Fraction(load) for load in loads.links.busiest(loads.num_steps).tolist()]
    if topology.bandwidth is not None:
        fastest = int(topology.bandwidth[topology.tail != topology.head].max(initial=1))
        busiest = [Fraction(0)] * loads.num_steps
        for step, rate, _, amount in _most(loads.links, topology.bandwidth[loads.links.place], loads.messages * 0):
            busiest[step - 1] = max(busiest[step - 1], Fraction(amount * fastest, rate))
    if width is not None:
        hosts = np.maximum(*(carried.busiest(loads.num_steps) for carried in (loads.sent, loads.received))).tolist()
        busiest = [max(link, host / width) for link, host in zip(busiest, hosts, strict=True)]
    ports = Fraction(topology.degree) if width is None else width
    return Cost(loads.num_steps, sum(busiest, Fraction(0)) * ports / loads.whole)


def time_of(schedule: Schedule, size: Number, *, bandwidth: Number | None = None) -> Fraction:
    """Return seconds for ``size`` bytes in all where links have columns: steps wait for their slowest used link.

    A step takes max over the links it uses of alpha + load / bandwidth (sec:heterogeneous). ``bandwidth`` is that of
    every link where the topology says only their alpha.
    """
    topology = check_kind("schedule", schedule, Schedule).topology
    if topology.alpha is None or (topology.bandwidth is None and bandwidth is None):
        raise LinkstepError("times need both link columns: alpha (ns) and bandwidth (bit/s)")
    rate = Fraction(1) if bandwidth is None else parse_bandwidth(bandwidth)
    return seconds_of(schedule, Fabric(Fraction(0), rate, 1), size)
