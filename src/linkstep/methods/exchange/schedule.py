"""All-to-all schedules: paths balanced in a given number of steps, in as few chunks as come near the bound.

Not here: how paths are balanced (``balance``), and the throughput without steps (a flow, docs/concepts/all-to-all.md),
which is more than any number of steps reaches.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linkstep.core.distances import check_connected, diameter
from linkstep.core.errors import LinkstepError
from linkstep.core.progress import Progress
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import check_count
from linkstep.costs import distance_flow_bound
from linkstep.methods.common.ladder import ladder
from linkstep.methods.exchange.action import FreeAction
from linkstep.methods.exchange.balance import BalancedPaths, Relaxation, balance, relax

MAX_CHUNKS = 16
"""Chunks of a piece that are tried, unless their number is given."""
_CLOSE = 1.01
"""A bandwidth this close to the bound needs no finer chunks."""
_GAIN = 0.995
"""Finer chunks are this much better, or after one more attempt even finer ones are not tried."""
_MOST_ROWS = 13 * 10**6
"""Beyond these a number of chunks is not tried: rows take longer to sort and to check than paths to find."""


@dataclass(frozen=True)
class Exchange:
    """An all-to-all schedule, and what no other in as many steps goes below, in the same units as its T_B."""

    schedule: Schedule
    chunks: int
    """Of a piece."""
    bound: Fraction


def all_to_all_schedule(
    topology: Topology,
    *,
    steps: int | None = None,
    chunks: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Exchange:
    """Make an all-to-all in ``steps`` steps, the diameter by default, of pieces in ``chunks`` chunks.

    Without ``chunks`` their number grows until the bandwidth is within 1% of the bound, or hardly falls any more.
    Fewer steps are tried as well: where more of them bring nothing, the schedule has as few as reach its bandwidth.

    >>> from linkstep.families.complete import complete_bipartite
    >>> from linkstep.costs import cost_of
    >>> made = all_to_all_schedule(complete_bipartite(4, 4))
    >>> print(cost_of(made.schedule), made.bound)
    2 alpha + 5/4 M/B 5/4
    """
    check_connected(topology)
    least = diameter(topology)
    wanted = least if steps is None else steps
    if wanted < least:
        raise LinkstepError(f"an all-to-all takes at least as many steps as the diameter, {least}, not {wanted}")
    check_count("steps", wanted, 0, 2**15 - 1)
    if chunks is not None:
        check_count("chunks", chunks, 1, 2**16)
    action = FreeAction.of(topology, seed)
    if topology.num_nodes == 1:
        return Exchange(action.schedule(np.zeros((1, 1, 0), np.int16)), 1, Fraction(0))
    unit = Fraction(topology.degree, topology.num_nodes)
    by_distance = 1 / distance_flow_bound(topology)
    longest = relax(action, wanted)
    bound = max(longest.bound, by_distance)
    best: BalancedPaths | None = None
    for number in ladder(least, wanted):
        relaxed = longest if number == wanted else relax(action, number)
        enough = float(max(relaxed.bound, by_distance)) * _CLOSE
        found = _finer(action, relaxed, enough, chunks, seed, progress)
        best = found if best is None or found.load < best.load else best
        if best.load <= bound:
            break
    assert best is not None
    return Exchange(action.schedule(best.paths), best.chunks, bound * unit)


def _finer(
    action: FreeAction, relaxed: Relaxation, enough: float, chunks: int | None, seed: int, progress: Progress | None
) -> BalancedPaths:
    """Return balanced paths in ``chunks`` chunks; if their number is not given, in more and more while that pays."""
    best = balance(action, relaxed, chunks or 1, seed, progress)
    in_vain = 0
    for number in sorted({2, 4, 8, MAX_CHUNKS, action.topology.degree}) if chunks is None else ():
        rows = number * action.topology.num_nodes**2 * len(relaxed.load)
        if best.load <= enough or in_vain == 2 or number > MAX_CHUNKS or rows > _MOST_ROWS:
            break
        found = balance(action, relaxed, number, seed, progress)
        in_vain = 0 if found.load < _GAIN * best.load else in_vain + 1
        best = min(best, found, key=lambda b: b.load)
    return best
