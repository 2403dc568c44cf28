"""Timelines of what was simulated: a program's messages on links, or an iteration of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkstep.core.errors import LinkstepError
from linkstep.simulation import Simulation
from linkstep.timelines.timeline import Lane, Span, Timeline

if TYPE_CHECKING:
    from linkstep.simulation.training import Iteration


def timeline_of(done: Simulation | Iteration, title: str = "") -> Timeline:
    """Return what a simulation did when.

    >>> import linkstep
    >>> made = linkstep.schedule("K_3", "allgather")
    >>> found = timeline_of(linkstep.simulate(made.schedule, linkstep.Fabric.of("10us", "100Gbps", 2), "1MB"))
    >>> len(found.lanes), found.lanes[0], found.spans[0].name
    (6, Lane(group='from 0', name='link 0: 0 to 1'), 'round 1')
    """
    if isinstance(done, Simulation):
        return _of_simulation(done, title)
    from linkstep.simulation.training import Iteration  # here: a program's timeline needs no models
    from linkstep.timelines.training import of_iteration

    if isinstance(done, Iteration):
        return of_iteration(done, title)
    raise LinkstepError(f"a {type(done).__name__} has no timeline: only a Simulation or an Iteration of training")


def _of_simulation(done: Simulation, title: str) -> Timeline:
    """A lane for each link, by the host that sends; a span for each message, named by its round."""
    topology, program = done.topology, done.program
    names = topology.labels or tuple(map(str, range(topology.num_nodes)))
    ends = zip(topology.tail.tolist(), topology.head.tolist(), strict=True)
    lanes = tuple(
        Lane(f"from {names[tail]}", f"link {link}: {names[tail]} to {names[head]}")
        for link, (tail, head) in enumerate(ends)
    )
    columns = (done.sent_link, done.sent_round, done.sent_start, done.sent_end)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    spans = tuple(Span(link, f"round {round}", "message", start, end) for link, round, start, end in rows)
    what = f"{program.collective} for {program.dialect}"
    return Timeline(f"{title or topology.name or 'topology'}: {what}", lanes, spans)
