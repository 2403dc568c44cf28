"""How far arrival times are from the optimum where that can be proven: small topologies, in one run.

    python -m benchmarks.small                  the table of docs/concepts/arrival.md (minutes)
    python -m benchmarks.small --seconds 60     more time for proofs

An allgather in T steps with P chunks a shard: T_B of BFB, of arrival times and of exact synthesis (CP-SAT), the least
that is proven for these chunks, and the bound that holds for any number of chunks (``linkstep.step_bound``). CPU time
is that of arrival times; the solver is limited by ``--seconds``.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from time import process_time

import linkstep
from benchmarks.exchange import random_regular
from linkstep.core.distances import diameter
from linkstep.core.topology import Topology
from linkstep.costs import cost_of, step_bound
from linkstep.methods.arrival import SearchLimits, arrival_allgather
from linkstep.methods.bfb import bfb_allgather
from linkstep.methods.synthesis import synthesize

RECIPES = ("Diamond", "L(K_{2,2})", "Pi_{2,7}", "DBJ(2,3)", "Torus(3,3)", "C(11,{1,2})", "C(13,{1,5})", "Torus(3,4)")
RANDOM = ((7, 2, 1), (8, 2, 2), (9, 3, 3), (10, 3, 4), (12, 3, 5))
CHUNKS = (1, 2)


def cases() -> list[Topology]:
    """List the topologies: of families, one with a cable cut, random ones."""
    known = [linkstep.parse(recipe).topology() for recipe in RECIPES]
    return known + [random_regular(*which) for which in RANDOM]


def row(topology: Topology, steps: int, chunks: int, seconds: float) -> str:
    """Compare the methods on one topology, for as many steps and chunks."""
    plain = cost_of(bfb_allgather(topology, chunks)).bandwidth
    began = process_time()
    found = cost_of(arrival_allgather(topology, SearchLimits(steps=steps, chunks=chunks)))
    took = process_time() - began
    exact = synthesize(topology, steps, chunks, time_limit=seconds)
    best = None if exact.schedule is None else cost_of(exact.schedule).bandwidth
    verdict = "optimal" if found.bandwidth == exact.bound else ""
    if best is not None and best < found.bandwidth:
        verdict = f"{float(found.bandwidth / best - 1):.1%} above"
    figures: list[Fraction | None] = [plain, found.bandwidth, best, exact.bound]
    figures.append(step_bound(topology, steps).cost.bandwidth)
    texts = ["-" if figure is None else f"{figure}" for figure in figures]
    name = topology.name or f"random({topology.num_nodes},{topology.degree})"
    return f"| `{name}` | {topology.num_nodes} | {steps} | {chunks} | {' | '.join(texts)} | {verdict} | {took:.1f} s |"


def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each proof; default: 20")
    args = parser.parse_args(argv)
    print("| topology | N | T | P | BFB | arrival | synthesized | proven for P | for any P | arrival is | CPU |")
    print("|---" * 11 + "|")
    for topology in cases():
        across = diameter(topology)
        for steps in (across, across + 1):
            for chunks in CHUNKS:
                print(row(topology, steps, chunks, args.seconds), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
