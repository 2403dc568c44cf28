"""More ports on the same nodes: ports that stay idle, parallel copies of all links, the links of several topologies.

An idle port is a self-loop, which takes up a port and carries nothing (docs/concepts/data-model.md): every link has B/d
of all ports. Nodes keep their numbers. Not here: which of these is worth it (``linkstep.search.ports``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkstep.core.errors import TopologyError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints, Topology
from linkstep.expansions.schedules import check_allgather
from linkstep.expansions.topologies import check_plain, check_times, sorted_numbers
from linkstep.symmetry import declare
from linkstep.symmetry.carried import on_union, same_nodes


def with_idle_ports(topology: Topology, ports: int) -> Topology:
    """Return G with more ports at every node, which stay idle: N and D stay, d grows by ``ports``.

    >>> idle = with_idle_ports(Topology.from_links(2, [0, 1], [1, 0]), 2)
    >>> idle.degree, idle.num_self_loops
    (3, 4)
    """
    check_plain(topology, "Idle(G,n)")
    check_times(ports, "Idle(G,n)")
    tail, head = _with_loops(topology, ports)
    return declare(Topology.from_links(topology.num_nodes, tail, head), same_nodes(topology))


def _with_loops(topology: Topology, ports: int) -> tuple[Ints, Ints]:
    loops = np.repeat(np.arange(topology.num_nodes), ports)
    return np.concatenate([topology.tail, loops]), np.concatenate([topology.head, loops])


def idle_ports_schedule(schedule: Schedule, ports: int) -> Schedule:
    """Return the schedule of Idle(G,n), the same rows: T_L stays, T_B grows from 1/d to 1/(d - n) of a node's ports."""
    check_allgather(schedule, "Idle(G,n)")
    number = sorted_numbers(*_with_loops(schedule.topology, ports))
    return Schedule.from_columns(
        with_idle_ports(schedule.topology, ports),
        schedule.unit, schedule.source, schedule.lo, schedule.hi, number[schedule.link], schedule.step,
    )  # fmt: skip


def parallel_copies(topology: Topology, times: int) -> Topology:
    """Return G with n links in parallel for each of its own: N and D stay, d grows n-fold.

    >>> parallel_copies(Topology.from_links(2, [0, 1], [1, 0]), 3).degree
    3
    """
    check_plain(topology, "Copies(G,n)")
    check_times(times, "Copies(G,n)")
    tail, head = np.repeat(topology.tail, times), np.repeat(topology.head, times)
    return declare(Topology.from_links(topology.num_nodes, tail, head), same_nodes(topology))


def parallel_copies_schedule(schedule: Schedule, times: int) -> Schedule:
    """Return the schedule of Copies(G,n): each of n parallel links carries an n-th of every chunk, T_L and T_B stay."""
    check_allgather(schedule, "Copies(G,n)")
    copy = np.tile(np.arange(times), schedule.num_rows)
    source, lo, hi, link, step = (
        np.repeat(column.astype(np.int64), times)
        for column in (schedule.source, schedule.lo, schedule.hi, schedule.link, schedule.step)
    )
    first = lo * times + copy * (hi - lo)
    return Schedule.from_columns(
        parallel_copies(schedule.topology, times),
        schedule.unit * times, source, first, first + hi - lo, link * times + copy, step,
    )  # fmt: skip


def union(parts: Sequence[Topology]) -> Topology:
    """Return G + H + ..., all links of topologies on the same nodes: N stays, degrees of regular ones add up.

    A link that several have is as many links in parallel.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> union([ring, ring.transpose()]).is_bidirectional
    True
    """
    sizes = sorted({part.num_nodes for part in parts})
    if len(sizes) != 1:
        raise TopologyError(f"G + H needs topologies with equally many nodes, not {' and '.join(map(str, sizes))}")
    for part in parts:
        check_plain(part, "G + H")
    tail, head = (np.concatenate([getattr(part, what) for part in parts]) for what in ("tail", "head"))
    return declare(Topology.from_links(sizes[0], tail, head), on_union(*parts))
