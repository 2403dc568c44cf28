"""The one place where a schedule, a fabric and a size become seconds, or a schedule a cost: from its loads, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linkstep.core.errors import LinkstepError
from linkstep.core.inputs import ScheduleLike, as_schedule
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Ints
from linkstep.core.units import Number, parse_bandwidth, parse_size
from linkstep.costs.cost import Cost
from linkstep.costs.fabric import Fabric, LinkKinds
from linkstep.costs.fabric_inputs import FabricLike, as_fabric
from linkstep.costs.loads import Loads, LoadTable, busiest_links, loads_of, whole_of
from linkstep.costs.models import StepLoads, step_seconds
from linkstep.costs.usual import SIZE, usual_fabric


def seconds_of(schedule: ScheduleLike, fabric: FabricLike | None = None, size: Number = SIZE) -> Fraction:
    """Return how long one call of a schedule takes with ``size`` bytes in all, exactly.

    Without a fabric it is the one that the schedule was made for, else the usual one.

    Links that have rates or latencies of their own keep them; what a topology does not say comes from the fabric, whose
    links run at B/d whatever the ports of the topology. Reductions are counted as ``Fabric.time`` counts them.

    >>> import linkstep
    >>> allreduce = linkstep.parse("K_{4,4}").build("allreduce")
    >>> [int(seconds_of(allreduce, linkstep.Fabric.of("10us", "100Gbps", 4, host_bandwidth=h), "1MB") * 10**6)
    ...  for h in (None, "50Gbps")]
    [180, 320]
    """
    made, wires = as_schedule(schedule), _fabric(schedule, fabric)
    wires = wires or usual_fabric(max(made.topology.degree, 1))
    total = sum(seconds_by_step(made, wires, size), wires.overhead)
    if wires.reduction_bandwidth is None:
        return total
    return total + wires.reduction_time(cost_of(made, wires), made.collective, size)


def seconds_by_step(schedule: Schedule, fabric: Fabric, size: Number) -> list[Fraction]:
    """Return how long each step takes, without what a call takes besides.

    >>> import linkstep
    >>> allgather = linkstep.parse("K_{4,4}").build("allgather")
    >>> [int(s * 10**6) for s in seconds_by_step(allgather, linkstep.Fabric.of("10us", "100Gbps", 4), "1MB")]
    [50, 40]
    """
    loads, kinds = loads_of(schedule), fabric.links_of(schedule.topology)
    bits = 8 * parse_size(size) / loads.whole
    steps = _step_loads(loads, kinds, bits, hosts=fabric.host_bandwidth is not None, apart=bool(fabric.message))
    return [step_seconds(step, fabric) for step in steps]


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


def _most(carried: LoadTable, kind: Ints, count: Ints) -> list[tuple[int, int, int, int]]:
    """Return (step, kind, count, amount): the most that any place of this kind and count carries at this step."""
    if not len(carried):
        return []
    order = np.lexsort((carried.amount, count, kind, carried.step))
    rows = np.stack([carried.step, kind, count, carried.amount])[:, order]
    last = np.append((rows[:3, 1:] != rows[:3, :-1]).any(axis=0), True)
    return [(a, b, c, d) for a, b, c, d in rows[:, last].T.tolist()]


def _least_kinds(loads: Loads, carried: LoadTable, kind: Ints, end: Ids) -> Ints:
    """Return, for each row of what hosts carry, the first kind of the links it stands for: that of the least alpha."""
    n = loads.topology.num_nodes
    rows, key = loads.host_rows(end)
    row = np.searchsorted(carried.step * n + carried.place, key)
    least = np.full(len(carried), np.iinfo(np.int64).max)
    np.minimum.at(least, row, kind[loads.links.place[rows]])
    return least


def _fabric(schedule: object, fabric: FabricLike | None) -> Fabric | None:
    """Return the fabric that is given, or else the one that a result was made for."""
    own = getattr(schedule, "fabric", None)
    return as_fabric(fabric) if fabric is not None else own if isinstance(own, Fabric) else None


def cost_of(schedule: ScheduleLike, fabric: FabricLike | None = None) -> Cost:
    """Return T_L and T_B of a schedule exactly.

    M is R shards, one of each rank (of a broadcast or a reduce, one), and every link has bandwidth B/d, so T_B is d/R
    times the sum over steps of the busiest link's load in shards. With a ``bandwidth`` column, B/d is the fastest
    link's (of those that carry anything: self-loops do not count) and a load counts in proportion to how much slower
    its link is. With a fabric whose hosts have a limit of their own, B is that limit where it is less than all ports
    together, and a host's load counts as a link's does; but where several nodes share a host only ``seconds_of``
    counts its limit.

    >>> cost_of("K_{2,2}")
    Cost(steps=4, bandwidth=Fraction(3, 2))
    """
    made, wires = as_schedule(schedule), _fabric(schedule, fabric)
    return cost_within(made, None if wires is None else wires.width(made.topology))


def cost_within(schedule: Schedule, width: Fraction | None) -> Cost:
    """Return the cost of a schedule where hosts keep at most ``width`` of the fastest links busy; None: all of them."""
    busiest, part = _busiest_by_step(schedule, width)
    return Cost(schedule.num_steps, sum(busiest) * part)


def bandwidth_by_step(schedule: Schedule, fabric: Fabric | None = None) -> list[Fraction]:
    """Return what each step adds to T_B, in M/B.

    >>> import linkstep
    >>> [str(part) for part in bandwidth_by_step(linkstep.parse("K_{4,4}").build("allgather"))]
    ['1/2', '3/8']
    """
    busiest, part = _busiest_by_step(schedule, None if fabric is None else fabric.width(schedule.topology))
    return [load * part for load in busiest]


def _busiest_by_step(schedule: Schedule, width: Fraction | None) -> tuple[list[Fraction] | list[int], Fraction]:
    """Return the most that any link, or host, carries at each step, and what one part of the data on a link is in M/B.

    What slower links and hosts carry counts as what a fastest link would carry meanwhile.
    """
    topology = schedule.topology
    if topology.bandwidth is None and width is None:
        return busiest_links(schedule).tolist(), Fraction(topology.degree, whole_of(schedule))
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
    return busiest, ports / loads.whole


def time_of(schedule: ScheduleLike, size: Number, *, bandwidth: Number | None = None) -> Fraction:
    """Return seconds for ``size`` bytes in all where links have columns: steps wait for their slowest used link.

    A step takes max over the links it uses of alpha + load / bandwidth (sec:heterogeneous). ``bandwidth`` is that of
    every link where the topology says only their alpha.

    >>> from linkstep import Topology, schedule
    >>> ring = Topology.from_links(2, [0, 1], [1, 0], alpha=[5000, 5000], bandwidth=[10**9, 10**9])
    >>> float(time_of(schedule(ring, "allgather"), "1MB"))
    0.004005
    """
    made = as_schedule(schedule)
    topology = made.topology
    if topology.alpha is None or (topology.bandwidth is None and bandwidth is None):
        raise LinkstepError("times need both link columns: alpha (ns) and bandwidth (bit/s)")
    rate = Fraction(1) if bandwidth is None else parse_bandwidth(bandwidth)
    return seconds_of(made, Fabric(Fraction(0), rate, 1), size)
