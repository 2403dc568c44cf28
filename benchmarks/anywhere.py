"""``find`` for sizes and degrees drawn at random, directed and duplex: how far from the bound, and CPU seconds.

    python -m benchmarks.anywhere                  40 draws with 3 <= d <= 16, N <= 4096, and primes near 4096
    python -m benchmarks.anywhere --seed 1 --draws 100

Most of these are not in the catalog and are searched for on the spot. Sizes are drawn evenly by their logarithm. The
allreduce is of 1MB at 10us and 100 Gbps a server, both halves counted; the bound is that of graphs of the same kind.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from fractions import Fraction

from linkstep.costs import lower_bound, usual_fabric
from linkstep.recipe import Recipe
from linkstep.search.answer import find

HARD = ((4093, 3, False), (4093, 4, False), (4093, 4, True), (4094, 3, True), (4093, 10, True), (4093, 16, False))
"""Primes, or nearly so, with no lift of their own."""


def draws(count: int, seed: int) -> Iterator[tuple[int, int, bool]]:
    """Yield (N, d, whether links are duplex)."""
    rng = random.Random(seed)
    yield from HARD
    while count:
        degree, both = rng.randint(3, 16), rng.random() < 0.5
        nodes = int(2 ** rng.uniform(5, 12))
        if not both or nodes * degree % 2 == 0:
            count -= 1
            yield nodes, degree, both


def best(nodes: int, degree: int, both: bool) -> tuple[Fraction, Recipe]:
    """Return how many times the bound the best allreduce takes, and on which topology."""
    fabric, half = usual_fabric(degree), lower_bound(nodes, degree, bidirectional=both)
    rows = find(nodes, degree, directed=not both).frontier
    times = [(fabric.time(row.allreduce_cost, "allreduce", "1MB"), row.recipe) for row in rows]
    taken, recipe = min(times, key=lambda pair: pair[0])
    return taken / fabric.time(half + half, "allreduce", "1MB"), recipe


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    find(101, 11)  # compiles the kernels
    ratios, seconds = [], []
    for nodes, degree, both in draws(args.draws, args.seed):
        start = time.process_time()
        over, recipe = best(nodes, degree, both)
        seconds.append(time.process_time() - start)
        ratios.append(float(over))
        kind = "duplex  " if both else "directed"
        print(f"{nodes:5} {degree:3} {kind} {ratios[-1]:.3f} {seconds[-1]:5.1f} s  {recipe.short[:60]}", flush=True)
    mean = sum(ratios) / len(ratios)
    print(f"over the bound: mean {mean:.3f}, worst {max(ratios):.3f}; at most {max(seconds):.1f} s of CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
