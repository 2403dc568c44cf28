"""The clocks of ranks, brought together: what to add to a rank's to have that of rank 0, and how wrong that can be.

Processes of one machine read one clock. Between machines a message goes there and back some times: the answer left
between the two readings of rank 0, so that half of the shortest round trip bounds the error, whatever the way there and
the way back take each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from linkstep.engines.transports.transport import SETUP, Transport, Wire

_ROUNDS = 16


class Offset(NamedTuple):
    """Nanoseconds: to be added to a rank's clock, and the most by which the sum may be wrong."""

    add: int
    error: int


def align(transport: Transport, clock: Callable[[], int] = time.monotonic_ns) -> list[Offset]:
    """Return what brings the clock of each rank to that of rank 0; all ranks must call it, and have the same."""
    if transport.shares_clock:
        return [Offset(0, 0)] * transport.size
    times: list[list[tuple[int, int]]] = []
    for other in range(1, transport.size):
        transport.gather(b"", SETUP)  # each pair has the network for itself
        if transport.rank == 0:
            times.append(_exchange(transport, other, clock))
        elif transport.rank == other:
            times.append(_exchange(transport, 0, clock))
    first, *others = (json.loads(text) for text in transport.gather(json.dumps(times).encode(), SETUP))
    return [Offset(0, 0), *(offset_of(here, there[0]) for here, there in zip(first, others, strict=True))]


def _exchange(transport: Transport, peer: int, clock: Callable[[], int]) -> list[tuple[int, int]]:
    """Send a message there and back; return the times of both of this rank's: sent and got, or got and sent."""
    asks = peer > transport.rank
    data = [transport.array(1, "float32") for _ in range(2)]
    there, back = (0, 1) if asks else (1, 0)
    wires = [Wire(True, peer, there, data[0]), Wire(False, peer, back, data[1])]
    send, receive = ([handle] for handle in transport.prepare(wires))
    found = []

    def call(handles: list[Any]) -> None:
        transport.start(handles)
        transport.wait(handles)

    for _ in range(_ROUNDS):
        if asks:
            begin = clock()
            transport.start(send)
            call(receive)
            found.append((begin, clock()))
            transport.wait(send)
        else:
            call(receive)
            begin = clock()
            call(send)
            found.append((begin, begin))
    transport.release([*send, *receive])
    return found


def offset_of(here: list[tuple[int, int]], there: list[tuple[int, int]]) -> Offset:
    """Return the offset by the shortest round trip: when messages left and answers came here, and were there between.

    >>> offset_of([(100, 140), (200, 210)], [(5120, 5120), (5206, 5206)])
    Offset(add=-5001, error=5)
    """
    pairs = zip(here, there, strict=True)
    trip, twice = min((got - sent - left + came, sent - came + got - left) for (sent, got), (came, left) in pairs)
    return Offset(twice // 2, (trip + 1) // 2 + twice % 2)
