"""Run SCCL's solver, from a checkout of your own, on the small topologies of tab:sccltacclbfs, and time it.

    git clone https://github.com/microsoft/msccl-tools
    python -m pip install z3-solver
    python -m benchmarks.sccl msccl-tools                      Q(2), Q(3), Torus(3,3), one chunk a shard
    python -m benchmarks.sccl msccl-tools 'Q(3)' --chunks 1,2,3,4

Nothing of SCCL ships with linkstep, and no times of it are quoted but the paper's. For each topology and number of
chunks an allgather in the fewest steps is asked for, with one more round of bandwidth each time until there is one;
what comes back is checked and costed as a schedule of linkstep's, beside BFB and its time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from linkstep.core.distances import diameter
from linkstep.core.errors import LinkstepError
from linkstep.core.extras import missing
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.costs import cost_of
from linkstep.methods.bfb import bfb_allgather
from linkstep.recipe import parse

RECIPES = ("Q(2)", "Q(3)", "Torus(3,3)")
PACKAGES = ("msccl", "sccl")
"""What the package is called, in newer and in older checkouts."""


def parse_counts(option: str, text: str) -> list[int]:
    """Return the whole numbers of ``1,2,4``, each at least 1."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and int(part[:9]) > 0 for part in parts):
        raise LinkstepError(f"{option} must be numbers from 1 such as 1,2,4, not {text!r}")
    return [int(part) for part in parts]


class Sccl:
    """The solver of a checkout."""

    def __init__(self, checkout: Path) -> None:
        name = next((name for name in PACKAGES if (checkout / name / "strategies.py").is_file()), None)
        if name is None:
            raise LinkstepError(
                f"{checkout}: is no checkout of SCCL, there is no msccl/strategies.py or sccl/strategies.py in it; "
                "git clone https://github.com/microsoft/msccl-tools and give that folder"
            )
        sys.path.insert(0, str(checkout.resolve()))
        if find_spec("z3") is None:
            sys.path.pop(0)
            raise LinkstepError(missing("SCCL", "the solver z3", package="z3-solver"))
        self.collectives = import_module(f"{name}.collectives")
        self.instance = import_module(f"{name}.instance")
        self.strategies = import_module(f"{name}.strategies")
        self.topology = import_module(f"{name}.topologies.topology")

    def allgather(self, topology: Topology, steps: int, extra_rounds: int, chunks: int) -> Any | None:
        """Return SCCL's algorithm, or None where there is none with this many steps and rounds."""
        n = topology.num_nodes
        links = [[0] * n for _ in range(n)]  # by receiver, then sender
        for u, w in zip(topology.tail.tolist(), topology.head.tolist(), strict=True):
            links[w][u] += u != w
        wires = self.topology.Topology(topology.name, links)
        instance = self.instance.Instance(steps, extra_rounds=extra_rounds, chunks=chunks)
        return self.strategies.solve_instance(wires, self.collectives.allgather(n), instance)


def as_schedule(topology: Topology, algorithm: Any, chunks: int) -> Schedule:
    """Return an algorithm of SCCL as a schedule: sends are (address, sender, receiver), addresses chunks of shards."""
    number = {}
    for e, ends in enumerate(zip(topology.tail.tolist(), topology.head.tolist(), strict=True)):
        number.setdefault(ends, e)
    rows = [
        (address // chunks, address % chunks, address % chunks + 1, number[sender, receiver], step)
        for step, one in enumerate(algorithm.steps, 1)
        for address, sender, receiver in one.sends
    ]
    source, lo, hi, link, at = ([row[k] for row in rows] for k in range(5))
    return Schedule.from_columns(topology, chunks, source, lo, hi, link, at)


def measure(sccl: Sccl, recipe: str, chunks: int) -> tuple[float, Schedule]:
    """Return the seconds that all questions took, and the schedule: fewest steps, then fewest rounds."""
    topology = parse(recipe).topology()
    if topology.num_parallel:
        raise LinkstepError(f"{recipe} has parallel links, whose sends SCCL does not tell apart")
    steps, extra = diameter(topology), 0
    begin = time.perf_counter()
    while (found := sccl.allgather(topology, steps, extra, chunks)) is None:
        extra += 1
        if extra > chunks * topology.num_nodes:
            raise LinkstepError(f"{recipe}, {chunks} chunks: SCCL finds nothing in {steps} steps")
    seconds = time.perf_counter() - begin
    made = as_schedule(topology, found, chunks)
    check(made)
    return seconds, made


def run(checkout: Path, recipes: Sequence[str], chunk_counts: Sequence[int]) -> None:
    """Measure and print every case."""
    sccl = Sccl(checkout)
    bfb_allgather(parse("Q(2)").topology())  # compiles what BFB needs
    print(f"{'allgather on':14}{'chunks':>8}{'SCCL':>10}  {'cost':24}{'BFB':>10}  cost")
    for recipe in recipes:
        for chunks in chunk_counts:
            seconds, made = measure(sccl, recipe, chunks)
            begin = time.perf_counter()
            ours = bfb_allgather(parse(recipe).topology())
            took = time.perf_counter() - begin
            theirs = f"{chunks:8}{seconds:9.2f}s  {cost_of(made)!s:24}"
            print(f"{recipe:14}{theirs}{took:9.3f}s  {cost_of(ours)}", flush=True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, metavar="FOLDER", help="a checkout of SCCL")
    parser.add_argument("recipes", nargs="*", default=RECIPES, metavar="RECIPE")
    parser.add_argument("--chunks", default="1", metavar="C,...", help="chunks of a shard; default: 1")
    args = parser.parse_args(argv)
    try:
        run(args.checkout, args.recipes, parse_counts("--chunks", args.chunks))
    except LinkstepError as error:
        print(f"benchmarks.sccl: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
