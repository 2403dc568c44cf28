"""Event simulation of runtime files: how long what was really written takes on a fabric, ours or foreign.

The events of a program (``linkstep.programs.read_program``) run in time, so all formats have one simulator. Modelled:
an event begins when all it waits for has ended; what it sends occupies a link, first come first served and one
message at a time, for bytes / bandwidth, and takes its turn at the ports of both hosts together where these have a
limit; a message or a signal to another rank arrives alpha later, and a signal
never before the data it stands for. What passes data on begins to send when its message is here, whole. Threadblocks
run in order, and nobody waits for the end of a step. Not modelled: memory and copies, congestion inside a node, the
flags that LL protocols send beside data, and full connections (``tight`` models these). Times are integers inside, so
ties are ties.
"""

from linkstep.simulation.machine import (
    Simulation,
    bound_time,
    simulate,
    simulate_program,
    simulate_schedule,
)
from linkstep.simulation.wires import used_links

__all__ = [
    "Simulation",
    "bound_time",
    "simulate",
    "simulate_program",
    "simulate_schedule",
    "used_links",
]
