"""Timelines of what was simulated: a program's messages on links, or an iteration of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkstep.core.errors import LinkstepError
from linkstep.simulation import Simulation
from linkstep.timelines.simulated import of_simulation
from linkstep.timelines.timeline import Timeline

if TYPE_CHECKING:
    from linkstep.simulation.training import Iteration


def timeline_of(done: Simulation | Iteration, title: str = "") -> Timeline:
    """Return what a simulation did when, and what each message or event waited for.

    >>> import linkstep
    >>> made = linkstep.schedule("K_3", "allgather")
    >>> found = timeline_of(linkstep.simulate(made.schedule, linkstep.Fabric.of("10us", "100Gbps", 2), "1MB"))
    >>> len(found.lanes), found.lanes[0], found.spans[0].name
    (6, Lane(group='from 0', name='link 0: 0 to 1'), 'round 1')
    """
    if isinstance(done, Simulation):
        return of_simulation(done, title)
    from linkstep.simulation.training import Iteration  # here: a program's timeline needs no models
    from linkstep.timelines.training import of_iteration

    if isinstance(done, Iteration):
        return of_iteration(done, title)
    raise LinkstepError(f"a {type(done).__name__} has no timeline: only a Simulation or an Iteration of training")
