"""Overlapping halves of an allreduce against halves one after the other: damaged tori and random digraphs.

    python -m benchmarks.overlap              everything (minutes)
    python -m benchmarks.overlap --quick      the small ones

A row for each topology and number of steps: T_B of two halves by arrival times in as many steps as twice the diameter,
of the overlapped allreduce, what no schedule goes below on this wiring, and seconds of CPU. Every schedule passes the
checker.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from fractions import Fraction

import linkstep
from benchmarks.exchange import random_regular
from linkstep.core.collective import Collective
from linkstep.core.distances import diameter
from linkstep.core.faults import apply as apply_faults
from linkstep.core.faults import parse as parse_fault
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.costs import cost_of
from linkstep.methods.arrival import SearchLimits, arrival_cost
from linkstep.methods.overlap import least_overlapped_steps, overlapped_allreduce

_RATE = Fraction(10**11)
_MANY = 150


def damaged(recipe: str, cable: str) -> Topology:
    """Return a topology without a cable."""
    return apply_faults(linkstep.parse(recipe).topology(), [parse_fault("cut", cable)], _RATE)


def cases(quick: bool) -> Iterator[tuple[str, Topology, list[int]]]:
    """Yield (name, topology, steps beyond the fewest)."""
    yield "Torus(3,3), cut 0,1", damaged("Torus(3,3)", "0,1"), [0, 1, 2, 3, 4, 6, 9]
    yield "Torus(4,4), cut 0,1", damaged("Torus(4,4)", "0,1"), [0, 5, 10]
    yield "Hypercube(3), cut 0,1", damaged("Hypercube(3)", "0,1"), [0, 4, 8]
    yield "random(50), d = 4", random_regular(50, 4, 1), [0, 1]
    if not quick:
        for seed in range(3):
            yield f"random(500), d = 4, seed {seed}", random_regular(500, 4, seed), [0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    print(f"{'topology':28} {'2D':>3} {'T':>3} {'halves':>8} {'overlapped':>10} {'bound':>8} {'CPU s':>6}")
    for name, topology, extra in cases(parser.parse_args().quick):
        rounds = 0 if topology.num_nodes > _MANY else None
        twice, least = 2 * diameter(topology), least_overlapped_steps(topology)
        bound = linkstep.wiring_bound(topology, Collective.ALLREDUCE).cost.bandwidth
        limits = SearchLimits(rounds=rounds)
        halves = arrival_cost(topology, limits).bandwidth + arrival_cost(topology.transpose(), limits).bandwidth
        for more in extra:
            begin = time.process_time()
            made = overlapped_allreduce(topology, SearchLimits(steps=least + more, rounds=rounds))
            spent = time.process_time() - begin
            check(made)
            cost = cost_of(made)
            figures = (float(x) for x in (halves, cost.bandwidth, bound))
            columns = "{:8.4f} {:10.4f} {:8.4f}".format(*figures)
            print(f"{name:28} {twice:3} {cost.steps:3} {columns} {spent:6.1f}", flush=True)


if __name__ == "__main__":
    main()
