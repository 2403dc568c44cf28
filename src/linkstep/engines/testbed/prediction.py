"""How long a schedule takes on a testbed: the cost model, with the token buckets that hold its cables to their rates.

A bucket that was idle lends its cable some bytes at once, and fills up again at the cable's rate whenever less is sent.
On real wires there is no such thing, so only a testbed's predictions have it.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from linkstep.core.schedule import Schedule
from linkstep.costs import Loads, loads_of
from linkstep.engines.testbed.testbed import BURST, Testbed


def predict_time(bed: Testbed, schedule: Schedule, size: int) -> Fraction:
    """Return seconds for ``size`` bytes in all, every bucket being full at the start.

    A step takes the delay, and on the cable that needs longest what its bucket does not hold at the cable's rate.
    Parallel cables between two hosts are one, with one bucket, as ``Testbed`` has them.
    """
    counted = loads_of(schedule)
    bits = Fraction(8 * size, counted.whole)
    rates = {(a, trunk.other(a)): trunk.rate_from(a) for trunk in bed.trunks_left for a in trunk.ends}
    held = dict.fromkeys(rates, Fraction(8 * BURST))
    total = Fraction(0)
    for sent in _between_hosts(counted):
        loads = {link: load * bits for link, load in sent.items()}
        lacking = (max(load - held[link], Fraction(0)) / rates[link] for link, load in loads.items())
        seconds = bed.delay + max(lacking, default=Fraction(0))
        for link, bucket in held.items():
            held[link] = min(bucket - loads.get(link, 0) + rates[link] * seconds, Fraction(8 * BURST))
        total += seconds
    return total


def _between_hosts(loads: Loads) -> list[dict[tuple[int, int], int]]:
    """Return for each step what goes from each host to each other, in parts of the data."""
    topology, links = loads.topology, loads.links
    tail, head = topology.tail[links.place], topology.head[links.place]
    found: list[dict[tuple[int, int], int]] = [defaultdict(int) for _ in range(loads.num_steps)]
    columns = (column.tolist() for column in (links.step, tail, head, links.amount))
    for step, a, b, load in zip(*columns, strict=True):
        if a != b:
            found[step - 1][a, b] += load
    return found
