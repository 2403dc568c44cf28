"""A method of one's own: every shard goes down one tree of shortest paths, whole.

Try: `linkstep schedule 'Torus(4,4)' --method trees --plugin examples/plugins/method.py`.
"""

from collections.abc import Iterable

import numpy as np

import linkstep
from linkstep.core.distances import distances_from
from linkstep.methods.transform import derive
from linkstep.scheduling import Method, Offers, Request, ScheduleResult


def tree_allgather(topology: linkstep.Topology) -> linkstep.Schedule:
    """Return an allgather in which every node gets every shard by one link, at the step of its distance."""
    sources, links, steps = [], [], []
    for source in range(topology.num_nodes):
        distance = distances_from(topology, source)
        nearer = np.flatnonzero(distance[topology.tail] + 1 == distance[topology.head])
        node, first = np.unique(topology.head[nearer], return_index=True)
        sources += [source] * len(node)
        links += nearer[first].tolist()
        steps += distance[node].tolist()
    whole = np.ones(len(links), int)
    return linkstep.Schedule.from_columns(topology, 1, sources, 0 * whole, whole, links, steps)


def make(request: Request) -> ScheduleResult:
    """Make what is asked for; other collectives are derived from allgathers."""
    return ScheduleResult(derive(request.topology, request.collective, tree_allgather, request.root), "trees")


def refuse(request: Request) -> str | None:
    """Say why a request cannot be served; it follows the method's name."""
    if request.collective.exchanges:
        return "makes no all-to-all"
    return "takes no steps and no chunks" if request.steps or request.chunks else None


def cost(request: Request) -> linkstep.Cost:
    """Return what it would cost."""
    return make(request).cost


def tries(request: Request, offers: Offers) -> Iterable[Request]:
    """List what `--method best` is to ask for: here nothing, since breadth-first broadcast is never worse."""
    return []


linkstep.register(Method("trees", "a tree of shortest paths for each shard", make, refuse, cost, tries, turn=7))
